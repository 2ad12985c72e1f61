import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { foldLetter } from "./case-fold.js";
import { ANY_TRIGRAM, lookedUpTrigrams, storedTrigrams } from "./trigrams.js";

describe("stored trigrams", () => {
  test.each([
    ["abcd", ["abc", "bcd"]],
    ["Straße", ["str", "tra", "raß", "aße"]],
    ["aaaaa", ["aaa"]],
    ["ab", []],
    ["", []],
    ["😀x😀", ["😀x😀"]],
    ["e\u0301a", ["e\u0301a"]],
  ])("of %j are %j", (text, trigrams) => {
    expect(storedTrigrams(text)).toEqual(trigrams);
  });

  test("of no text are none, so that a null differs from a record nobody has indexed", () => {
    expect([storedTrigrams(null), storedTrigrams(undefined)]).toEqual([[], []]);
  });

  test("of a text with more than 10,000 different ones is the one that stands for all", () => {
    const text = Array.from({ length: 10_002 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join("");
    expect(storedTrigrams(text)).toHaveLength(10_000);
    expect(storedTrigrams(`${text}\u{20000}`)).toEqual([ANY_TRIGRAM]);
  });
});

describe("looked-up trigrams", () => {
  test.each([
    ["ab", []],
    ["ABC", ["abc"]],
    ["abcd", ["abc", "bcd"]],
    ["ababab", ["aba", "bab"]],
    ["abcdefghijkl", ["abc", "bcd", "def", "efg", "fgh", "ghi", "ijk", "jkl"]],
  ])("of %j are %j", (part, trigrams) => {
    expect(lookedUpTrigrams(part)).toEqual(trigrams);
  });

  test("are stored with every text that has the part in it, in any case", () => {
    const text = fc.string({
      unit: fc.constantFrom(...("aAkK\u212asS\u017fßẞσςΣǅ😀𐐀𐐨 ".match(/./gu) ?? [])),
    });
    fc.assert(
      fc.property(text, text, text, fc.func(fc.boolean()), (before, part, after, inCapitals) => {
        const letters = Array.from(part, (letter, at) => (inCapitals(at) ? swapCase(letter) : letter));
        const stored = storedTrigrams(before + letters.join("") + after);
        expect(stored).toEqual(expect.arrayContaining([...lookedUpTrigrams(part)]));
      }),
    );
  });
});

function swapCase(letter: string): string {
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  return foldLetter(other) === foldLetter(letter) ? other : letter;
}
