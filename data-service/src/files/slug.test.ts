import { expect, it } from "@jest/globals";
import { slugOf } from "./slug.js";

it.each([
  ["Holiday Photos", "holiday-photos"],
  ["Été à la mer!", "ete-a-la-mer"],
  ["写真 2024", "写真-2024"],
  ["Straße", "straße"],
  ["--a--", "a"],
  ["***", "folder"],
  ["x".repeat(300), "x".repeat(100)],
])("%j becomes %j", (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});
