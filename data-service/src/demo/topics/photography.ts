// Demo texts about photography.
import type { Topic } from "./topic.js";

export const PHOTOGRAPHY: Topic = {
  name: "photography",
  tag: "photography",
  subjects: [
    {
      name: "window light",
      details: [
        "Turn off every lamp, move the chair a metre back from the glass, and wait for a cloud.",
        "A white bedsheet on the dark side does what a studio does, and then it goes back on the bed.",
      ],
    },
    {
      name: "a fifty-millimetre lens",
      details: [
        "After a month you know where the edges of the frame are before you lift the camera.",
        "To get closer you walk, and on the way you see something better.",
      ],
    },
    {
      name: "black-and-white film",
      tag: "film",
      details: [
        "I expose for the shadows, develop a little less, and let the sky look after itself.",
        "Thirty-six frames last me two weeks, and that slowness is what I am paying for.",
      ],
    },
    {
      name: "street portraits",
      details: [
        "Ask first. Four in ten say no, and the six who say yes stand up straighter.",
        "I send everyone their picture. It is the only rule I have never broken.",
      ],
    },
    {
      name: "fog",
      details: [
        "It is there for about forty minutes after sunrise, and it ends without notice.",
        "Overexpose by a stop; the meter thinks the whole world is grey, and for once it is right.",
      ],
    },
    {
      name: "contact sheets",
      tag: "film",
      details: [
        "A red pencil, a loupe, and the honesty to mark only one frame in a row.",
        "The mistakes sit right beside the pictures, which is how you find out what you were looking for.",
      ],
    },
    {
      name: "a darkroom in the bathroom",
      tag: "film",
      details: [
        "Towel along the door, trays on a plank across the tub, and a family warned in good time.",
        "Watching the print come up is still the best thirty seconds in photography.",
      ],
    },
    {
      name: "night exposures",
      details: [
        "Eight seconds, a wall to lean the camera on, and the self-timer so that you do not shake it.",
        "Street lamps go green on some films and orange on others; choose the lie you prefer.",
      ],
    },
    {
      name: "a broken light meter",
      details: [
        "Sunny sixteen, one stop down for haze, two for cloud, and your guess is good enough.",
        "Mine had failed at a solder joint no thicker than a hair. Ten minutes with a fine iron.",
      ],
    },
    {
      name: "family albums",
      details: [
        "Nobody has ever asked me for a sharper picture of the dog. They ask who stood next to her.",
        "Write the names on the back in pencil today. In thirty years it is the only part that matters.",
      ],
    },
    {
      name: "the blue hour",
      details: [
        "It is not an hour. In March, where I live, it is twenty-two minutes.",
        "The windows and the sky are equally bright exactly once, and then the windows win.",
      ],
    },
    {
      name: "pinhole cameras",
      tag: "film",
      details: [
        "A biscuit tin, a needle, a scrap of drinks can and three minutes of standing still.",
        "People who walk through the frame vanish; people who sit down stay as ghosts.",
      ],
    },
  ],
  titles: [
    "One month of nothing but {x}",
    "Learning to see with {x}",
    "{X}, step by step",
    "The trouble with {x}",
    "{X} and other accidents",
    "Twelve frames: {x}",
    "Why I keep coming back to {x}",
    "{X} without expensive gear",
    "A patient look at {x}",
    "Walking the city with {x}",
    "{X}: questions, answered",
  ],
  openings: [
    "For {n} weeks I allowed myself {x} and nothing else.",
    "My first good picture had a lot to do with {x} and very little to do with me.",
    "There is a shelf of books about {x}. None of them mentions cold fingers.",
    "I found {n} old negatives in a drawer, and they sent me straight back to {x}.",
    "Someone at the club said {x} was a gimmick, so here I am.",
    "It was six in the morning and I was standing in a puddle, thinking about {x}.",
  ],
  middles: [
    "Go out with one lens and no plan. A plan is a way of not looking.",
    "I throw away nine in ten, and the tenth gets better every year.",
    "The camera matters less than the shoes.",
    "When nothing happens, wait {n} minutes longer than is comfortable. Something walks in.",
    "I print small, ten by fifteen, and put them on the fridge. What still holds after a week is good.",
    "Look at the edges of the frame. The middle can take care of itself.",
    "Turn round. The light you came for is falling on something behind you.",
    "I stopped cropping. It made me move my feet.",
  ],
  closings: [
    "The negatives are in a shoebox, in order, for the first time in my life.",
    "Go out tomorrow. The weather will be wrong, and that is why.",
    "I have no conclusions, only a few pictures I did not have before.",
    "Send me yours. I will look at them properly, on paper.",
    "The battery was empty in the end, so I just looked.",
  ],
  remarks: [
    "Which film was this? The greys are lovely.",
    "I tried the bedsheet trick on my kids. They looked like a painting for four seconds.",
    "The camera matters less than the shoes: going on my wall.",
    "Do you scan or print?",
    "I had the same meter with the same fault. Thank you for the hint.",
    "Four in ten say no where you live? Here it is nine.",
    "You made me take the tin out of the recycling again.",
    "Wonderful. I could almost feel the cold.",
  ],
};
