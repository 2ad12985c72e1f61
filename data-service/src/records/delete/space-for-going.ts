// How much of the disk it takes to delete records, to bring them back, or to move their links: known, and kept free, before the
// first is written.
import { type Catalog, incomingLinks, isJournaled, type Table } from "../../catalog/catalog.js";
import type { Document, StoredRecord } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import { WRITTEN_TIMES } from "../../space-check.js";
import type { RecordDeps } from "../record-deps.js";
import { type DeleteStep, isKept, type Reach } from "./delete-effects.js";
import { isHeld } from "./leaving.js";

/** Reads of records their ids and sizes. */
export const SIZED: Document = { _id: 1, size: { $bsonSize: "$$ROOT" } };

/** What records have in all that were read so. */
export function sizeOf(records: readonly StoredRecord[]): number {
  return records.reduce((sum, { size }) => sum + Number(size), 0);
}

/** What becomes of the bytes of a record that only its table has. */
type Fate = keyof typeof TIMES;

/** How often they are written until the next checkpoint, at most. Measured: 2.1 times where they are kept, and not if removed. */
const TIMES = { changed: 3, marked: 2, removed: 0 } as const;

/**
 * What a record takes beside its own bytes: its notes, its marks and its places in indexes; and with a history, or changes, what
 * is told of it there. Measured: 500 and 3,700 bytes.
 */
const BESIDE_BYTES = 1_024;
const BESIDE_JOURNALED_BYTES = 5 * 1_024;

/** Records of a table that are written. */
interface Writing {
  readonly table: Table;
  readonly records: number;
  /** What they have in all. */
  readonly bytes: number;
  readonly fate: Fate;
}

function bytesWritten(all: readonly Writing[]): number {
  const written = ({ table, records, bytes, fate }: Writing): number =>
    isJournaled(table)
      ? bytes * WRITTEN_TIMES + records * BESIDE_JOURNALED_BYTES
      : bytes * TIMES[fate] + records * BESIDE_BYTES;
  return all.reduce((sum, each) => sum + written(each), 0);
}

/** Where records go, and with which reach. */
interface Going {
  readonly catalog: Catalog;
  readonly reach: Reach;
  readonly steps: readonly DeleteStep[];
}

type Deps = Pick<RecordDeps, "store" | "bulkSpace">;

/** Deletes them. @throws AppError 503 before that, where the disk has no space for what it writes */
export async function spaceForGoing<Result>(
  { store, bulkSpace }: Deps,
  { catalog, reach, steps }: Going,
  work: () => Promise<Result>,
): Promise<Result> {
  if (bulkSpace === undefined) return work();
  const fateOf = (table: Table): Fate => {
    if (isKept(table, reach)) return "changed";
    return isHeld(catalog, table) ? "marked" : "removed";
  };
  const lettingGo = (await bulkSpace.isTight()) ? await unlinked(store, { catalog, reach, steps }) : [];
  // One that goes alone is within what is always left.
  if (steps.length === 1 && lettingGo.length === 0) return work();
  const going = steps.map((step) => writingOf(step, fateOf(step.table)));
  return bulkSpace.during(bytesWritten([...going, ...lettingGo]), "deleting", work);
}

/** Brings them back, in the same way. @param steps beside the record itself */
export async function spaceForComing<Result>(
  { bulkSpace }: Deps,
  steps: readonly DeleteStep[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (bulkSpace === undefined || steps.length === 0) return work();
  const coming = steps.map((step) => writingOf(step, "changed"));
  return bulkSpace.during(bytesWritten(coming), "writing", work);
}

/** Records of a table, some of them. */
interface Chosen {
  readonly table: Table;
  readonly which: Document;
}

/** Changes their links, in the same way. @param chosen tells those that are changed */
export async function spaceForMoving<Result>(
  { store, bulkSpace }: Deps,
  chosen: () => Promise<readonly Chosen[]>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (bulkSpace === undefined || !(await bulkSpace.isTight())) return work();
  const moving: Writing[] = [];
  for (const { table, which } of await chosen()) moving.push(await measured(store, table, which));
  return bulkSpace.during(bytesWritten(moving), "writing", work);
}

function writingOf({ table, ids, bytes = 0 }: DeleteStep, fate: Fate): Writing {
  return { table, records: ids.length, bytes, fate };
}

/** The records whose links to these end: nothing else looks for them beforehand. */
async function unlinked(
  store: Pick<RecordDeps["store"], "read">,
  { catalog, reach, steps }: Going,
): Promise<Writing[]> {
  const all: Writing[] = [];
  for (const { table, ids } of steps.filter((step) => !isKept(step.table, reach))) {
    for (const { owner, relation } of incomingLinks(catalog, table)) {
      if (!relation.link.list && relation.onDelete !== "SET NULL") continue;
      const written = await measured(store, owner, linksTo(relation.link, ids));
      if (written.records > 0) all.push(written);
    }
  }
  return all;
}

/** Records that are changed. */
async function measured(
  store: Pick<RecordDeps["store"], "read">,
  table: Table,
  which: Document,
): Promise<Writing> {
  const [found] = await store.read(table, [{ $match: which }, { $group: SUMMED }]);
  return { table, records: Number(found?.records ?? 0), bytes: Number(found?.bytes ?? 0), fate: "changed" };
}

const SUMMED: Document = { _id: null, records: { $sum: 1 }, bytes: { $sum: { $bsonSize: "$$ROOT" } } };
