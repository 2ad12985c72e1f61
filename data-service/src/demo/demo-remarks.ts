// What readers say under any post of the demo content, whatever it is about.

export const OPENING_REMARKS: readonly string[] = [
  "Lovely piece.",
  "Thank you for writing this down.",
  "I have been waiting for someone to say it.",
  "Not sure I agree, but well argued.",
  "Came here from the newsletter.",
  "This made my morning.",
  "Great read, as always.",
  "Small correction, if I may.",
  "Long-time reader, first comment.",
  "Well put.",
  "I smiled all the way through.",
  "Saved and shared.",
];

export const GENERAL_REMARKS: readonly string[] = [
  "The second paragraph is exactly my experience.",
  "Could you write a follow-up on how it went?",
  "I tried the opposite for years and only now see why it never worked.",
  "My partner and I have been arguing about this all week.",
  "You make it sound easy, which I suspect it is not.",
  "It would help to know what it cost in the end.",
  "I read it twice, once for the advice and once for the jokes.",
  "There was a different version of this in the old blog, was there not?",
  "I never thought I would read about {x} to the end.",
  "More about {x}, please.",
  "Has anybody here done this with less time on their hands?",
  "I learned about {x} the hard way. This would have saved me a summer.",
  "The numbers surprised me.",
  "It took me {n} tries, but yes.",
  "Somebody should put this on a wall.",
  "I would love a picture of the result.",
];

export const CLOSING_REMARKS: readonly string[] = [
  "Greetings from the rain.",
  "Looking forward to the next one.",
  "Will report back.",
  "Keep them coming.",
  "That is all, carry on.",
  "Thanks again!",
  "Good luck with it.",
  "Take care.",
  "🙌",
  "❤️",
  "😄",
  "🚲 🌿 ☕",
];
