// All work with sharp: reading the size of a picture, and making another one from it. A few at a time.
import { AppError, unavailable } from "@portico/shared/app-error";
import pLimit from "p-limit";
import type { Sharp } from "sharp";
import { makeTurns } from "../turns.js";
import type { Transform } from "./image-parameters.js";
import { type ImageSize, sizeMade } from "./size-made.js";

type Format = "jpeg" | "png" | "webp" | "avif" | "gif";

/** Types that pictures are made from. SVG is not one of them: it is a program, which can run as long as it likes. */
const FORMAT_OF: Readonly<Record<string, Format>> = {
  "image/jpeg": "jpeg",
  "image/png": "png",
  "image/webp": "webp",
  "image/avif": "avif",
  "image/gif": "gif",
};

/**
 * The loaders that may read bytes: libvips chooses one by what the bytes look like to it, which need not be what `sniff`
 * found. All others are blocked, above all those for SVG.
 */
const LOADERS = ["Jpeg", "Png", "Webp", "Heif", "Nsgif"].map((kind) => `VipsForeignLoad${kind}Buffer`);

/** A picture is worked on in memory: above these limits it is stored and sent, but not transformed. */
export const MAX_SOURCE_BYTES = 32 * 1024 * 1024;
const MAX_PIXELS = 40_000_000;
const TIME_LIMIT_SECONDS = 20;
/**
 * What AVIF is made into. Its encoder gets the whole picture in one call, which no time limit ends: so many pixels take it 5 s of
 * processor time, 9 s where they are transparent noise, and 500 MB.
 */
const MOST_AVIF_PIXELS = 3840 * 2160;

/** Two at once, each with the memory of a whole picture; those that wait hold none. */
const AT_ONCE = 2;
const MOST_WAITING = 64;
/**
 * So that a client that is refused hears of it, and no picture is made for a client that has been told that it took too
 * long.
 */
const MOST_WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 2;
/** This machine will hardly have the library by then, but another instance may. */
const NO_LIBRARY_RETRY_SECONDS = 60;

type Library = typeof import("sharp").default;

let library: Promise<Library | undefined> | undefined;

/** Loaded with the first picture. Undefined on a machine for which there is no build: everything else must run there. */
function sharpOrNone(): Promise<Library | undefined> {
  library ??= import("sharp").then(
    ({ default: sharp }) => {
      // One picture, one thread; nothing is kept from one to the next.
      sharp.concurrency(1);
      sharp.cache(false);
      sharp.block({ operation: ["VipsForeignLoad"] });
      sharp.unblock({ operation: LOADERS });
      return sharp;
    },
    () => {
      // The next picture may have more luck.
      library = undefined;
      return undefined;
    },
  );
  return library;
}

const inTurn = makeTurns({
  atOnce: AT_ONCE,
  mostWaiting: MOST_WAITING,
  maxWaitMs: MOST_WAIT_MS,
  refusal: () =>
    unavailable("Too many pictures are being made at the moment; try again shortly.", RETRY_AFTER_SECONDS),
});
/**
 * Those who send pictures wait for each other, however many there are, for their bytes are stored already. Each holds a
 * whole picture meanwhile. Several at once, so that one whose bytes come slowly does not keep all others waiting.
 */
const measureInTurn = pLimit(3);

export function isTransformable(mimetype: string): boolean {
  return mimetype in FORMAT_OF;
}

/** The size as it is shown, turned as EXIF says; `none` when it can't be read as its type, so is no picture. */
export async function measure(
  load: () => Promise<Buffer>,
  mimetype: string,
): Promise<ImageSize | "none" | "unknown"> {
  const sharp = await sharpOrNone();
  if (sharp === undefined) return "unknown";
  return measureInTurn(async () => {
    const bytes = await load();
    try {
      // Only the head is read, so the number of pixels does no harm here.
      const { autoOrient, format } = await sharp(bytes, { limitInputPixels: false }).metadata();
      if (typeReadAs(format) !== mimetype) return "none";
      return { width: autoOrient.width, height: autoOrient.height };
    } catch {
      return "none";
    }
  });
}

/** By libvips' names: AVIF is the only kind of HEIF that is read here. */
function typeReadAs(format: string): string {
  return `image/${format === "heif" ? "avif" : format}`;
}

export interface MadeImage {
  readonly bytes: Buffer;
  readonly mimetype: string;
}

/**
 * @throws AppError 400 for what is not a picture, has too many pixels or would not fit the format; 503 when too many wait or
 * one has waited too long
 */
export async function transform(
  load: () => Promise<Buffer>,
  mimetype: string,
  wish: Transform,
): Promise<MadeImage> {
  const sharp = await sharpOrNone();
  if (sharp === undefined)
    throw unavailable("Pictures can't be transformed on this machine.", NO_LIBRARY_RETRY_SECONDS);
  return inTurn(async () => {
    const source = await load();
    const format = wish.format ?? FORMAT_OF[mimetype] ?? "png";
    const image = sharp(source, { limitInputPixels: MAX_PIXELS, failOn: "error" })
      .timeout({ seconds: TIME_LIMIT_SECONDS })
      .autoOrient()
      .resize({ ...sizeOf(wish), fit: wish.fit, withoutEnlargement: true, background: NOTHING });
    const bytes = await made(image, format, wish).catch((cause: unknown) => {
      throw cause instanceof AppError ? cause : refusalFor(cause, format);
    });
    return { bytes, mimetype: `image/${format}` };
  });
}

async function made(image: Sharp, format: Format, wish: Transform): Promise<Buffer> {
  if (format === "avif") requireFewPixels(sizeMade(wish, (await image.metadata()).autoOrient));
  return encoded(image, format, wish.quality).toBuffer();
}

function requireFewPixels({ width, height }: ImageSize): void {
  if (width * height > MOST_AVIF_PIXELS)
    throw new AppError(
      "BAD_REQUEST",
      `avif takes at most ${MOST_AVIF_PIXELS} pixels in all; ask for a smaller width or height, or another format.`,
    );
}

/** Around a picture that is to fill more than it covers; black in formats without transparency. */
const NOTHING = { r: 0, g: 0, b: 0, alpha: 0 };

function sizeOf({ width, height }: Transform): { width?: number; height?: number } {
  return { ...(width === undefined ? {} : { width }), ...(height === undefined ? {} : { height }) };
}

/** At its usual effort AVIF would take seconds per megapixel. */
const AVIF_EFFORT = 2;

function encoded(image: Sharp, format: Format, quality: number | undefined): Sharp {
  const options = quality === undefined ? {} : { quality };
  if (format === "avif") return image.avif({ ...options, effort: AVIF_EFFORT });
  return format === "gif" ? image.gif() : image[format](options);
}

/** How many pixels in each direction the libraries write; every picture that is read fits into the other formats. */
const MOST_IN_EACH_DIRECTION: Readonly<Partial<Record<Format, number>>> = {
  jpeg: 65_500,
  webp: 16_383,
  avif: 16_384,
};

function refusalFor(cause: unknown, format: Format): AppError {
  const text = cause instanceof Error ? cause.message : "";
  return new AppError("BAD_REQUEST", { message: problemOf(text, format), cause });
}

/** @param text what the library says */
function problemOf(text: string, format: Format): string {
  if (/timeout/i.test(text)) return "This picture takes too long to transform.";
  if (/pixel limit/i.test(text))
    return `The picture has more than ${MAX_PIXELS / 1_000_000} million pixels; it can't be transformed.`;
  const most = MOST_IN_EACH_DIRECTION[format];
  if (most !== undefined && /too large for the|maximum supported image dimension/i.test(text))
    return `${format} takes at most ${most} pixels in each direction; ask for a smaller width or height, or another format.`;
  return "The file is damaged or no picture; it can't be transformed.";
}
