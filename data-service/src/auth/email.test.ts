// One spelling for each e-mail address, and what is none.
import { describe, expect, it } from "@jest/globals";
import { emailProblem, normalizeEmail } from "./email.js";

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
