// Demo texts about books and reading.
import type { Topic } from "./topic.js";

export const READING: Topic = {
  name: "reading",
  tag: "books",
  subjects: [
    {
      name: "long Russian novels",
      tag: "translation",
      details: [
        "Write the names on a bookmark, with all their diminutives, and the first hundred pages stop hurting.",
        "Somewhere after page four hundred you realise that you have moved in.",
      ],
    },
    {
      name: "rereading",
      details: [
        "The book has not changed, so the underlinings are a letter from whoever I was then.",
        "I skip the parts I loved and read the parts I once skipped.",
      ],
    },
    {
      name: "the library van",
      details: [
        "It stops at the school on Tuesdays for twenty-five minutes, and the queue forms by itself.",
        "The driver knows what you read last and has an opinion about it ready.",
      ],
    },
    {
      name: "translated fiction",
      tag: "translation",
      details: [
        "I have begun to follow translators the way I used to follow authors. It is a better map.",
        "Three versions of one paragraph, side by side, taught me more grammar than school did.",
      ],
    },
    {
      name: "notes in the margin",
      details: [
        "Pencil only, small, and never about the weather. A question mark ages better than an exclamation mark.",
        "In a second-hand copy I found one word beside the saddest line: Kraków. I think about it often.",
      ],
    },
    {
      name: "short stories",
      details: [
        "One a day, over breakfast, never two. They need the rest of the day to finish.",
        "The good ones stop a page before you would have stopped.",
      ],
    },
    {
      name: "unfinished books",
      details: [
        "I give a book one page for every year of my life to win me over, minus ten for the cover.",
        "They stand on a shelf of their own with the bookmark still in. Some I have gone back to.",
      ],
    },
    {
      name: "a reading journal",
      details: [
        "Three lines per book: where I read it, one sentence worth keeping, and whom to lend it to.",
        "I do not give stars. I give the date and the weather, and those turn out to say more.",
      ],
    },
    {
      name: "second-hand paperbacks",
      details: [
        "A train ticket from 1987 was still marking page ninety-one. I left it where it was.",
        "They fit a coat pocket, they survive the bath, and nobody minds when you lend them on.",
      ],
    },
    {
      name: "poetry before bed",
      tag: "translation",
      details: [
        "One poem, aloud, to nobody, and then the light goes out.",
        "I understand about half. It is the other half that I remember.",
      ],
    },
    {
      name: "detective novels",
      details: [
        "I never guess the murderer. I read them for the trains, the weather and the lunches.",
        "The best ones are about a town, and the body is only how you get in.",
      ],
    },
    {
      name: "audiobooks",
      details: [
        "A good narrator turns the washing-up into a chapter and the ironing into two.",
        "I keep the speed at one. Somebody took the trouble to breathe in the right places.",
      ],
    },
  ],
  titles: [
    "In praise of {x}",
    "A winter of {x}",
    "{X}: where to start",
    "How I changed my mind about {x}",
    "{X} on the bus",
    "What our reading group made of {x}",
    "Against {x}, a little",
    "{X} for tired people",
    "A letter about {x}",
    "{X}, twenty minutes a day",
    "Arguing with a friend about {x}",
  ],
  openings: [
    "I read {n} books last season, and it all began with {x}.",
    "A friend who never reads asked me about {x}, so I had to find an honest answer.",
    "The bookseller raised an eyebrow when I asked about {x}, and then put the kettle on.",
    "For years I was a snob about {x}. I would like to apologise, in public, here.",
    "There were {n} of us around the table, two had finished, and still we talked about {x} until midnight.",
    "It was the power cut that brought me back to {x}.",
  ],
  middles: [
    "Keep one book in the bag, one by the bed, and one in the kitchen, and never let them meet.",
    "If you are not enjoying it by the third evening, pass it on. Somebody is waiting for it.",
    "I read the last page first. I know what that makes me.",
    "The phone lives in the hall now. That alone was worth {n} chapters a week.",
    "It is all right to forget the plot. You are allowed to keep only the room it was read in.",
    "We disagreed about the ending so strongly that the neighbours borrowed the book.",
    "The library had it within two days, and the reservation cost nothing.",
    "I copied out one page by hand. It is the slowest way to read, and the best.",
  ],
  closings: [
    "The pile by the bed has not become any smaller.",
    "If you have read this far, you probably have an overdue book. Go on.",
    "I have lent it out already, so please do not ask me for the exact words.",
    "Tell me what to read next. Nothing over six hundred pages until spring.",
    "Now the kettle, the chair and the lamp.",
  ],
  remarks: [
    "I also read the last page first. There, I said it.",
    "You made me miss my stop.",
    "Which translation would you begin with?",
    "Our group fought over the same chapter.",
    "One page per year of life minus ten for the cover: brilliant.",
    "My library van was cancelled last year. I still walk past the stop.",
    "Please, more of these. And shorter books.",
    "I lent mine out in 2011 and know exactly who has it.",
  ],
};
