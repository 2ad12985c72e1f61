// Demo texts about software.
import type { Topic } from "./topic.js";

export const SOFTWARE: Topic = {
  name: "software",
  tag: "software",
  subjects: [
    {
      name: "database migrations",
      tag: "databases",
      details: [
        "Expand first, move the readers, then contract: three small releases instead of one brave one.",
        "The rollback we had written down did not work, because nobody had ever run it. Now we run it every month.",
      ],
    },
    {
      name: "feature flags",
      details: [
        "Every flag gets an owner and an end date on the day it is made, or it does not get made.",
        "We found a flag from 2019 that switched off a switch. Removing it took a week and broke nothing.",
      ],
    },
    {
      name: "code review",
      details: [
        "Under two hundred lines we find bugs; over six hundred we find commas.",
        "The most useful comment is a question, and the second most useful is a plain thank you.",
      ],
    },
    {
      name: "flaky tests",
      tag: "testing",
      details: [
        "Of forty flaky tests, thirty-one were a clock, six were an order, and three were real bugs that users had.",
        "A retry hides the symptom. Print the seed, and the disease has an address.",
      ],
    },
    {
      name: "time zones",
      details: [
        "Store the instant in UTC, and the intended wall clock beside it when a human meant a wall clock.",
        "Our nightly job ran twice on one night in October and not at all on one night in March.",
      ],
    },
    {
      name: "cursor pagination",
      tag: "databases",
      details: [
        "Sort by something unique at the end, always. Ties are where rows go to disappear.",
        "Offset was fine up to page fifty. Our largest customer was on page nine thousand.",
      ],
    },
    {
      name: "retries",
      details: [
        "Jitter, a ceiling, and a budget for the whole process: without the third, a hiccup becomes a stampede.",
        "If the call is not idempotent you are not retrying, you are doing it again.",
      ],
    },
    {
      name: "error messages",
      details: [
        "Say what was wrong, where it was, and what to do next. Two of the three is a riddle.",
        "Support tickets about one form fell by two thirds after we named the field.",
      ],
    },
    {
      name: "our boring monolith",
      details: [
        "One repository, one database, one deployment a day, and eleven people who sleep at night.",
        "It starts in four seconds, and every function call inside it has never once timed out.",
      ],
    },
    {
      name: "log lines",
      details: [
        "One line per request, with the same key spelled the same way in every service.",
        "We deleted nine tenths of them and found things faster.",
      ],
    },
    {
      name: "cache invalidation",
      tag: "databases",
      details: [
        "We measured first: the cache we were so afraid of losing saved four milliseconds.",
        "Version the key with the thing it depends on, and you never have to delete anything.",
      ],
    },
    {
      name: "property-based tests",
      tag: "testing",
      details: [
        "Write the slow, obvious version of the function and let the machine search for a difference.",
        "It took nine seconds to find the empty string inside a list inside a null. I would have needed a year.",
      ],
    },
  ],
  titles: [
    "{X} for people in a hurry",
    "What I wish I had known about {x}",
    "{X}: a post-mortem",
    "A field guide to {x}",
    "Seven years of {x}",
    "How a team of four handles {x}",
    "{X} without the drama",
    "The cost of {x}, measured",
    "Explaining {x} to a new colleague",
    "Second thoughts on {x}",
    "A small story about {x}",
  ],
  openings: [
    "The pager went at ten past three, and by four we were all talking about {x}.",
    "A new colleague asked about {x} on her first day, and I noticed that my answer had changed.",
    "We have {n} services and {n} opinions about {x}. This is the opinion that survived.",
    "I used to give a talk about {x}. I have since deleted the slides.",
    "Nothing in this post about {x} is new. All of it was expensive to learn.",
    "For {n} months we wrote down every incident and its cause. A good third came back to {x}.",
  ],
  middles: [
    "We wrote the decision down in ten lines, with the date and the thing that would change our minds.",
    "The fix was six lines. Finding where to put them took {n} days.",
    "If you cannot say how you would notice that it is broken, it is already broken.",
    "There was a clever version. It lives on a branch, and we visit it sometimes.",
    "Measure it on the worst day you have on record, not on your laptop.",
    "We asked the people on call what they wanted. They wanted fewer features and better words.",
    "Delete first. It is the only refactoring that is never reverted by accident.",
    "The documentation said otherwise, and so had I, in a review, two years earlier.",
  ],
  closings: [
    "Tell me what we missed. I am fairly sure there is something.",
    "It has been quiet since then, which is the nicest thing I can say about software.",
    "The code is dull now, and I would like to keep it that way.",
    "None of this scales to a thousand engineers. We are nine.",
    "If you take one thing from this, take the boring one.",
  ],
  remarks: [
    "We hit exactly this last quarter. Wish I had read it first.",
    "How does this behave with two instances behind a load balancer?",
    "The clever branch we visit sometimes. I feel seen.",
    "Counterpoint: it depends on who is on call.",
    "Sent this to the whole team with no comment.",
    "Did you measure before and after, or only after?",
    "Nine tenths of our logs could go too. Which tenth did you keep?",
    "I would add one thing: practise the rollback on a Tuesday, not in a crisis.",
  ],
};
