// How much of the disk it takes to delete records, to bring them back, or to move their links: known, and kept free, before the
// first is written.
import { type Catalog, incomingLinks, isJournaled, type Table } from "../../catalog/catalog.js";
import type { Document } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import { type BulkSpace, type SpaceUse, WRITTEN_TIMES } from "../../space-check.js";
import type { RecordDeps } from "../record-deps.js";
import { type DeleteStep, isKept, losesLink, type Reach } from "./delete-effects.js";
import { isHeld } from "./leaving.js";

/** So many of any size are not worth measuring, unless space is tight. */
const FEW = 20;

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

type Reads = Pick<RecordDeps["store"], "read">;
type Deps = Pick<RecordDeps, "bulkSpace"> & { readonly store: Reads };

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
  const isTight = await bulkSpace.isTight();
  const lettingGo = isTight ? await unlinked(store, { catalog, reach, steps }) : [];
  const along = steps.slice(1);
  if (!isTight && areFew(along)) return work();
  const going: Writing[] = [];
  for (const step of along) going.push(await measuredStep(store, step, fateOf(step.table)));
  return inSpace(bulkSpace, [...going, ...lettingGo], "deleting", work);
}

/** Brings them back, in the same way. @param steps beside the record itself */
export async function spaceForComing<Result>(
  { store, bulkSpace }: Deps,
  steps: readonly DeleteStep[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (bulkSpace === undefined || (areFew(steps) && !(await bulkSpace.isTight()))) return work();
  const coming: Writing[] = [];
  for (const step of steps) coming.push(await measuredStep(store, step, "changed"));
  return inSpace(bulkSpace, coming, "writing", work);
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
  return inSpace(bulkSpace, moving, "writing", work);
}

/** What writes nothing more is within what is always left. */
function inSpace<Result>(
  space: BulkSpace,
  all: readonly Writing[],
  use: SpaceUse,
  work: () => Promise<Result>,
): Promise<Result> {
  const bytes = bytesWritten(all);
  return bytes === 0 ? work() : space.during(bytes, use, work);
}

function areFew(steps: readonly DeleteStep[]): boolean {
  return steps.reduce((sum, { ids }) => sum + ids.length, 0) <= FEW;
}

async function measuredStep(store: Reads, { table, ids }: DeleteStep, fate: Fate): Promise<Writing> {
  return { ...(await measured(store, table, { _id: { $in: [...ids] } })), fate };
}

/** The records whose links to these end: nothing else looks for them beforehand. */
async function unlinked(store: Reads, { catalog, reach, steps }: Going): Promise<Writing[]> {
  const all: Writing[] = [];
  for (const { table, ids } of steps.filter((step) => !isKept(step.table, reach))) {
    for (const { owner, relation } of incomingLinks(catalog, table)) {
      if (!losesLink(owner, relation, reach)) continue;
      const written = await measured(store, owner, linksTo(relation.link, ids));
      if (written.records > 0) all.push(written);
    }
  }
  return all;
}

/** Records that are changed. */
async function measured(store: Reads, table: Table, which: Document): Promise<Writing> {
  const [found] = await store.read(table, [{ $match: which }, { $group: SUMMED }]);
  return { table, records: Number(found?.records ?? 0), bytes: Number(found?.bytes ?? 0), fate: "changed" };
}

const SUMMED: Document = { _id: null, records: { $sum: 1 }, bytes: { $sum: { $bsonSize: "$$ROOT" } } };
