// The size that is told beforehand is the one that sharp makes.
import { expect, it } from "@jest/globals";
import sharp from "sharp";
import type { Transform } from "./image-parameters.js";
import { transform } from "./image-work.js";
import { sizeMade } from "./size-made.js";

const FITS = ["cover", "contain", "inside", "outside", "fill"] as const;
const SIZES = [
  { width: 40, height: 20 },
  { width: 17, height: 41 },
];

it.each(FITS)("the size of what is made with fit=%s is known before", async (fit) => {
  for (const size of SIZES) {
    const bytes = await sharp({ create: { ...size, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    for (const width of [undefined, 7, 30, 90])
      for (const height of [undefined, 9, 30, 90]) {
        const wish: Transform = { width, height, fit, format: undefined, quality: undefined };
        const made = await sharp((await transform(async () => bytes, "image/png", wish)).bytes).metadata();
        expect({ wish, ...sizeMade(wish, size) }).toEqual({ wish, width: made.width, height: made.height });
      }
  }
});
