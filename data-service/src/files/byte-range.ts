// `If-Match`, `Range` and `If-Range` of a request -> which bytes to send, if any (RFC 9110, sections 13 and 14). Pure.
import parseRange from "range-parser";
import { tagsIn } from "../http/entity-tags.js";

/** Both ends are sent. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type RangeVerdict = ByteRange | "whole" | "unsatisfiable";

export interface Validators {
  /** Including its quotes. */
  readonly etag: string;
  readonly lastModified: Date;
}

export interface MatchHeaders {
  readonly "if-match"?: string | undefined;
  readonly "if-unmodified-since"?: string | undefined;
}

export interface RangeHeaders {
  readonly range?: string | undefined;
  readonly "if-range"?: string | string[] | undefined;
}

/**
 * Checked before all other conditions (RFC 9110, section 13.2.2); weak tags match nothing, and If-Unmodified-Since counts only
 * without If-Match.
 * @returns the header that asks for other content than there is now
 */
export function failedCondition(
  headers: MatchHeaders,
  { etag, lastModified }: Validators,
): "If-Match" | "If-Unmodified-Since" | undefined {
  const { "if-match": tags, "if-unmodified-since": since } = headers;
  if (tags !== undefined) {
    const isMatch = tags.trim() === "*" || tagsIn(tags).includes(etag);
    return isMatch ? undefined : "If-Match";
  }
  const time = httpDate(since ?? "");
  return !Number.isNaN(time) && wholeSeconds(lastModified) > time ? "If-Unmodified-Since" : undefined;
}

/**
 * Of `If-Range` only a tag holds: a second, as precise as a date is, may have seen two contents (RFC 9110, section 13.1.5).
 * A request for several ranges, or for one that can't be read, is answered with the whole; a server may do so.
 */
export function chooseRange(
  headers: RangeHeaders,
  size: number,
  { etag }: Pick<Validators, "etag">,
): RangeVerdict {
  const { range, "if-range": condition } = headers;
  if (range === undefined || isBackward(range) || (condition !== undefined && condition !== etag))
    return "whole";
  // A suffix longer than the content means all of it (RFC 9110, section 14.1.2); range-parser refuses it.
  const suffix = /^bytes=-(\d+)$/.exec(range)?.[1];
  if (suffix !== undefined && size > 0 && Number(suffix) > size) return { start: 0, end: size - 1 };
  const ranges = parseRange(size, range, { combine: true });
  if (ranges === -1) return "unsatisfiable";
  if (ranges === -2 || ranges.type !== "bytes" || ranges.length !== 1) return "whole";
  const [first] = ranges;
  return first === undefined ? "whole" : { start: first.start, end: first.end };
}

/** A range that ends before it begins makes all of them invalid (RFC 9110, section 14.1.1); range-parser calls it unsatisfiable. */
function isBackward(range: string): boolean {
  // From the first digit of a number alone: begun at each of its digits, a long one would be read as often as it has digits.
  return [...range.matchAll(/(?<!\d)(\d+)-(\d+)/g)].some(([, first, last]) => Number(last) < Number(first));
}

/**
 * One of the three forms of a date (RFC 9110, section 5.6.7), which all begin with the day of the week; the third says nothing of
 * its zone. @returns NaN for anything else, which conditions are to ignore
 */
function httpDate(text: string): number {
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return Number.NaN;
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}

/** Without the fractions of a second that HTTP can't express. */
function wholeSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1_000) * 1_000;
}
