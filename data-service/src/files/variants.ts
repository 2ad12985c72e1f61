// Transformed pictures: found where they were made before, otherwise made, stored and noted.
import { Readable } from "node:stream";
import { AppError } from "@portico/shared/app-error";
import type { Variant } from "../mongo/content-ledger.js";
import { contentBytes } from "./content-bytes.js";
import type { FileDeps } from "./deps.js";
import { withEnding } from "./file-name.js";
import { type Transform, variantName } from "./image-parameters.js";
import { isTransformable, MAX_SOURCE_BYTES, transform } from "./image-work.js";
import { gone, makeRoom } from "./picture-room.js";

export type PictureDeps = Pick<FileDeps, "contents" | "ledger" | "clock" | "requireSpace">;

export interface Source {
  readonly key: string;
  readonly mimetype: string;
  readonly size: number;
}

/** The wish without whatever means nothing for its format or edges, so that such wishes have one name. */
export function meantBy(wish: Transform, source: Pick<Source, "mimetype">): Transform {
  const mimetype = mimetypeOf(wish, source);
  return {
    ...wish,
    fit: meansFit(wish) ? wish.fit : "cover",
    format: mimetype === source.mimetype ? undefined : wish.format,
    quality: mimetype === "image/png" || mimetype === "image/gif" ? undefined : wish.quality,
  };
}

/** With one edge, only `contain` and `fill` are something else: they may change the other edge. */
function meansFit({ width, height, fit }: Transform): boolean {
  if (width !== undefined && height !== undefined) return true;
  return (width !== undefined || height !== undefined) && (fit === "contain" || fit === "fill");
}

/** What the picture will be. */
export function mimetypeOf({ format }: Transform, { mimetype }: Pick<Source, "mimetype">): string {
  return format === undefined ? mimetype : `image/${format}`;
}

/** How the picture that is meant is called: as the file, with the ending of its format where that is another. */
export function nameOf({ format }: Transform, filename: string): string {
  return format === undefined ? filename : withEnding(filename, format);
}

/** Requests for the same picture at the same time make it only once. */
const underWay = new Map<string, Promise<Variant>>();

function idOf({ content, name }: Pick<Variant, "content" | "name">): string {
  return `${content} ${name}`;
}

/** @throws AppError 400 for something that is no picture, or too large */
export function requireTransformable({ mimetype, size }: Source): void {
  if (!isTransformable(mimetype))
    throw new AppError(
      "BAD_REQUEST",
      `This file is ${mimetype}; only JPEG, PNG, WebP, AVIF and GIF are transformed.`,
    );
  if (size > MAX_SOURCE_BYTES)
    throw new AppError(
      "BAD_REQUEST",
      `The picture has more than ${MAX_SOURCE_BYTES} bytes; it can't be transformed.`,
    );
}

export function findVariant(
  deps: PictureDeps,
  source: Source,
  wish: Transform,
): Promise<Variant | undefined> {
  return deps.ledger.findVariant(source.key, variantName(wish));
}

/**
 * The picture, made if it is not there yet. @throws AppError 503 when it would have to be made and the disk is nearly full
 */
export async function variantOf(deps: PictureDeps, source: Source, wish: Transform): Promise<Variant> {
  const found = await findVariant(deps, source, wish);
  if (found !== undefined) return found;
  const id = idOf({ content: source.key, name: variantName(wish) });
  const making = underWay.get(id) ?? make(deps, source, wish).finally(() => underWay.delete(id));
  underWay.set(id, making);
  return making;
}

async function make(deps: PictureDeps, source: Source, wish: Transform): Promise<Variant> {
  const { contents } = deps;
  await deps.requireSpace?.();
  const load = () => contentBytes(contents.store, source.key, source.size);
  const { bytes, mimetype } = await transform(load, source.mimetype, wish);
  const key = await contents.write(Readable.from([bytes]));
  const variant: Variant = {
    content: source.key,
    name: variantName(wish),
    key,
    mimetype,
    size: bytes.length,
  };
  // If the file is deleted before its picture is noted, whoever decides about its content last takes the picture along.
  const first = await contents.letGo([source.key], () => noted(deps, variant));
  await (first ? contents.settle(key) : contents.discard(key));
  await makeRoom(deps, source.key, (each) => underWay.has(idOf(each)));
  return first ? variant : ((await findVariant(deps, source, wish)) ?? gone());
}

/** @returns false when another instance has already noted the same picture */
async function noted({ contents, ledger, clock }: PictureDeps, variant: Variant): Promise<boolean> {
  try {
    await contents.claim(variant.key);
    return await ledger.addVariant(variant, clock.now());
  } catch (error) {
    await contents.giveUp(variant.key, error);
    throw error;
  }
}

/** For one whose bytes are gone: it is made again when it is asked for. */
export async function dropVariant(
  { contents, ledger }: Pick<PictureDeps, "contents" | "ledger">,
  content: string,
  key: string,
): Promise<void> {
  const lost = (await ledger.variantsOf(content)).find((variant) => variant.key === key);
  if (lost !== undefined) await contents.letGo([key], () => ledger.removeVariant(lost));
}
