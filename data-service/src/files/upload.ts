// POST /svc_file and PATCH /svc_file/{id} with a file: who may → bytes → what they are → record → former bytes.
import { unavailable } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import type { Request, Response } from "express";
import { CONTENT_AT, CONTENT_KEY } from "../catalog/own-fields.js";
import { callerOf, principalOf, recheckCaller } from "../http/authenticate.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import type { StampValues } from "../records/body/write-plan.js";
import { findTable } from "../records/find-table.js";
import { expectedVersions, type Versioned } from "../records/version.js";
import { type Created, create } from "../records/write/create.js";
import { update } from "../records/write/update.js";
import { requireChange } from "../records/write/write-guard.js";
import { contentBytes } from "./content-bytes.js";
import { ContentMissing } from "./content-store.js";
import type { FileDeps } from "./deps.js";
import { isTransformable, MAX_SOURCE_BYTES, measure } from "./image-work.js";
import { type Received, receive } from "./receive.js";
import { UNKNOWN_TYPE } from "./sniff.js";

export interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly parameters: Parameters;
}

/** Nothing is read from a caller who may not make a file at all. @returns the record */
export async function upload(deps: FileDeps, { request, response, parameters }: Exchange): Promise<Created> {
  const { files } = deps.fileTables;
  const rights = await deps.rights(principalOf(request));
  const catalog = await deps.catalogs.get();
  rights.require(catalog, findTable(catalog, files), "create");
  const { file, parts } = await receive(deps, request, response);
  return recording(deps, file, async () => {
    const principal = await presentAt(request);
    const values = { ...(await contentStamp(deps, file)), uploadedBy: uploaderOf(principal) };
    const asked = { principal, caller: callerOf(request), table: files };
    return create(deps, { ...asked, parameters, body: parts, stamp: { values } });
  });
}

/** Stands for the content: a rule that allows only the title to be changed does not allow the bytes to be replaced. */
const CONTENT = "filename";

/** Replaces the content of a file. @returns the record */
export async function replace(
  deps: FileDeps,
  idText: string,
  { request, response, parameters }: Exchange,
): Promise<Versioned> {
  const asked = { caller: callerOf(request), table: deps.fileTables.files, id: idText };
  const wish = { [CONTENT]: "content" };
  const id = await requireChange(deps, { ...asked, principal: principalOf(request) }, wish);
  const { file, parts } = await receive(deps, request, response);
  return recording(deps, file, async () => {
    const principal = await presentAt(request);
    const expected = expectedVersions(request.get("If-Match"));
    const values = await contentStamp(deps, file);
    const table = findTable(await deps.catalogs.get(), asked.table);
    const [record] = await deps.store.byIds(table, [id], { [CONTENT_KEY]: 1, [CONTENT_AT]: 1 });
    const former = record === undefined ? [] : [String(record[CONTENT_KEY])];
    const at = timeAfter(record?.[CONTENT_AT], deps.clock.now());
    const stamp = { values: { ...values, [CONTENT_AT]: at }, needs: CONTENT };
    // If several requests replace it at once, each removes the bytes it has seen: none are forgotten, and none are removed
    // too early.
    const stillMatching = () => async () => ({ [CONTENT_KEY]: { $in: former } });
    const wanted = { ...asked, principal, parameters, body: parts, stamp, stillMatching, expected };
    return deps.contents.letGo(former, () => update(deps, wanted));
  });
}

/**
 * Since when a file has its next content: no two of them share a second, or who has the former, and goes by HTTP's dates, which
 * have no fractions, would never hear of the other.
 */
function timeAfter(former: unknown, now: Date): Date {
  if (!(former instanceof Date)) return now;
  const next = new Date((Math.floor(former.getTime() / 1_000) + 1) * 1_000);
  return next > now ? next : now;
}

/** Who sends the file, now that all of it has arrived. @throws AppError 401 when their session has ended meanwhile */
async function presentAt(request: Request): Promise<Principal> {
  await recheckCaller(request);
  return principalOf(request);
}

/** Runs the work that makes a record name the content; if it fails, the bytes are removed, or left to the sweep. */
async function recording<Result>(
  { contents }: FileDeps,
  { key }: Received,
  record: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await record();
    await contents.settle(key);
    return result;
  } catch (error) {
    await contents.giveUp(key, error);
    throw error;
  }
}

async function contentStamp(deps: FileDeps, file: Received): Promise<StampValues> {
  const { key, filename, filesize } = file;
  const size = await sizeOf(deps, file);
  // A file that begins like a picture but can't be read as one is never shown in place.
  const mimetype = size === "none" ? UNKNOWN_TYPE : file.mimetype;
  const { width, height } = typeof size === "object" ? size : { width: null, height: null };
  await deps.contents.claim(key);
  return {
    filename,
    mimetype,
    filesize,
    width,
    height,
    [CONTENT_KEY]: key,
    [CONTENT_AT]: deps.clock.now(),
  };
}

async function sizeOf({ contents }: FileDeps, { key, mimetype, filesize }: Received) {
  if (!isTransformable(mimetype) || filesize > MAX_SOURCE_BYTES) return "unknown";
  return measure(() => contentBytes(contents.store, key, filesize), mimetype).catch((error: unknown) => {
    // Nobody asked for what is missing: that must not look like an address at which nothing is.
    throw error instanceof ContentMissing
      ? unavailable("The file was lost; send it again.", 1, error)
      : error;
  });
}

function uploaderOf(principal: Principal): ObjectId | null {
  return principal.kind === "user" ? ObjectId.createFromHexString(principal.userId) : null;
}
