// A client's name for a file -> the one that is kept.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { safeFileName, withEnding } from "./file-name.js";

describe("safeFileName", () => {
  it.each([
    ["photo.jpg", "photo.jpg"],
    ["résumé 履歴書.txt", "résumé 履歴書.txt"],
    ["/etc/cron.d/x", "x"],
    ["..\\..\\boot.ini", "boot.ini"],
    ["..%2f..%2fetc", "%2f..%2fetc"],
    ["", "file"],
    [".", "file"],
    ["..", "file"],
    ["   ", "file"],
    [".htaccess", "htaccess"],
    ["name. .", "name"],
    ['a"b\r\nX: y', "a_b__X_ y"],
    ["file.txt::$DATA", "file.txt__$DATA"],
    ["exe\u202egpj.txt", "exe_gpj.txt"],
    ["e\u0301.txt", "é.txt"],
    ["half \ud800.txt", "half \ufffd.txt"],
    ["CON.txt", "_CON.txt"],
    ["aux", "_aux"],
    ["lPt1.tar.gz", "_lPt1.tar.gz"],
    ["C:\\COM¹ .log", "_COM¹ .log"],
    ["CONOUT$", "_CONOUT$"],
    ["console.txt", "console.txt"],
    ["com.txt", "com.txt"],
    ["my con.txt", "my con.txt"],
    [`nul.${"a".repeat(251)}`, `_nul.${"a".repeat(250)}`],
    [`nul${" ".repeat(260)}a.txt`, "_nul.txt"],
  ])("%j is kept as %j", (given, kept) => {
    expect(safeFileName(given)).toBe(kept);
  });

  it("keeps the extension of a name that is too long, and whole characters", () => {
    const name = safeFileName(`${"😀".repeat(300)}.txt`);
    expect([Buffer.byteLength(name) <= 255, name.endsWith("😀.txt"), name.isWellFormed()]).toEqual([
      ...[true, true, true],
    ]);
  });

  it("looks at both ends of what is far too long: putting a million marks into order would take minutes", () => {
    const marks = "\u0301".repeat(500_000) + "\u0316".repeat(500_000);
    expect(safeFileName(`/a/b${marks}.txt`)).toMatch(/^b\u0316{100,126}\.txt$/);
  });

  it.each([
    [`${"a".repeat(250)} b.txt`, `${"a".repeat(250)}.txt`],
    [`${"a".repeat(252)}.. bcd`, "a".repeat(252)],
    [`${"a".repeat(250)}. .txt`, `${"a".repeat(250)}.txt`],
  ])("leaves no dot or blank where it cuts a name: %j", (given, kept) => {
    expect(safeFileName(given)).toBe(kept);
  });

  it("gives, whatever is given, a name that stays as it is", () => {
    const likely = fc.string({ unit: fc.constantFrom(..."aZ09_-. é日😀"), maxLength: 400, size: "max" });
    const parts = fc.tuple(
      fc.constantFrom("", "", "nul", "com1."),
      fc.oneof(likely, fc.string({ unit: "grapheme", maxLength: 100, size: "max" })),
      fc.constantFrom("", ".txt", ".tar.gz", " .txt"),
    );
    fc.assert(
      fc.property(parts, (texts) => {
        const given = texts.join("");
        const name = safeFileName(given);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is the point.
        const isSafe = name !== "" && !/[/\\\u0000-\u001f]/.test(name) && Buffer.byteLength(name) <= 255;
        return isSafe && safeFileName(name) === name;
      }),
      { numRuns: 500 },
    );
  });
});

describe("withEnding", () => {
  it.each([
    ["photo.png", "photo.webp"],
    ["a.b.png", "a.b.webp"],
    ["photo", "photo.webp"],
    ["on 1.5. at noon", "on 1.5. at noon.webp"],
    [`${"a".repeat(251)}.png`, `${"a".repeat(250)}.webp`],
    [`nul${" ".repeat(250)}ab`, "_nul.webp"],
  ])("of %j is %j", (name, other) => {
    expect(withEnding(name, "webp")).toBe(other);
  });
});
