// Small files that passed by lately, so that their bytes need not come from the data service each time.
//
// Nothing is answered from here alone: each request goes to the data service with the tag of what is kept. Its 304
// says that this caller may have the file, and that it is still the same; then the kept bytes are sent
// (RFC 9111, section 4.3).
import type { IncomingHttpHeaders } from "node:http";
import { LRUCache } from "lru-cache";
import type { ApiCall } from "./api-route.js";
import type { AnswerHead } from "./decide-answer.js";

/** Larger ones are never held as a whole, neither here nor in the data service. */
const LARGEST_BYTES = 256 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;

const FILE = /^\/assets\/[^/]+$/;

/** What a client asks with these is judged by the data service, on the client's own terms. */
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
  /** What a 304 leaves out: it says all else anew. */
  readonly headers: { readonly "content-type": string; readonly "content-length": string };
  readonly body: Buffer;
}

/** A request for a file: what is known of it, and where its answer goes. */
export interface FileRequest {
  readonly known: RecentFile | undefined;
  /** @returns undefined where this answer is not kept, else what takes its body */
  keeper(answer: AnswerHead): ((body: Buffer) => void) | undefined;
}

/**
 * @param mostBytes what all of them may have together
 * @returns asks for a request's file; undefined for whatever is no request for a whole file
 */
export function keepRecentFiles(mostBytes = MOST_BYTES) {
  const recent = new LRUCache<string, RecentFile>({
    maxSize: mostBytes,
    sizeCalculation: ({ body }) => body.length,
  });
  return (
    { method, path }: ApiCall,
    query: string,
    headers: IncomingHttpHeaders,
  ): FileRequest | undefined => {
    if (method !== "GET" || !FILE.test(path)) return undefined;
    if (CONDITIONS.some((name) => headers[name] !== undefined)) return undefined;
    const address = path + query;
    return {
      known: recent.get(address),
      keeper(answer) {
        const head = keptHead(answer);
        return head && ((body) => void recent.set(address, { ...head, body }));
      },
    };
  };
}

export type FindFile = ReturnType<typeof keepRecentFiles>;

function keptHead({ statusCode, headers }: AnswerHead): Omit<RecentFile, "body"> | undefined {
  const { etag, "content-type": type, "content-length": length, "content-encoding": encoding } = headers;
  if (statusCode !== 200 || etag === undefined || type === undefined || encoding !== undefined)
    return undefined;
  const bytes = Number(length);
  if (!etag.startsWith('"') || !(bytes > 0 && bytes <= LARGEST_BYTES)) return undefined;
  return { etag, headers: { "content-type": type, "content-length": String(bytes) } };
}
