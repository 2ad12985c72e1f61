// Demo texts about woodwork and repair.
import type { Topic } from "./topic.js";

export const WORKSHOP: Topic = {
  name: "workshop",
  tag: "workshop",
  subjects: [
    {
      name: "dovetail joints",
      details: [
        "Cut the tails first, mark the pins from them, and leave the line. The line is the whole secret.",
        "My first one had gaps you could post a letter through. It is still holding up a shelf.",
      ],
    },
    {
      name: "a three-legged stool",
      details: [
        "Three legs never rock, whatever the floor is doing, and that is an argument you cannot lose.",
        "Ash for the legs, elm for the seat, and wedges driven across the grain or it will split.",
      ],
    },
    {
      name: "hand planes",
      details: [
        "Sharp, set fine, and waxed underneath: when it sings, you have finished adjusting it.",
        "I paid the price of a pizza for mine at a flea market, and spent two evenings flattening the sole.",
      ],
    },
    {
      name: "an old radio",
      tag: "repair",
      details: [
        "It was two dried-out capacitors and a mouse nest. The mouse had better taste in wire than I do.",
        "Let the big capacitors discharge and keep one hand in your pocket. I mean it.",
      ],
    },
    {
      name: "wobbly chairs",
      tag: "repair",
      details: [
        "Take the joint apart completely. New glue on old glue is a promise nobody keeps.",
        "A loop of rope and a stick make the best clamp for anything that is not square.",
      ],
    },
    {
      name: "linseed oil",
      details: [
        "Thin coats, wiped off after a quarter of an hour, and a week of patience between them.",
        "Dry the rags flat and outdoors. Crumpled in a bin they can set fire to themselves.",
      ],
    },
    {
      name: "sharpening stones",
      details: [
        "One coarse, one fine, flat, and wet. Everything else in the catalogue is jewellery.",
        "Feel for the burr along the whole edge before you turn it over; that is the step everybody skips.",
      ],
    },
    {
      name: "the door that sticks",
      tag: "repair",
      details: [
        "Rub the edge with chalk, close it, and plane only where the frame has turned white.",
        "Nine times in ten it was a hinge screw. I had already taken the plane out.",
      ],
    },
    {
      name: "a leaking tap",
      tag: "repair",
      details: [
        "The washer costs less than the drip does in a week. Bring the old one with you to the shop.",
        "Turn off the water first, then turn the tap on, and then check that somebody has really turned it off.",
      ],
    },
    {
      name: "bookshelves",
      details: [
        "Eighty centimetres is as far as pine will span before the encyclopaedias win.",
        "Fix the back to the wall, not the top, and scribe the last upright to the skirting.",
      ],
    },
    {
      name: "a sewing machine",
      tag: "repair",
      details: [
        "Ninety per cent of it was lint and old oil. The rest was a spring on the floor.",
        "New needle, right way round, threaded with the foot up. Start there before you blame the tension.",
      ],
    },
    {
      name: "hinges",
      details: [
        "Mark with a knife, not a pencil; a pencil line has two sides and you will choose the wrong one.",
        "Brass screws shear. Drive a steel one in first, take it out, then put in the brass.",
      ],
    },
  ],
  titles: [
    "An afternoon with {x}",
    "{X} for the impatient",
    "The right tool for {x}",
    "Patience and {x}",
    "What my father showed me about {x}",
    "{X}: what it really cost",
    "Two ways to deal with {x}",
    "{X} in a rented flat",
    "A first attempt at {x}",
    "Everything that went wrong with {x}",
    "{X}, from scrap to finished",
  ],
  openings: [
    "It had been on the list for {n} months, and on Saturday I finally got round to {x}.",
    "A man at the tip was about to throw it away. That is how I got interested in {x}.",
    "My father never explained {x}. He just did it slowly while I was watching.",
    "You need a bench, a vice and a free afternoon for {x}. I had one of the three.",
    "I have done this {n} times now, and {x} still finds a new way to surprise me.",
    "The professional quoted a price for {x}, I laughed, and now I understand the price.",
  ],
  middles: [
    "Measure twice, cut once, then find out that the wall is not straight.",
    "I sharpened everything before I started. It took {n} minutes and saved an hour.",
    "Dry-fit it. Then dry-fit it again with somebody watching, and only then open the glue.",
    "Save the offcuts. The one you throw away is the one you will need on Sunday evening.",
    "If you are forcing it, stop. Something is holding, and it has a reason.",
    "Cheap clamps are fine. You need more of them than you think, and then two more.",
    "I photographed every step on the way apart. Going back together, those pictures were the manual.",
    "There is always a screw left over. Label it and nobody will dare to ask.",
  ],
  closings: [
    "It is not perfect. It is mine, and it works.",
    "The sawdust will be in the kitchen until Easter.",
    "Next on the list is the gate, and I am not hopeful.",
    "If it falls down I will write the second half.",
    "Total cost: very little, if you do not count the tools, and we do not count the tools.",
  ],
  remarks: [
    "We do not count the tools. We never count the tools.",
    "Left over screw: labelled, and nobody dared to ask. Thank you.",
    "I did the same and it held for eleven years.",
    "What glue did you use in the end?",
    "Please repeat the part about rags louder.",
    "Chalk on the door edge. Why did nobody tell me this?",
    "Mine was the hinge screw as well. The plane was already out.",
    "Would softwood do, or is it asking for trouble?",
  ],
};
