// GET and HEAD /assets/{id}: who may → which bytes → what the client has already → the rest, as it reads.
import { pipeline } from "node:stream/promises";
import { AppError } from "@portico/shared/app-error";
import type { Request, Response } from "express";
import { principalOf } from "../http/authenticate.js";
import { searchOf } from "../records/routes.js";
import { type ByteRange, chooseRange } from "./byte-range.js";
import { contentHeaders } from "./content-policy.js";
import type { FileDeps } from "./deps.js";
import { type Asset, findAsset } from "./find-asset.js";
import { readAssetParameters, type Transform, variantName } from "./image-parameters.js";
import { findVariant, requireTransformable, variantOf } from "./variants.js";

/** Bytes to send, where they lie. */
interface Content {
  readonly key: string;
  readonly mimetype: string;
  /** Undefined for a picture that is not made yet. */
  readonly size: number | undefined;
  readonly etag: string;
}

export async function download(deps: FileDeps, request: Request, response: Response): Promise<void> {
  // Parameters first: a bad one is a 400 before anything is opened.
  const { transform, download: asAttachment } = readAssetParameters(searchOf(request));
  const asset = await findAsset(deps, principalOf(request), String(request.params.id));
  const content = await contentOf(deps, asset, transform, request.method === "HEAD");
  const { etag, size } = content;
  const verdict =
    size === undefined ? "whole" : chooseRange(request.headers, size, { etag, lastModified: asset.at });
  if (verdict === "unsatisfiable")
    throw new AppError("RANGE_NOT_SATISFIABLE", {
      message: `The file has ${size} bytes.`,
      headers: { "Content-Range": `bytes */${size}` },
    });
  const headers = {
    ...contentHeaders({ ...asset, mimetype: content.mimetype }, asAttachment),
    ...{ ETag: etag, "Last-Modified": asset.at.toUTCString(), "Accept-Ranges": "bytes" },
  };
  // Not Express' `set`, which would add a charset that nobody knows.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Express compares both validators with what the client has.
  if (request.fresh) {
    response.removeHeader("Content-Type");
    return void response.status(304).end();
  }
  await send(deps, content, verdict, request, response);
}

async function contentOf(
  deps: FileDeps,
  { key, mimetype, filesize }: Asset,
  wish: Transform | undefined,
  isHead: boolean,
): Promise<Content> {
  if (wish === undefined) return { key, mimetype, size: filesize, etag: `"${key}"` };
  const source = { key, mimetype, size: filesize };
  requireTransformable(source);
  const etag = `"${key}-${variantName(wish)}"`;
  const variant = await (isHead ? findVariant(deps, source, wish) : variantOf(deps, source, wish));
  // Nothing is made for a HEAD: its answer may leave the length out (RFC 9110, section 9.3.2).
  const made = `image/${wish.format ?? mimetype.slice("image/".length)}`;
  return { key: variant?.key ?? "", mimetype: variant?.mimetype ?? made, size: variant?.size, etag };
}

async function send(
  { contents }: FileDeps,
  { key, size }: Content,
  verdict: ByteRange | "whole",
  request: Request,
  response: Response,
): Promise<void> {
  if (size === undefined) return void response.status(200).end();
  const range = verdict === "whole" ? { start: 0, end: size - 1 } : verdict;
  response.status(verdict === "whole" ? 200 : 206).set("Content-Length", String(range.end - range.start + 1));
  if (verdict !== "whole") response.set("Content-Range", `bytes ${range.start}-${range.end}/${size}`);
  if (request.method === "HEAD" || size === 0) return void response.end();
  try {
    // Of a client that stands still nothing is read ahead.
    await pipeline(contents.store.read(key, range), response);
  } catch (error) {
    // A client that left needs no answer; anything else must look like the broken transfer it is.
    if (!isGone(error)) throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}
