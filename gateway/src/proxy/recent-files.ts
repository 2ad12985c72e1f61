// Keeps small files that were sent lately, so that their bytes need not come from the data service each time.
//
// Nothing is answered from here alone: each request goes to the data service with the tag of what is kept. Its 304
// says that this caller may have the file, and that it is still the same; then the kept bytes are sent
// (RFC 9111, section 4.3).
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { ENTRY_BYTES } from "@portico/shared/entry-bytes";
import { LRUCache } from "lru-cache";
import type { ApiCall } from "./api-route.js";
import type { AnswerHead } from "./decide-answer.js";

/** Larger ones are never held as a whole, neither here nor in the data service. */
const LARGEST_BYTES = 256 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;
/** Room for an id and all parameters of a picture. A longer address has made-up parameters. */
const LONGEST_ADDRESS = 300;
/** What unfinished answers may hold together, while clients read slowly. */
const MOST_UNENDED_BYTES = 8 * 1024 * 1024;

const FILE = /^\/assets\/[^/]+$/;

/** A client that sends one of these sets conditions of its own, which the data service judges. */
const CONDITIONS = [
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "range",
];

/** A file that was sent once. */
export interface RecentFile {
  readonly etag: string;
  /** The headers that a 304 leaves out; it brings all others itself. */
  readonly headers: { readonly "content-type": string; readonly "content-length": string };
  readonly body: Buffer;
}

/** A request for a file: what is known of it, and where its answer goes. */
export interface FileRequest {
  readonly known: RecentFile | undefined;
  /** Keeps the answer, if it qualifies, as soon as all of it has been sent. */
  keep(answer: FileAnswer): void;
}

/** An answer of the data service whose body is to come. */
export type FileAnswer = AnswerHead & Readable;

/**
 * @param mostBytes what all of them may take together
 * @returns finds a request's file; undefined for anything that is no request for a whole file
 */
export function keepRecentFiles(mostBytes = MOST_BYTES) {
  const recent = new LRUCache<string, RecentFile>({
    maxSize: mostBytes,
    sizeCalculation: ({ body }, address) => ENTRY_BYTES + address.length + body.length,
  });
  let unended = 0;
  return (
    { method, path }: ApiCall,
    query: string,
    headers: IncomingHttpHeaders,
  ): FileRequest | undefined => {
    if (method !== "GET" || !FILE.test(path)) return undefined;
    if (CONDITIONS.some((name) => headers[name] !== undefined)) return undefined;
    const address = path + query;
    if (address.length > LONGEST_ADDRESS) return undefined;
    return {
      known: recent.get(address),
      keep(answer) {
        const head = keptHead(answer);
        if (head === undefined) return;
        const bytes = Number(head.headers["content-length"]);
        if (unended + bytes > MOST_UNENDED_BYTES) return;
        unended += bytes;
        answer.once("close", () => (unended -= bytes));
        collect(answer, bytes, (body) => recent.set(address, { ...head, body }));
      },
    };
  };
}

export type FindFile = ReturnType<typeof keepRecentFiles>;

/** Copies, because a piece may be part of a larger buffer, or of Node's pool, which would then stay in memory. */
function collect(answer: Readable, bytes: number, keep: (body: Buffer) => void): void {
  const body = Buffer.allocUnsafeSlow(bytes);
  let filled = 0;
  answer.on("data", (piece: Buffer) => (filled += piece.copy(body, filled)));
  // Node lets no answer end that is shorter or longer than its Content-Length says.
  answer.once("end", () => keep(body));
}

function keptHead({ statusCode, headers }: AnswerHead): Omit<RecentFile, "body"> | undefined {
  const { etag, "content-type": type, "content-length": length, "content-encoding": encoding } = headers;
  if (statusCode !== 200 || etag === undefined || type === undefined || encoding !== undefined)
    return undefined;
  const bytes = Number(length);
  if (!etag.startsWith('"') || !(bytes > 0 && bytes <= LARGEST_BYTES)) return undefined;
  return { etag, headers: { "content-type": type, "content-length": String(bytes) } };
}
