// GET and HEAD /assets/{id}: who may → which bytes → what the client already has → the rest, as fast as it reads.
import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "@portico/shared/app-error";
import type { Request, Response } from "express";
import { principalOf } from "../http/authenticate.js";
import { logOf } from "../http/logging-for.js";
import { searchOf } from "../http/request-parts.js";
import { type ByteRange, chooseRange, failedCondition } from "./byte-range.js";
import { contentHeaders } from "./content-policy.js";
import { ContentMissing, type ContentStore } from "./content-store.js";
import type { FileDeps } from "./deps.js";
import { type Asset, findAsset } from "./find-asset.js";
import {
  type AssetParameters,
  readAssetParameters,
  type Transform,
  variantName,
} from "./image-parameters.js";
import {
  dropVariant,
  findVariant,
  meantBy,
  mimetypeOf,
  nameOf,
  requireTransformable,
  variantOf,
} from "./variants.js";

const MOST_LISTENERS = 20;

/** Bytes to send, and where they are stored. */
interface Content {
  readonly key: string;
  /** Undefined for a picture that has not been made yet; the key is that of its source then. */
  readonly size: number | undefined;
}

/** What is known about the bytes before anything is looked for or made. */
interface Meant {
  readonly filename: string;
  readonly mimetype: string;
  readonly etag: string;
  find(): Promise<Content>;
}

/** How often to look for a made picture. */
const ATTEMPTS = 3;

export async function download(deps: FileDeps, request: Request, response: Response): Promise<void> {
  // Parameters first: a bad one is a 400 before anything is opened.
  const parameters = readAssetParameters(searchOf(request));
  const find = () => findAsset(deps, principalOf(request), String(request.params.id));
  const kept = new Set(response.getHeaderNames());
  for (let [asset, attempt] = [await find(), 1]; ; attempt += 1) {
    try {
      return await answer(deps, asset, parameters, request, response);
    } catch (error) {
      if (response.headersSent) throw noted(deps, request, asset, error);
      for (const name of response.getHeaderNames()) if (!kept.has(name)) response.removeHeader(name);
      // Its content may just have been replaced or deleted: then there is other content now, or none.
      const now = await find();
      // Made pictures are dropped for newer ones, and made again.
      const picture = error instanceof ContentMissing && error.key !== asset.key ? error.key : undefined;
      if (picture !== undefined) await dropVariant(deps, asset.key, picture);
      const isLast = picture === undefined || attempt === ATTEMPTS;
      if (now.key === asset.key && isLast) throw noted(deps, request, asset, error);
      asset = now;
    }
  }
}

/** A client hears only that there is no such file. @returns the error, of which the log names the file */
function noted(deps: FileDeps, request: Request, { id: file }: Asset, error: unknown): unknown {
  if (error instanceof ContentMissing)
    logOf(request, deps).warn(
      { file, content: error.key, err: error.cause },
      "the content of a file is missing",
    );
  return error;
}

async function answer(
  deps: FileDeps,
  asset: Asset,
  { transform, download: asAttachment }: AssetParameters,
  request: Request,
  response: Response,
): Promise<void> {
  const meant = meantContent(deps, asset, transform, request.method === "HEAD");
  const { etag, filename, mimetype } = meant;
  const validators = { etag, lastModified: asset.at };
  const failed = failedCondition(request.headers, validators);
  if (failed !== undefined)
    throw new AppError("PRECONDITION_FAILED", `The file has other content now; ask without ${failed}.`);
  const headers = {
    ...contentHeaders({ ...asset, filename, mimetype }, asAttachment),
    ETag: etag,
    // It may be yet to come (see `upload`); no answer says it is of a time after its own (RFC 9110, section 8.8.2.1).
    ...(asset.at <= deps.clock.now() ? { "Last-Modified": asset.at.toUTCString() } : {}),
    "Accept-Ranges": "bytes",
  };
  // Not Express's `set`, which would add a charset that nobody knows.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Express compares both validators with what the client has. That is answered before a range is looked at.
  if (request.fresh) {
    response.removeHeader("Content-Type");
    return void response.status(304).end();
  }
  const content = await meant.find();
  const { size } = content;
  const hasRange = request.method === "GET" && size !== undefined;
  const verdict = hasRange ? chooseRange(request.headers, size, validators) : "whole";
  if (verdict === "unsatisfiable")
    throw new AppError("RANGE_NOT_SATISFIABLE", {
      message: `The file has ${size} bytes.`,
      headers: { "Content-Range": `bytes */${size}` },
    });
  await send(deps, content, verdict, request, response);
}

/** @throws AppError 400 for a picture that can't be made */
function meantContent(
  deps: FileDeps,
  { key, filename, mimetype, filesize: size }: Asset,
  asked: Transform | undefined,
  isHead: boolean,
): Meant {
  if (asked === undefined) return { filename, mimetype, etag: `"${key}"`, find: async () => ({ key, size }) };
  const source = { key, mimetype, size };
  requireTransformable(source);
  const wish = meantBy(asked, source);
  return {
    filename: nameOf(wish, filename),
    mimetype: mimetypeOf(wish, source),
    etag: `"${key}-${variantName(wish)}"`,
    // Nothing is made for a HEAD: its answer may leave out the length (RFC 9110, section 9.3.2).
    find: async () =>
      (await (isHead ? findVariant : variantOf)(deps, source, wish)) ?? { key, size: undefined },
  };
}

async function send(
  { contents }: FileDeps,
  { key, size }: Content,
  verdict: ByteRange | "whole",
  request: Request,
  response: Response,
): Promise<void> {
  const isHead = request.method === "HEAD";
  if (isHead && size !== 0) await requireBegin(contents.store, key);
  if (size === undefined) return void response.status(200).end();
  const range = verdict === "whole" ? { start: 0, end: size - 1 } : verdict;
  response.status(verdict === "whole" ? 200 : 206).set("Content-Length", String(range.end - range.start + 1));
  if (verdict !== "whole") response.set("Content-Range", `bytes ${range.start}-${range.end}/${size}`);
  if (isHead || size === 0) return void response.end();
  const held = contents.store.held?.(key, range);
  if (held !== undefined) return void response.end(held);
  const bytes = await begun(contents.store.read(key, range));
  // A client that has left needs no answer, and nothing else here would close what is open.
  if (response.destroyed) return void bytes.destroy();
  // A pipeline and the code around it add more listeners than the ten at which Node.js warns of a leak.
  response.setMaxListeners(MOST_LISTENERS);
  try {
    // Nothing is read ahead for a client that has stopped reading.
    await pipeline(bytes, response);
  } catch (error) {
    // A client that has left needs no answer; anything else must look like the broken transfer that it is.
    if (!isGone(error)) throw error;
  }
}

const FIRST_BYTE: ByteRange = { start: 0, end: 0 };

/** A HEAD is refused where a GET would be, which begins to read. @throws what the store throws */
async function requireBegin(store: ContentStore, key: string): Promise<void> {
  if (store.held?.(key, FIRST_BYTE) !== undefined) return;
  const bytes = await begun(store.read(key, FIRST_BYTE));
  bytes.destroy();
}

/** Waits for the first piece: before that, a failure can still be answered. @throws what the store throws */
async function begun(bytes: AsyncIterable<Uint8Array>): Promise<Readable> {
  const stream = bytes instanceof Readable ? bytes : Readable.from(bytes);
  await once(stream, "readable");
  return stream;
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}
