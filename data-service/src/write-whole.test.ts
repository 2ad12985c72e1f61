// Files that are replaced as a whole.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { writeWhole } from "./write-whole.js";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-write-whole-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("is that of one writer where several write the same file at once", async () => {
  const file = join(folder, "schema.json");
  // Larger than what one write takes.
  const texts = [..."abcdefgh"].map((letter, at) => letter.repeat(3_000_000 - at * 200_000));
  await Promise.all(texts.map((each) => writeWhole(file, each)));
  const text = await readFile(file, "utf8");
  expect(texts.some((each) => each === text)).toBe(true);
  expect(await readdir(folder)).toEqual(["schema.json"]);
});
