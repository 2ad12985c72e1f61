// Demo texts about travel.
import type { Topic } from "./topic.js";

export const TRAVEL: Topic = {
  name: "travel",
  tag: "travel",
  subjects: [
    {
      name: "the night train to Vienna",
      tag: "trains",
      details: [
        "Ask for the lower berth by the window, bring slippers, and be on the platform before the queue is.",
        "Breakfast arrives on a tray somewhere before Sankt Pölten, and the coffee is better than it needs to be.",
      ],
    },
    {
      name: "Lisbon in February",
      details: [
        "It rains sideways for an hour, and then the tiles shine and you have the viewpoint to yourself.",
        "Take the 28 tram from the far end at seven in the morning, when it is still a tram and not an attraction.",
      ],
    },
    {
      name: "the ferry to Naxos",
      details: [
        "Five hours on deck, and the man with the sandwiches comes past exactly twice.",
        "Sit on the left going out. The islands arrive one after another, as if somebody were dealing them.",
      ],
    },
    {
      name: "Kanazawa on foot",
      details: [
        "The fish market is loud until nine; the tea house quarter is silent until ten. Walk between the two.",
        "When it rains, which is often, every pine in the garden wears a straw rope, and it all makes sense.",
      ],
    },
    {
      name: "the coastal ferry north",
      details: [
        "Thirty-four ports, some of them for nine minutes at two in the morning, and someone always waves.",
        "The northern lights came up while everybody was at dinner. The waiter told us, then left to look.",
      ],
    },
    {
      name: "the markets of Oaxaca",
      details: [
        "Eat at the stall where the taxi drivers stand, and order what the woman before you had.",
        "Chocolate is ground to order; you choose how much cinnamon, and they judge you a little.",
      ],
    },
    {
      name: "Tbilisi from the cable car",
      details: [
        "From above, you can see how the balconies lean on each other, and that nobody is worried.",
        "The sulphur baths are best on a weekday, before noon, with a scrub you will remember.",
      ],
    },
    {
      name: "the slow bus through Patagonia",
      details: [
        "Six hundred kilometres with two bends in the road, and a driver who knew the name of every dog.",
        "Sit on the right for the mountains and on the left for the guanacos. Nobody can have both.",
      ],
    },
    {
      name: "Hanoi before breakfast",
      details: [
        "At half past five the lake belongs to people doing slow exercises to fast music.",
        "A small plastic stool, a bowl of broth, and a view of six thousand scooters: there is no better table.",
      ],
    },
    {
      name: "the Hebrides by bus",
      details: [
        "The timetable has a page of exceptions, and the driver is the exception to those.",
        "I had a beach the size of an airport to myself, in sunshine, in a coat.",
      ],
    },
    {
      name: "Marrakech by train",
      tag: "trains",
      details: [
        "Three hours from Casablanca, the land turning red so slowly that you notice only at the end.",
        "The old city is a maze by design. Give up early, drink tea, and let someone's nephew walk you out.",
      ],
    },
    {
      name: "São Paulo on a Sunday",
      details: [
        "The big avenue closes to cars, and the whole city comes out to walk its dogs and its opinions.",
        "Have the market sandwich at eleven, share it between two, and cancel lunch.",
      ],
    },
  ],
  titles: [
    "{X}, with one small bag",
    "{X} on forty euros a day",
    "What to eat: {x}",
    "A letter from {x}",
    "Going back: {x}, ten years later",
    "{X} with two children",
    "The wrong way to see {x}",
    "{X} out of season",
    "What I would skip: {x}",
    "Before you book {x}",
    "{X}, slowly",
  ],
  openings: [
    "I had {n} hours, a paper map and no plan beyond {x}.",
    "Everyone told me something different about {x}, and for once everyone was right.",
    "The ticket said one thing, the man at the counter another, and that is how I came to {x}.",
    "We chose {x} because it was the cheapest, and would now pay double.",
    "The last time I wrote about {x} I was twenty-three and in a hurry.",
    "If you only have a long weekend, give it to {x}.",
  ],
  middles: [
    "I carried {n} kilos and wore about four of them. Pack half, then take something out.",
    "The best hour of the day was the one we had planned nothing for.",
    "Cash for small places, a card for big ones, and coins for the toilet at the station.",
    "Ask for directions even when you know the way. You will be told about lunch.",
    "I took two hundred pictures and the one I like is of a laundry line.",
    "The guesthouse had three rooms, one bathroom, and an owner who wanted to hear everything.",
    "Learn the words for please, thank you and enough. The third is the one you will need at dinner.",
    "It costs a little more to arrive in daylight, and it is worth it every time.",
  ],
  closings: [
    "I left with one stamp, two recipes and an address I promised to write to.",
    "Go before the new road is finished.",
    "The return ticket was flexible. I used that.",
    "My shoes are still drying, and I am looking at timetables again.",
    "If you go, bring back the small biscuits. You will know which.",
  ],
  remarks: [
    "I was there the week after you, it seems. The biscuits are real.",
    "Is it doable with a pushchair?",
    "The owner of that guesthouse remembers everyone. Say hello from me.",
    "We went in August and I can confirm: do not go in August.",
    "Printed this out and took it along. Everything was where you said.",
    "How far ahead did you book?",
    "The old timetable is gone, the new one leaves twenty minutes earlier.",
    "Reading this at work was a mistake.",
  ],
};
