// Contents of files in an S3-compatible bucket. A file's length is not known in advance, so it is uploaded in parts: one
// part of each running upload is held in memory.
import { AppError, unavailable } from "@portico/shared/app-error";
import { S3mini, S3ServiceError } from "s3mini";
import { within } from "../within.js";
import { ContentMissing, type ContentStore } from "./content-store.js";
import { inPieces } from "./in-pieces.js";
import type { S3Settings } from "./s3-settings.js";

/** The smallest part that S3 accepts, except for the last. Some servers want all the others to be of one size (Cloudflare R2). */
const PART_BYTES = 5 * 1024 * 1024;
const TYPE = "application/octet-stream";

/** A bucket that says nothing for this long is down. */
const SILENCE_MS = 10_000;
/**
 * How many times as long it may take over a POST or PUT. Sending a part of a file takes its time; and while some servers put the
 * parts together, they report only every 10 s that they are still at it.
 */
const PATIENCE_WITH_FILES = 6;

/** @param silenceMs how long to wait for an answer to begin, and for each piece of it */
export function makeS3Content(
  { endpoint, bucket, ...settings }: S3Settings,
  silenceMs = SILENCE_MS,
): ContentStore {
  const ask: typeof fetch = async (input, init) => {
    const isFile = init?.method === "POST" || init?.method === "PUT";
    const patienceMs = isFile ? PATIENCE_WITH_FILES * silenceMs : silenceMs;
    return withoutSilence(await fetchWithin(patienceMs, input, init), patienceMs);
  };
  const s3 = new S3mini({ ...settings, endpoint: `${endpoint}/${bucket}`, fetch: ask });
  return {
    write: (key, bytes) => refusing(() => write(s3, key, bytes)),
    mayStillLand: (error) => error instanceof Unreachable && !isRefused(error.cause),
    async *read(key, { start, end }) {
      const asking = refusing(() => s3.getObjectRaw(key, false, start, end + 1));
      const response = await asking.catch((error: unknown) => {
        throw isMissing(error) ? new ContentMissing(key, error) : error;
      });
      if (response.body === null) throw new Error(`${key} came without a body`);
      yield* response.body;
    },
    mayLack: (error) => error instanceof Unreachable && isForbidden(error.cause),
    async remove(key) {
      await refusing(() => s3.deleteObject(key)).catch(unlessMissing);
      // Some keys may not list uploads, and some servers can't: then a rule of the bucket must end them (docs/files.md).
      await abortUploads(s3, key).catch(() => undefined);
    },
  };
}

/** If the answer does not begin in time, nothing of it stays open. */
async function fetchWithin(ms: number, ...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Unreachable("no answer")), ms);
  return fetch(input, { ...init, signal: silence.signal }).finally(() => clearTimeout(timer));
}

function withoutSilence(response: Response, silenceMs: number): Response {
  if (response.body === null) return response;
  return new Response(ReadableStream.from(piecesOf(response, silenceMs)), response);
}

/**
 * As they come; a reader that takes its time is not the bucket's silence. Nothing stays open when nobody wants more or no
 * more comes.
 */
async function* piecesOf(response: Response, silenceMs: number): AsyncGenerator<Uint8Array> {
  // The answer's own reader: `fetch` ends an answer that nobody holds and whose body nobody has begun to read.
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const reading = refusing(() => reader.read());
      if (!(await within(silenceMs, reading))) throw new Unreachable("no more of an answer");
      const { value } = await reading;
      if (value === undefined) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function write(s3: S3mini, key: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let uploadId: string | undefined;
  const parts: { partNumber: number; etag: string }[] = [];
  try {
    for await (const part of inPieces(bytes, PART_BYTES)) {
      // Only the last is shorter.
      if (uploadId === undefined && part.length < PART_BYTES)
        return void (await s3.putObject(key, part, TYPE));
      uploadId ??= await s3.getMultipartUploadId(key, TYPE);
      parts.push(await s3.uploadPart(key, uploadId, part, parts.length + 1));
    }
    if (uploadId === undefined) await s3.putObject(key, Buffer.alloc(0), TYPE);
    else await complete(s3, key, uploadId, parts);
  } catch (error) {
    if (uploadId !== undefined) await s3.abortMultipartUpload(key, uploadId).catch(() => undefined);
    throw error;
  }
}

/** S3 may answer 200 and say only in the body that it has failed; the library returns that like any result. */
async function complete(
  s3: S3mini,
  key: string,
  uploadId: string,
  parts: Parameters<S3mini["completeMultipartUpload"]>[2],
): Promise<void> {
  const result: unknown = await s3.completeMultipartUpload(key, uploadId, parts);
  if (typeof memberOf(result, "etag") === "string") return;
  const cause = new Error(`the bucket did not complete ${key}: ${JSON.stringify(result)}`);
  throw unavailable("The store of files did not take the file; send it again.", 2, cause);
}

/** The parts of an upload that was never completed cost as much as files. */
async function abortUploads(s3: S3mini, key: string): Promise<void> {
  const answer: unknown = await s3.listMultipartUploads("/", "", "GET", { prefix: key });
  // The library returns what it has read, with or without the outermost element. One upload is an object, several are a
  // list, none is nothing.
  const uploads = memberOf(memberOf(answer, "ListMultipartUploadsResult") ?? answer, "Upload");
  for (const each of [uploads ?? []].flat()) {
    const uploadId = memberOf(each, "UploadId");
    if (memberOf(each, "Key") === key && typeof uploadId === "string")
      await s3.abortMultipartUpload(key, uploadId);
  }
}

/** By its name, whose first letter the library may have made lower case. */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Reflect.get(value, name) ?? Reflect.get(value, name.charAt(0).toLowerCase() + name.slice(1));
}

/** A bucket that can't be reached, or that denies us everything, is down as far as the client is concerned. */
async function refusing<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (cause) {
    if (!isBuckets(cause)) throw cause;
    throw new Unreachable(cause);
  }
}

class Unreachable extends AppError {
  constructor(cause: unknown) {
    const { code, headers } = unavailable("", 2);
    super(code, { message: "The store of files can not be reached; try again shortly.", headers, cause });
  }
}

/** Nobody knows what becomes of a request after an answer such as 500 or 504. */
function isRefused(error: unknown): boolean {
  return error instanceof S3ServiceError && error.status < 500;
}

/** What `fetch` says when a connection breaks before or during an answer. */
const BROKEN = ["fetch failed", "terminated"];

/**
 * Errors of the library: some of its own class, some plain ones that begin with its name, and most network errors as they
 * are.
 */
function isBuckets(error: unknown): boolean {
  if (!(error instanceof Error) || isMissing(error)) return false;
  if (error instanceof TypeError) return BROKEN.includes(error.message);
  return (
    error instanceof S3ServiceError || error.name.startsWith("S3") || error.message.startsWith("[s3mini] ")
  );
}

/**
 * An object that is not there, in the bucket's words: a proxy whose bucket is away may answer 404 as well. Not all buckets give
 * the type of answer of which the library reads the code.
 */
function isMissing(error: unknown): boolean {
  if (!(error instanceof S3ServiceError) || error.status !== 404) return false;
  return /NoSuchKey/.test(`${error.serviceCode} ${error.body}`);
}

/** Whoever may not list the objects of a bucket hears this of one that is not there as well. */
function isForbidden(error: unknown): boolean {
  if (!(error instanceof S3ServiceError) || error.status !== 403) return false;
  return /AccessDenied/.test(`${error.serviceCode} ${error.body}`);
}

/** Some servers call it an error when there is nothing to remove. */
function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}
