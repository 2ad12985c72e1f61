// Request line and framing headers -> a checked target, or the refusal. Pure; runs before anything else looks.
import type { ErrorCode } from "@portico/shared/error-codes";
import { KNOWN_METHODS, SERVED_METHODS } from "@portico/shared/methods";

/** What the parser saw, before anything was interpreted. Lists hold one entry per header line. */
export interface RequestLine {
  readonly method: string;
  readonly httpVersion: string;
  readonly target: string;
  readonly host: readonly string[];
  readonly transferEncoding: readonly string[];
  readonly upgrade: readonly string[];
}

export type RequestLineVerdict =
  | {
      readonly kind: "fine";
      /** Decoded; none is empty, `.` or `..`, none holds a slash, a backslash or a control character. */
      readonly segments: readonly string[];
      /** With its `?`, byte for byte; empty when there is none. */
      readonly query: string;
    }
  | {
      readonly kind: "refused";
      /**
       * A page may have asked for a bad target; bad framing comes from no browser. A single-page app may have a page at an
       * address that is none of the API's.
       */
      readonly about: "framing" | "target" | "page";
      readonly code: ErrorCode;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

type Refused = Extract<RequestLineVerdict, { kind: "refused" }>;

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const FORBIDDEN_IN_SEGMENT = /[/\\\x00-\x1f\x7f]/;

const BAD_PATH =
  "No part of the path may be empty, . or .., hold a slash, a backslash or a control character, or be badly encoded; " +
  'a record with such an id is found by filter={"id":"…"}.';

/** Judges a request by its line and framing alone (security table E: rows 3, 5, 8). */
export function judgeRequestLine(line: RequestLine): RequestLineVerdict {
  return judgeFraming(line) ?? judgeTarget(line.target);
}

function judgeFraming(line: RequestLine): Refused | undefined {
  // The data service knows which of them a path takes.
  if (!KNOWN_METHODS.includes(line.method)) {
    const headers = { Allow: SERVED_METHODS.join(", ") };
    const message = `${line.method} is not served.`;
    return { kind: "refused", about: "framing", code: "METHOD_NOT_ALLOWED", message, headers };
  }
  if (line.httpVersion !== "1.1") return badFraming("Only HTTP/1.1 is served.");
  if (line.host.length !== 1 || !HOST.test(line.host[0] ?? "")) {
    return badFraming("A request needs exactly one valid Host header.");
  }
  if (!isAbsentOrChunked(line.transferEncoding)) {
    return badFraming("Transfer-Encoding must be absent or exactly chunked.");
  }
  // A cleartext HTTP/2 offer may be ignored (RFC 9110, section 7.8), and some clients send it every time.
  if (line.upgrade.some((protocol) => protocol.toLowerCase() !== "h2c")) {
    return badFraming("Protocol upgrades are not served.");
  }
  return undefined;
}

function isAbsentOrChunked(values: readonly string[]): boolean {
  return values.length === 0 || (values.length === 1 && values[0]?.toLowerCase() === "chunked");
}

function judgeTarget(target: string): RequestLineVerdict {
  const question = target.indexOf("?");
  const path = question === -1 ? target : target.slice(0, question);
  const query = question === -1 ? "" : target.slice(question);
  if (!path.startsWith("/")) return badTarget("The request target must be a path.");
  if (!VISIBLE_ASCII.test(path) || target.includes("#")) {
    return badTarget("The path holds characters that must be percent-encoded.");
  }
  const segments = decodeSegments(path);
  if (segments === undefined) return { ...badTarget(BAD_PATH), about: mayBePage(path) ? "page" : "target" };
  return { kind: "fine", segments, query };
}

/** No app has a page at these, in any spelling. */
const NO_PAGES = new Set(["", ".", "..", "api", "assets", ".well-known"]);

/** Routers in the browser write a slash inside a name as `%2F`, and an empty name as nothing. */
function mayBePage(path: string): boolean {
  const [first = ""] = path.slice(1).split("/");
  const [name = ""] = (decode(first) ?? first).split(/[/\\]/);
  return !NO_PAGES.has(name);
}

/** A trailing slash is ignored (contract, section 1). Undefined when a segment can't be trusted. */
function decodeSegments(path: string): readonly string[] | undefined {
  const raw = path.slice(1).split("/");
  if (raw.at(-1) === "") raw.pop();
  const segments = raw.map(decode);
  return segments.every((segment) => segment !== undefined && isPlain(segment))
    ? segments.filter((segment) => segment !== undefined)
    : undefined;
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function isPlain(segment: string): boolean {
  return segment !== "" && segment !== "." && segment !== ".." && !FORBIDDEN_IN_SEGMENT.test(segment);
}

function badFraming(message: string): Refused {
  return { kind: "refused", about: "framing", code: "BAD_REQUEST", message };
}

function badTarget(message: string): Refused {
  return { kind: "refused", about: "target", code: "BAD_REQUEST", message };
}
