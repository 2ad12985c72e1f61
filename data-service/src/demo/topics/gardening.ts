// Demo texts about gardening.
import type { Topic } from "./topic.js";

export const GARDENING: Topic = {
  name: "gardening",
  tag: "gardening",
  subjects: [
    {
      name: "slugs",
      details: [
        "I go out with a torch at ten, when they are busy, and carry them to the compost, where they are useful.",
        "Copper tape, coffee grounds, eggshells: they climbed over all of it. Ducks would work, says everyone with ducks.",
      ],
    },
    {
      name: "clay soil",
      tag: "allotment",
      details: [
        "For two weeks in spring and two in autumn it can be dug. The rest of the year it is either soup or brick.",
        "Leaf mould did more than sand ever did. Sand and clay together make something close to a pavement.",
      ],
    },
    {
      name: "a north-facing balcony",
      details: [
        "Ferns, mint, lettuce and a stubborn hydrangea are all quite happy with four hours of pale light.",
        "White walls and one old mirror gained me about an hour of brightness a day.",
      ],
    },
    {
      name: "heirloom tomatoes",
      details: [
        "The ugly ones taste best, and the labels wash off, so by July it is all guesswork and joy.",
        "Bury the stem up to the first leaves; it roots all along its length and forgives a dry week.",
      ],
    },
    {
      name: "the compost heap",
      tag: "allotment",
      details: [
        "Two parts brown to one part green, turned whenever you are angry about something.",
        "It reached sixty degrees in March, and I told people at parties.",
      ],
    },
    {
      name: "dahlias",
      details: [
        "Lift the tubers after the first black frost, dry them upside down, and label them before you forget.",
        "Pinch out the tip at knee height. It feels cruel, and it doubles the flowers.",
      ],
    },
    {
      name: "broad beans",
      tag: "allotment",
      details: [
        "Sown in November they stand through snow and are picked before the blackfly wakes up.",
        "The tops are delicious, which is convenient, since you have to pinch them out anyway.",
      ],
    },
    {
      name: "a rain barrel",
      details: [
        "Two hundred litres sound like a lot until the second dry week in June.",
        "Raise it on blocks so that a can fits under the tap; I built mine one brick too low.",
      ],
    },
    {
      name: "garlic",
      tag: "allotment",
      details: [
        "Plant on the shortest day, harvest on the longest: the only rule I know that fits on a matchbox.",
        "Plait it while the leaves are still soft, and hang it where you pass every day.",
      ],
    },
    {
      name: "the potting shed",
      details: [
        "It holds forty pots, a radio, one chair, and a wren who was here first.",
        "The window faces east, so the seedlings lean that way, and by March so do I.",
      ],
    },
    {
      name: "espalier pears",
      details: [
        "Year one you tie a stick to a wire. Year four you have two tiers and a reputation.",
        "Cut in August, not in winter, or the tree answers with a thicket.",
      ],
    },
    {
      name: "wild strawberries",
      details: [
        "They taste of far more than their size and never make it as far as the kitchen.",
        "Let them run along the path edge; they keep out the weeds and ask for nothing.",
      ],
    },
  ],
  titles: [
    "Making peace with {x}",
    "{X}, month by month",
    "A beginner's guide to {x}",
    "{X} in a dry summer",
    "Ten years of {x}",
    "Everything I know about {x}",
    "{X} and the long wait",
    "Small experiments with {x}",
    "The winter side of {x}",
    "What my neighbour knows about {x}",
  ],
  openings: [
    "When I took over this plot there was nothing here but couch grass, a broken spade, and {x}.",
    "I have {n} years of notes on {x}, most of them written with muddy hands.",
    "Every spring I promise myself to do less about {x}. Every May I am out there again.",
    "The woman on the next plot has thought about {x} since before I was born.",
    "There are two kinds of gardeners: those who worry about {x} and those who have not noticed yet.",
    "We had {n} millimetres of rain this month, so let us talk about {x}.",
  ],
  middles: [
    "Water in the morning, deeply and seldom. A splash every evening only teaches roots to stay up.",
    "I lost half of it to frost on the ninth of May, as one does, and sowed again on the tenth.",
    "Mulch covers most of my sins and, by August, most of my paths.",
    "Do not buy the gadget. Borrow it once, then buy string.",
    "The seed packet lies about spacing. It was printed for people with more space.",
    "A hand fork, a bucket and {n} quiet minutes a day beat one heroic Saturday.",
    "What fails in one corner thrives in the next, so I plant everything twice and move what sulks.",
    "I keep the weather on the same page as the harvest. After three years a pattern appears.",
  ],
  closings: [
    "Ask me again in October, when the results are in.",
    "The kettle is on in the shed if you pass by.",
    "Nature will have her own view on this, and she reads no blogs.",
    "If yours is doing better, please say what you did, and whether it was luck.",
    "For now it is raining, and there is nothing to do but watch it grow.",
  ],
  remarks: [
    "Mine did nothing for two years and then took over the fence.",
    "Which zone are you in? Here we would be a month later.",
    "The bit about mulch and paths made me laugh. Same here.",
    "Tried this in pots and it worked, with more watering.",
    "The pigeons got mine. All of it. In one morning.",
    "My grandfather did exactly this and never said why. Thank you.",
    "Would you still do it on a slope?",
    "Saving this for the autumn list.",
  ],
};
