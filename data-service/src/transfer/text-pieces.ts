// The bytes of an imported file -> text that ends at line breaks: UTF-8 checked, byte order mark removed, lines of limited
// length. A line break is one byte that is part of no other character, so pieces between line breaks can be read on their
// own.
import { isUtf8 } from "node:buffer";

/** The file can't be read beyond this point. */
export class UnreadableFile extends Error {
  readonly isTooLong: boolean;
  constructor(message: string, isTooLong = false) {
    super(message);
    this.isTooLong = isTooLong;
  }
}

/** For a line, or a record, that is larger than allowed. */
export function tooLong(maxBytes: number): UnreadableFile {
  return new UnreadableFile(`is longer than ${maxBytes} bytes`, true);
}

const BYTE_ORDER_MARK = "\uFEFF";
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * @param maxLineBytes memory for a line that does not end
 * @throws UnreadableFile after the last good line
 */
export async function* textPieces(
  source: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  let isFirst = true;
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const end = lastBreak(bytes) + 1;
    rest = bytes.subarray(end);
    if (end > 0) yield* goodText(bytes.subarray(0, end), isFirst);
    isFirst &&= end === 0;
    if (rest.length > maxLineBytes) throw tooLong(maxLineBytes);
  }
  if (rest.length > 0) yield* goodText(rest, isFirst);
}

function lastBreak(bytes: Buffer): number {
  return Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN));
}

/** The text, or the part of it before the first line with an invalid byte, and then the refusal. */
function* goodText(bytes: Buffer, isFirst: boolean): Generator<string> {
  const text = (good: Buffer): string => {
    const decoded = good.toString("utf8");
    return isFirst && decoded.startsWith(BYTE_ORDER_MARK) ? decoded.slice(1) : decoded;
  };
  if (isUtf8(bytes)) return yield text(bytes);
  yield text(bytes.subarray(0, startOfBadLine(bytes)));
  throw new UnreadableFile("is not UTF-8");
}

function startOfBadLine(bytes: Buffer): number {
  let start = 0;
  for (let end = nextLine(bytes, start); isUtf8(bytes.subarray(start, end)); end = nextLine(bytes, start))
    start = end;
  return start;
}

/** Where the line after the one at `start` begins. */
function nextLine(bytes: Buffer, start: number): number {
  const found = [LINE_FEED, CARRIAGE_RETURN]
    .map((each) => bytes.indexOf(each, start))
    .filter((at) => at >= 0);
  return found.length === 0 ? bytes.length : Math.min(...found) + 1;
}
