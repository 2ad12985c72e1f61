// Parts of a text: what is stored for a search, and what a search asks for.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { foldLetter } from "./case-fold.js";
import { ANY_GRAM, lookedUpGrams, storedGrams } from "./grams.js";

describe("stored grams", () => {
  test.each([
    ["abcdefg", ["abcde", "bcdef", "cdefg", "defg", "efg"]],
    ["abcd", ["abcd", "bcd"]],
    ["Straße", ["straß", "traße", "raße", "aße"]],
    ["aaaaaa", ["aaaaa", "aaaa", "aaa"]],
    ["ab", []],
    ["", []],
    ["😀x😀", ["😀x😀"]],
    ["e\u0301a", ["e\u0301a"]],
  ])("of %j are %j", (text, grams) => {
    expect(storedGrams(text)).toEqual(grams);
  });

  test("of no text are none, so that a null differs from a record nobody has indexed", () => {
    expect([storedGrams(null), storedGrams(undefined)]).toEqual([[], []]);
  });

  test("of a text with more than 10,000 different ones is the one that stands for all", () => {
    const text = Array.from({ length: 10_002 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join("");
    expect(storedGrams(text)).toHaveLength(10_000);
    expect(storedGrams(`${text}\u{20000}`)).toEqual([ANY_GRAM]);
  });

  test("of a text of more than 100,000 characters are the same, though it has few", () => {
    const text = "я".repeat(100_000);
    expect(storedGrams(text)).toEqual(["яяяяя", "яяяя", "яяя"]);
    expect(storedGrams(`${text}я`)).toEqual([ANY_GRAM]);
  });

  test("of a long text are made once for all who ask in turn", () => {
    const [text, other] = ["abcdefg".repeat(200), "gfedcba".repeat(200)];
    const grams = storedGrams(text);
    storedGrams(other);
    expect(storedGrams(text)).toBe(grams);
  });
});

describe("looked-up grams", () => {
  test.each([
    ["ab", []],
    ["ABC", ["abc"]],
    ["abcde", ["abcde"]],
    ["abcdef", ["abcde", "bcdef"]],
    ["abababa", ["ababa", "babab"]],
    ["abcdefghijklmnopq", ["abcde", "efghi", "ijklm", "mnopq"]],
    ["abc\u0000defg", ["abc"]],
    ["a\u0000b\u0000c", []],
  ])("of %j are %j", (part, grams) => {
    expect(lookedUpGrams(part)).toEqual(grams);
  });

  test("begin grams of every text that has the part in it, in any case", () => {
    const text = fc.string({
      unit: fc.constantFrom(...("aAkK\u212asS\u017fßẞσςΣǅ😀𐐀𐐨 ".match(/./gu) ?? [])),
    });
    fc.assert(
      fc.property(text, text, text, fc.func(fc.boolean()), (before, part, after, inCapitals) => {
        const letters = Array.from(part, (letter, at) => (inCapitals(at) ? swapCase(letter) : letter));
        const stored = storedGrams(before + letters.join("") + after);
        for (const gram of lookedUpGrams(part))
          expect(stored.some((each) => each.startsWith(gram))).toBe(true);
      }),
    );
  });
});

function swapCase(letter: string): string {
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  return foldLetter(other) === foldLetter(letter) ? other : letter;
}
