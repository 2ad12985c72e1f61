// Demo texts about cooking.
import type { Topic } from "./topic.js";

export const COOKING: Topic = {
  name: "cooking",
  tag: "cooking",
  subjects: [
    {
      name: "sourdough bread",
      tag: "baking",
      details: [
        "The starter lives on the shelf above the fridge, where it is warm, and it doubles in about five hours.",
        "I bake at 250 degrees with the lid on for twenty minutes, then take the lid off and stop looking at the clock.",
      ],
    },
    {
      name: "dashi",
      details: [
        "Kombu goes in cold and comes out just before the water boils; anything later and the pot smells of harbour.",
        "Ten grams of bonito flakes for each half litre, two minutes, then strain and do not squeeze.",
      ],
    },
    {
      name: "pickled radishes",
      tag: "fermentation",
      details: [
        "Slice them thin enough to read through, salt them at two per cent and let them sit until they bend.",
        "On the third day they turn the whole jar pink, which is reason enough to make them.",
      ],
    },
    {
      name: "jollof rice",
      details: [
        "The rice has to catch a little at the bottom; that is not a mistake, that is the point.",
        "I fry the tomato paste until it darkens and the oil comes back out, which takes longer than any recipe admits.",
      ],
    },
    {
      name: "flatbread",
      tag: "baking",
      details: [
        "Flour, yoghurt, salt and a dry pan so hot that you open the window first.",
        "Roll them thin, stack them in a towel, and nobody will ask where the cutlery is.",
      ],
    },
    {
      name: "kimchi",
      tag: "fermentation",
      details: [
        "Salt every leaf, wait until the stems bend without snapping, rinse three times and squeeze.",
        "Open the jar over the sink on day four. I learned this on day four.",
      ],
    },
    {
      name: "red lentil soup",
      details: [
        "Cumin in hot oil at the very end does more for it than an hour of simmering.",
        "It costs less than a bus ticket and feeds four, or one person for most of a week.",
      ],
    },
    {
      name: "preserved lemons",
      tag: "fermentation",
      details: [
        "Cut them almost into quarters, pack them with salt, press until the juice covers everything, and forget them for a month.",
        "You use the rind, not the flesh, and far less of it than you think.",
      ],
    },
    {
      name: "tomato sauce",
      details: [
        "Four ingredients: tomatoes, garlic, olive oil, salt. Basil if the plant on the sill survived.",
        "Twelve minutes on a high flame keeps it bright; two hours on a low one makes it sweet. Both are right.",
      ],
    },
    {
      name: "pierogi",
      details: [
        "The dough wants warm water and half an hour of rest under an upturned bowl.",
        "We count them in dozens, and somebody always eats the test batch before it is counted.",
      ],
    },
    {
      name: "phở at home",
      details: [
        "Char the onion and ginger over the open flame until the kitchen smells like a street corner.",
        "Blanch the bones first and throw that water away, or the broth will never be clear.",
      ],
    },
    {
      name: "crème brûlée",
      tag: "baking",
      details: [
        "Take the custard out while the middle still wobbles like a nervous person.",
        "A blowtorch from the hardware shop works better than the pretty one from the kitchen shop, and costs half.",
      ],
    },
  ],
  titles: [
    "What {x} taught me about patience",
    "{X} on a weeknight",
    "{X}, the long way",
    "Getting {x} right after eleven attempts",
    "My grandmother's notes on {x}",
    "Five small mistakes with {x}",
    "{X} for a table of twelve",
    "{X} from a very small kitchen",
    "What nobody tells you about {x}",
    "{X} on a student budget",
  ],
  openings: [
    "I have made {x} {n} times this year and written something in the margin every time.",
    "There is a pan in this house that is used for {x} and for nothing else.",
    "The first time I tried {x} I followed the recipe to the letter, and it was fine. Fine is not why we cook.",
    "My neighbour knocked and asked what smelled so good. It was {x}, and I had {n} portions too many.",
    "Every family has an argument about {x}. This is my side of ours.",
    "It was raining, the shop was closed, and what was left in the cupboard came down to {x}.",
  ],
  middles: [
    "Salt early and taste often. If you only change one habit after reading this, change that one.",
    "I weigh everything now. Cups are for tea.",
    "The recipe I started from said ten minutes. In my kitchen, with my gas ring, it is {n} more than that.",
    "Buy the ingredients a day ahead and let them get used to the room; cold things cook unevenly.",
    "If it sticks, turn the heat down and wait. Nearly everything lets go of the pan when it is ready.",
    "My mistake for years was stirring. Leave it alone and let the heat do the work.",
    "The leftovers are better. I would not say so in a restaurant, but we are at home here.",
    "You do not need the special pot. You need a heavy one, and somebody to lend it to you.",
  ],
  closings: [
    "Write to me if yours turns out better. I will be jealous and I will try it.",
    "Eat it standing up, straight from the pan, before anyone else comes in.",
    "Next week I will do it all again with half the salt and see who notices.",
    "That is all there is to it, apart from the washing up.",
    "Serve it with whatever is left in the fridge and call it a tradition.",
  ],
  remarks: [
    "Made this last night and there is nothing left to photograph.",
    "Half the salt was right for us, but the method works.",
    "My mother read this over my shoulder and disagrees with paragraph two.",
    "Does it keep in the fridge for more than a couple of days?",
    "I used a cheaper pan and a lower flame. It took longer and tasted the same.",
    "Finally somebody who says how long it really takes.",
    "Tried it with brown butter. Do not tell anyone.",
    "We doubled the recipe and should have tripled it.",
  ],
};
