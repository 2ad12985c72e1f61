// Pictures are measured and made a few at a time; which are refused.
import { describe, expect, it } from "@jest/globals";
import sharp from "sharp";
import type { Transform } from "./image-parameters.js";
import { measure, transform } from "./image-work.js";

const FORMATS = ["jpeg", "png", "webp", "avif", "gif"] as const;
const HALF: Transform = { width: 5, height: undefined, fit: "cover", format: "png", quality: undefined };

const picture = (format: (typeof FORMATS)[number] | "tiff"): Promise<Buffer> =>
  sharp({ create: { width: 10, height: 6, channels: 3, background: "red" } })
    .toFormat(format)
    .toBuffer();

/** Markup that file-type takes for a picture, by what its comment says at the fourth byte. */
const drawing = (type: string): Buffer =>
  Buffer.from(
    `<!--ftyp${type}${" ".repeat(5_000)}--><svg:svg xmlns:svg="http://www.w3.org/2000/svg" width="10" height="6">` +
      '<svg:rect width="9" height="5" fill="red"/></svg:svg>',
  );

describe("pictures", () => {
  it.each(FORMATS)("are measured and transformed: %s", async (format) => {
    const bytes = await picture(format);
    expect(await measure(async () => bytes, `image/${format}`)).toEqual({ width: 10, height: 6 });
    const made = await transform(async () => bytes, `image/${format}`, HALF);
    expect(await sharp(made.bytes).metadata()).toMatchObject({ format: "png", width: 5, height: 3 });
  });

  it("are measured while the bytes of another do not come", async () => {
    const bytes = await picture("png");
    let come = (_bytes: Buffer): void => undefined;
    const waiting = measure(() => new Promise((resolve) => (come = resolve)), "image/png");
    expect(await measure(async () => bytes, "image/png")).toEqual({ width: 10, height: 6 });
    come(bytes);
    expect(await waiting).toEqual({ width: 10, height: 6 });
  });

  it.each([
    ["webp", 16_383, 16_384],
    ["avif", 16_384, 16_385],
    ["jpeg", 65_500, 65_501],
  ] as const)("that are too long for %s are refused with what it takes", async (format, most, width) => {
    const long = (pixels: number): Promise<Buffer> =>
      sharp({ create: { width: pixels, height: 1, channels: 3, background: "red" } })
        .png()
        .toBuffer();
    const wish: Transform = { ...HALF, width: undefined, format };
    const made = (pixels: number) => transform(() => long(pixels), "image/png", wish);
    expect(await sharp((await made(most)).bytes).metadata()).toMatchObject({ width: most });
    await expect(made(width)).rejects.toMatchObject({
      code: "BAD_REQUEST",
      messages: `${format} takes at most ${most} pixels in each direction; ask for a smaller width or height, or another format.`,
    });
  });

  describe("that are to become AVIF", () => {
    const large = sharp({ create: { width: 3840, height: 2161, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    const whole: Transform = { ...HALF, width: undefined, format: "avif" };

    it.each([
      ["in their own size", "image/png", whole],
      ["of the same type in their own size", "image/avif", { ...whole, format: undefined }],
      ["on a larger ground", "image/png", { ...whole, width: 4_000, height: 4_000, fit: "contain" }],
    ] as const)("of more pixels than that takes are refused by their head: %s", async (_how, type, wish) => {
      const head = (await large).subarray(0, 100);
      await expect(transform(async () => head, type, wish)).rejects.toMatchObject({
        code: "BAD_REQUEST",
        messages:
          "avif takes at most 8294400 pixels in all; ask for a smaller width or height, or another format.",
      });
    });

    it("may be larger before", async () => {
      const made = await transform(() => large, "image/png", { ...whole, width: 40 });
      expect(await sharp(made.bytes).metadata()).toMatchObject({ width: 40, height: 23 });
    });
  });

  it("are none when they are of another kind than they begin like", async () => {
    const bytes = await picture("png");
    expect(await measure(async () => bytes, "image/gif")).toBe("none");
  });
});

describe.each([
  ["an SVG in a disguise", async () => drawing("avif")],
  ["a TIFF", () => picture("tiff")],
])("%s", (_what, bytes) => {
  it("is no picture, and nothing draws it", async () => {
    const load = bytes;
    expect(await measure(load, "image/avif")).toBe("none");
    await expect(transform(load, "image/avif", HALF)).rejects.toMatchObject({
      code: "BAD_REQUEST",
      messages: "The file is damaged or no picture; it can't be transformed.",
    });
  });
});
