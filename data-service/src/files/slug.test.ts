// A folder's name -> what stands for it in an address.
import { expect, it } from "@jest/globals";
import { slugOf } from "./slug.js";

/** In the wrong order: putting all of them into the right one would take minutes. */
const MARKS = "\u0301".repeat(500_000) + "\u0316".repeat(500_000);

it.each([
  ["Holiday Photos", "holiday-photos"],
  ["Été à la mer!", "ete-a-la-mer"],
  ["写真 2024", "写真-2024"],
  ["Straße", "straße"],
  ["Мои файлы", "мои-файлы"],
  ["Мой Файлы", "мой-файлы"],
  ["ガス", "ガス"],
  ["กิน", "กิน"],
  ["काम", "काम"],
  ["1\ufe0f\u20e3 ❤\ufe0f 葛\u{e0100}", "1-葛"],
  ["\u0301a -\u0301 b", "a-b"],
  ["--a--", "a"],
  ["***", "folder"],
  ["x".repeat(300), "x".repeat(100)],
  [`a${MARKS}`, "a"],
  [`к${"\u0301".repeat(300)}`, `ќ${"\u0301".repeat(99)}`],
])("%j becomes %j", (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});
