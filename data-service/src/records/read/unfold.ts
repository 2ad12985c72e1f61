// Makes the records of an answer out of documents that share their related records, a few at a time: what comes out may be
// far more than what was read, a large value takes its time, and others want to be answered meanwhile.
import type { Json } from "@portico/shared/json";
import type { AuthorizedNode } from "../../query/ast.js";
import type { StoredRecord } from "../../query/lower/document.js";
import { isTogether, readsTogether } from "../../query/lower/joined-or-together.js";
import { unfoldedSizes } from "../../query/unfolded.js";
import { Stint } from "../../stint.js";
import { RecordTooLarge } from "../../store-refusals.js";
import { Room } from "./room.js";

/** As much as the database holds in one document, where it joins the related records itself. */
const MOST_OF_RECORD = 16 * 1024 * 1024;
/** How many records are made at once, and about how many bytes of them; the next ones follow when these are sent. */
const AT_ONCE = 50;
const BYTES_AT_ONCE = 256 * 1024;

/**
 * The records of documents, some at a time.
 * @param ofAnswer the work that this is part of; without it, it begins with the first record that is made, whenever that is
 * @throws AppError 400 before the first of them when one comes out too large
 */
export async function* unfold(
  node: AuthorizedNode,
  documents: readonly StoredRecord[],
  shape: (document: StoredRecord) => Json,
  ofAnswer?: Stint,
): AsyncGenerator<readonly Json[]> {
  const stint = ofAnswer ?? new Stint();
  const sizes = sizesOf(node, documents);
  let some: Json[] = [];
  let bytes = 0;
  for (const [at, document] of documents.entries()) {
    some.push(shape(document));
    bytes += sizes[at] ?? 0;
    const isMuch = bytes >= BYTES_AT_ONCE || stint.isLong;
    if (some.length < AT_ONCE && !isMuch) continue;
    yield some;
    some = [];
    bytes = 0;
    if (isMuch) await stint.end();
  }
  if (some.length > 0) yield some;
}

/** For an answer that is made as a whole. @throws AppError 400 when it comes out too large, or a record of it does */
export function requireRoom(node: AuthorizedNode, documents: readonly StoredRecord[]): void {
  const room = new Room(documents.length);
  for (const size of sizesOf(node, documents)) room.take(size);
}

/** None where each document holds all that is shown of it. @throws AppError 400 */
function sizesOf(node: AuthorizedNode, documents: readonly StoredRecord[]): readonly number[] {
  if (!readsTogether(node) || !node.children.some(isTogether)) return [];
  const sizes = unfoldedSizes(node, documents);
  if (sizes.some((each) => each > MOST_OF_RECORD)) throw new RecordTooLarge();
  return sizes;
}
