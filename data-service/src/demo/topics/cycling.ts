// Demo texts about cycling.
import type { Topic } from "./topic.js";

export const CYCLING: Topic = {
  name: "cycling",
  tag: "cycling",
  subjects: [
    {
      name: "the morning commute",
      tag: "commuting",
      details: [
        "Door to door it is thirty-one minutes by bike, thirty-eight by bus, and anything up to an hour by car.",
        "The trick is to lay out everything the evening before, down to the second glove.",
      ],
    },
    {
      name: "gravel tyres",
      details: [
        "I run 42 millimetres at the lowest pressure that does not bottom out, and I check it with a gauge, not a thumb.",
        "Wider was slower on tarmac by less than a minute an hour. My back noticed the difference much more.",
      ],
    },
    {
      name: "dynamo lights",
      tag: "commuting",
      details: [
        "No batteries, no charging, no small red light dying at the one junction where you need it.",
        "The drag is real, and it is about the same as a slightly soft tyre.",
      ],
    },
    {
      name: "the steel touring bike",
      tag: "bikepacking",
      details: [
        "It weighs fourteen kilos before breakfast, and any village welder can mend it.",
        "Three bottle cages, thirty-six spokes, and room for mudguards: dull numbers that matter on day nine.",
      ],
    },
    {
      name: "hill repeats",
      details: [
        "Six times up the same hill, with the descent as the only rest. The fourth is the worst.",
        "I stopped looking at power and started counting breaths; the times improved anyway.",
      ],
    },
    {
      name: "the cargo bike",
      tag: "commuting",
      details: [
        "So far it has carried a fridge, two cellos and one very calm dog.",
        "It replaced about four car trips in five, and the fifth was to the tip.",
      ],
    },
    {
      name: "a 200 km brevet",
      tag: "bikepacking",
      details: [
        "Eat before you are hungry, drink before you are thirsty, and never sit down at the first control.",
        "The last forty kilometres are ridden entirely on crisps and stubbornness.",
      ],
    },
    {
      name: "bar bags and saddle packs",
      tag: "bikepacking",
      details: [
        "Heavy things low and in the middle, soft things behind the saddle, snacks where the left hand can reach.",
        "Whatever you pack last you will need first, and it will be raining.",
      ],
    },
    {
      name: "tubeless sealant",
      details: [
        "Top it up every three months. I write the date on the rim tape, since I will not remember it.",
        "It sealed a four-millimetre hole while I was still looking for somewhere to stop.",
      ],
    },
    {
      name: "the folding bike",
      tag: "commuting",
      details: [
        "It folds in eighteen seconds if nobody is watching and in forty if somebody is.",
        "Small wheels find every pothole, so you learn the map of your street by heart.",
      ],
    },
    {
      name: "cobbles",
      details: [
        "Ride the crown of the road, keep your hands loose, and push a bigger gear than feels sensible.",
        "My bottle left me on the second sector and was returned by a child on the fourth.",
      ],
    },
    {
      name: "winter base miles",
      details: [
        "Two thin layers under a windproof, dry socks in a plastic bag, and a thermos at the turning point.",
        "Below two degrees I take the long way by the river, since the bridge freezes first.",
      ],
    },
  ],
  titles: [
    "A year with {x}",
    "What I got wrong about {x}",
    "{X} in the rain",
    "In defence of {x}",
    "{X}: the honest numbers",
    "Questions people ask me about {x}",
    "Why I came back to {x}",
    "{X} after forty",
    "A short love letter to {x}",
    "Slower is fine: {x}",
  ],
  openings: [
    "I kept a notebook about {x} for {n} weeks, and these are the pages that survived the rain.",
    "Nobody needs another opinion about {x}. Here is mine, with numbers.",
    "At the café stop the talk came round to {x}, as it always does after the second coffee.",
    "I swore off {x} two winters ago. This morning I was back at it before it got light.",
    "The bike shop owner laughed when I asked about {x}, then closed the shop for an hour to explain.",
    "It began with a puncture {n} kilometres from the nearest village and a long think about {x}.",
  ],
  middles: [
    "The wind was against us in both directions, which is a local speciality.",
    "Fit comes first. A cheap bike that fits will take you further than a dear one that does not.",
    "I weighed it, timed it, and made a spreadsheet. Then I went by feel, and feel was right.",
    "Carry two tubes, one multitool and a banknote. The banknote has fixed more than the tool.",
    "On the way up I promised myself a shorter route home. On the way down I forgot.",
    "A clean chain is the cheapest upgrade there is; an old toothbrush and {n} minutes will do.",
    "Cars gave me more room on the days I rode a metre from the kerb. I have no better statistics than that.",
    "If you are cold when you start, you are dressed properly.",
  ],
  closings: [
    "The forecast says dry on Sunday. The forecast always says that.",
    "I will report back after another thousand kilometres.",
    "Say hello if you see me on the river path. I am the one being overtaken.",
    "Lights on, bell polished, see you out there.",
    "The bike is back on its hook, dripping, and I have already forgotten the hard part.",
  ],
  remarks: [
    "Same here, and I have the broken spokes to prove it.",
    "What pressure do you run for a heavier rider?",
    "I sold mine after reading something like this and have regretted it for six years.",
    "That headwind section is exactly how I remember it.",
    "You talked me into it. Ordered this morning.",
    "Mudguards. The answer is always mudguards.",
    "Numbers are about what I measured, a bit more on wet roads.",
    "My commute is shorter and I still arrive wetter. Respect.",
  ],
};
