// One spelling for each e-mail address, and what is none.
import { describe, expect, it } from "@jest/globals";
import { emailProblem, isEmailAddress, normalizeEmail } from "./email-address.js";

describe("an e-mail address has one spelling", () => {
  it.each([
    ["Mike@X.io", "mike@x.io"],
    [" \tmike@x.io\n", "mike@x.io"],
    ["zoe\u0308@x.io", "zo\u00EB@x.io"],
    ["ZOE\u0308@x.io", "zo\u00EB@x.io"],
    // Letters that only their small form has in one piece.
    ["J\u030Cane@x.io", "\u01F0ane@x.io"],
    ["\u01F0ane@x.io", "\u01F0ane@x.io"],
    ["\u03AA\u0301@x.io", "\u0390@x.io"],
    ["\u0399\u0308\u0301@x.io", "\u0390@x.io"],
  ])("%j is %j", (given, normalized) => {
    expect(normalizeEmail(given)).toBe(normalized);
  });

  it("and the spelling of that is the same, whatever the letters", () => {
    const marks = ["", "\u0301", "\u0307", "\u0308", "\u030A", "\u030C", "\u0331"];
    const changed: string[] = [];
    for (let point = 0x20; point < 0x3_0000; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      for (const mark of marks) {
        const once = normalizeEmail(`${String.fromCodePoint(point)}${mark}@x.io`);
        if (normalizeEmail(once) !== once) changed.push(once);
      }
    }
    expect(changed).toEqual([]);
  });

  it("but a text that is far too long for one is left alone: composing its marks would take minutes", () => {
    const marks = "\u0301".repeat(1_000) + "\u0316".repeat(1_000);
    expect(normalizeEmail(` A${marks}@x.io `)).toBe(`A${marks}@x.io`);
    expect(emailProblem(`A${marks}@x.io`)).toBe("must have at most 254 characters");
  });

  it("another one than that of a letter that only looks alike", () => {
    expect(normalizeEmail("m\u0131ke@x.io")).not.toBe(normalizeEmail("mike@x.io"));
  });
});

describe("an e-mail address", () => {
  it.each(["joe@localhost", "x@y", "o'hara+x@mail.b-c.example", "ünicode@exämple.com", "a..b@c.de"])(
    "may be %j",
    (text) => expect([isEmailAddress(text), emailProblem(text)]).toEqual([true, undefined]),
  );

  it.each([
    ["in Persian", "نامه\u200cای@نامه\u200cای.com"],
    ["after a virama", "a@\u0915\u094d\u200d\u0937.example"],
    ["after a virama at the end", "a@\u0915\u094d\u200d.example"],
  ])("may have a joiner where it shows: %s", (_name, text) => expect(isEmailAddress(text)).toBe(true));

  it.each([
    ["no host", "joe@"],
    ["nobody", "@corp"],
    ["a dot at its end", "joe@corp."],
    ["two dots in its host", "joe@b..co"],
    ["a hyphen at the edge of a label", "joe@-corp"],
    ["two hosts", "a@b@c.example"],
    ["quotes", '"q q"@z.example'],
    ["markup", "<b>@z.example"],
    ["a space", "a b@c.example"],
    ["a line's end", "a@b.example\n"],
    ["65 characters before the @", `${"a".repeat(65)}@z.example`],
  ])("is none with %s", (_name, text) => expect(isEmailAddress(text)).toBe(false));

  it.each([
    ["NUL", "\0"],
    ["a control character", "\u0085"],
    ["a soft hyphen", "\u00ad"],
    ["a zero-width space", "\u200b"],
    ["a joiner between Latin letters", "\u200d"],
    ["a joiner after an accent", "x\u0301\u200d"],
    ["a joiner after a vowel sign", "\u0915\u093e\u200c"],
    ["a joiner after an Arabic letter and before a Latin one", "\u0646\u200c"],
    ["two joiners between Arabic letters", "\u0646\u200c\u200c\u0646"],
    ["a mark of direction", "\u061c"],
    ["an embedding of direction", "\u202e"],
    ["an isolate of direction", "\u2066"],
    ["a word joiner", "\u2060"],
    ["a byte order mark", "\ufeff"],
    ["a Hangul filler", "\u3164"],
    ["a tag", "\u{e0061}"],
    ["half a character", "\ud800"],
  ])("is none with %s in it, which nobody sees", (_name, unseen) => {
    for (const text of [`a${unseen}b@z.example`, `ab@z${unseen}z.example`])
      expect(isEmailAddress(text)).toBe(false);
  });

  it("is none with a joiner at the end of a part, where no letter follows that would look different", () => {
    const word = "\u0646\u0646";
    for (const joiner of ["\u200c", "\u200d"]) {
      for (const text of [
        `${word}${joiner}@${word}.com`,
        `${word}@${word}${joiner}.com`,
        `a@b.${word}${joiner}`,
      ])
        expect(isEmailAddress(text)).toBe(false);
    }
  });
});
