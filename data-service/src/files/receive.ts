// A multipart request -> its one file, stored as it arrives, and its text parts. The file is kept neither in memory nor on
// disk.
import type { Readable } from "node:stream";
import { AppError } from "@portico/shared/app-error";
import type { JsonObject } from "@portico/shared/json";
import { requireUncompressed } from "@portico/shared/require-uncompressed";
import type { Request, Response } from "express";
import multer, { MulterError, type StorageEngine } from "multer";
import type { Contents } from "./contents.js";
import { safeFileName } from "./file-name.js";
import { HEAD_BYTES, sniff } from "./sniff.js";

/** A file whose bytes are stored but that no record names yet. */
export interface Received {
  readonly key: string;
  readonly filename: string;
  readonly mimetype: string;
  readonly filesize: number;
}

export interface ReceiveDeps {
  readonly contents: Contents;
  /** UPLOAD_MAX_BYTES */
  readonly uploadMaxBytes: number;
}

const TEXT_PARTS = ["folder", "title", "description", "isPublic"] as const;

/** Most defaults have no limit. Names are long enough for ours, values for a long description. */
const LIMITS = {
  files: 1,
  fields: 8,
  parts: 10,
  fieldSize: 64 * 1024,
  fieldNameSize: 100,
  headerPairs: 20,
  fieldNestingDepth: 0,
};

/** Something failed on our side while bytes were stored; anything else that multer reports is the client's fault. */
class StoringFailed extends Error {}

/**
 * Reads the request to its end.
 * @throws AppError 400, 413 or 415; then nothing is kept
 */
export async function receive(
  deps: ReceiveDeps,
  request: Request,
  response: Response,
): Promise<{ file: Received; parts: JsonObject }> {
  requireUncompressed(request.headers);
  let file: Received | undefined;
  const storage: StorageEngine = {
    _handleFile(_request, { stream, originalname }, done) {
      // Busboy cuts the stream at the limit and says so on the stream itself.
      store(deps.contents, stream as CutStream, originalname).then(
        (received) => {
          file = received;
          done(null, {});
        },
        (cause: unknown) => done(new StoringFailed("storing failed", { cause })),
      );
    },
    _removeFile(_request, _file, done) {
      discardFile().then(() => done(null));
    },
  };
  const discardFile = async (): Promise<void> => {
    if (file !== undefined) await deps.contents.discard(file.key);
    file = undefined;
  };
  const read = multer({
    storage,
    limits: { ...LIMITS, fileSize: deps.uploadMaxBytes },
    defParamCharset: "utf8",
    // `safeFileName` takes the last part. Multer's own makes nothing of "..", and drops a file without a name.
    preservePath: true,
  }).single("file");
  try {
    await new Promise<void>((resolve, reject) => {
      read(request, response, (error: unknown) => (error === undefined ? resolve() : reject(error)));
    });
    const parts = partsOf(request.body);
    if (file === undefined) throw new AppError("VALIDATION_ERROR", { message: ["file: is required"] });
    return { file, parts };
  } catch (error) {
    await discardFile();
    throw refusalFor(error, deps.uploadMaxBytes);
  }
}

type CutStream = Readable & { readonly truncated?: boolean };

async function store(contents: Contents, stream: CutStream, originalName: string): Promise<Received> {
  const seen: Seen = { head: Buffer.alloc(0), bytes: 0 };
  const key = await contents.write(watched(stream, seen));
  const mimetype = await sniff(seen.head);
  return { key, filename: safeFileName(originalName), mimetype, filesize: seen.bytes };
}

interface Seen {
  head: Buffer;
  bytes: number;
}

/** Passes bytes on, keeping the first and counting all. @throws when the file was cut at the limit */
async function* watched(stream: CutStream, seen: Seen): AsyncGenerator<Buffer> {
  // Not destroyed when storing fails: that would be reported, before the real reason, as an error of the client's.
  const chunks: AsyncIterable<Buffer> = stream.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    if (seen.head.length < HEAD_BYTES)
      seen.head = Buffer.concat([seen.head, chunk.subarray(0, HEAD_BYTES - seen.head.length)]);
    seen.bytes += chunk.length;
    yield chunk;
  }
  if (stream.truncated) throw new MulterError("LIMIT_FILE_SIZE", "file");
}

/** Text parts as a body: `isPublic` becomes a boolean, and an empty `folder` means none. */
function partsOf(body: unknown): JsonObject {
  const given = Object.entries(typeof body === "object" && body !== null ? body : {});
  const violations: string[] = [];
  const parts = given.flatMap(([name, value]: [string, unknown]): [string, string | boolean | null][] => {
    const problem = partProblem(name, value);
    if (problem !== undefined || typeof value !== "string") {
      violations.push(`${name.slice(0, 100)}: ${problem}`);
      return [];
    }
    if (name === "isPublic") return [[name, value === "true"]];
    return [[name, value === "" ? null : value]];
  });
  if (violations.length > 0) throw new AppError("VALIDATION_ERROR", { message: violations });
  return Object.fromEntries(parts);
}

/** What busboy puts in the place of bytes that it can't read. Nobody can tell it any more from one that was sent. */
const UNREADABLE = "\ufffd";

const UNKNOWN_PART = `unknown part; send file, and if you want ${TEXT_PARTS.join(", ")}`;

function partProblem(name: string, value: unknown): string | undefined {
  if (name === "file") return 'must be a file, with filename="…" in its head';
  if (!TEXT_PARTS.some((known) => known === name)) return UNKNOWN_PART;
  if (Array.isArray(value)) return "must be sent once";
  if (typeof value !== "string") return "must be text in UTF-8";
  if (value.includes(UNREADABLE)) return "must be text in UTF-8, without U+FFFD";
  if (name === "isPublic" && value !== "true" && value !== "false") return 'must be "true" or "false"';
  return undefined;
}

/** Multer's codes for something that is too large. */
const TOO_LARGE = ["LIMIT_FILE_SIZE", "LIMIT_FIELD_VALUE"];

function refusalFor(error: unknown, maxBytes: number): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof StoringFailed) return causeOf(error, maxBytes);
  if (!(error instanceof MulterError))
    return new AppError("BAD_REQUEST", {
      message:
        "The body is not valid multipart/form-data: its boundary or its end is missing, or the head of a part is malformed.",
      cause: error,
    });
  if (error.code === "LIMIT_FILE_SIZE")
    return new AppError("PAYLOAD_TOO_LARGE", `file: must have at most ${maxBytes} bytes`);
  if (TOO_LARGE.includes(error.code))
    return new AppError("PAYLOAD_TOO_LARGE", `${error.field}: must have at most ${LIMITS.fieldSize} bytes`);
  if (error.code === "LIMIT_FILE_COUNT")
    return new AppError("VALIDATION_ERROR", { message: ["file: must be sent once"] });
  const where = (error.field ?? "body").slice(0, 100);
  return new AppError("VALIDATION_ERROR", { message: [`${where}: ${problemOf(error)}`] });
}

function problemOf({ code, message }: MulterError): string {
  if (code.startsWith("LIMIT_UNEXPECTED")) return 'the one file goes into the part "file"';
  return code.startsWith("LIMIT_FIELD_NESTING") ? UNKNOWN_PART : message;
}

/** A stream that ended too early is the client's doing; a failure of the store is ours. */
function causeOf(error: StoringFailed, maxBytes: number): unknown {
  const { cause } = error;
  const isClients =
    cause instanceof MulterError || (cause instanceof Error && /^Unexpected end/.test(cause.message));
  return isClients ? refusalFor(cause, maxBytes) : cause;
}
