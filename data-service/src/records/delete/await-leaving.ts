// Waits until it is decided what becomes of records that a delete wants: when it has let them go, they may be linked to or
// changed.
import { type AppError, unavailable } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import { DELETED_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import type { Document, Stage, StoredRecord } from "../../query/lower/document.js";
import { until } from "../../until.js";
import type { RecordDeps } from "../record-deps.js";
import { LEAVING_FIELD } from "./leaving.js";

/** How long a change of such a record, or a link to it, waits for what becomes of it. */
const PATIENTLY = { patienceMs: 5_000, everyMs: 20, atMostMs: 200 };

/** How it is asked whether records may be linked to. */
interface Linking {
  /** Whether such a link waits for deletes that want the records (see isWaiting). */
  readonly waits: boolean;
  /** Only records that pass these stages count. */
  readonly visible?: readonly Stage[];
}

/**
 * Those of the records that may be linked to, as JSON text.
 * @throws AppError 503 when waiting takes long
 */
export async function linkable(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  ids: readonly Stored[],
  { waits, visible = [] }: Linking,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  if (!waits) return store.existing(table, ids, visible);
  const chosen: Document = { $match: { _id: { $in: [...ids] } } };
  const look = async (): Promise<ReadonlySet<string> | false> => {
    const found =
      visible.length === 0
        ? await store.byIds(table, ids, ASKED)
        : await store.read(table, [chosen, ...visible, { $project: ASKED }]);
    if (found.some(isWanted)) return false;
    return new Set(found.map(({ _id }) => idText(table, _id)));
  };
  const tooLate = () => {
    throw stillLeaving();
  };
  return until(look, { ...PATIENTLY, tooLate });
}

/** What tells whether a delete wants a record. */
const ASKED = { _id: 1, [LEAVING_FIELD]: 1, [DELETED_FIELD]: 1 };

/** What is deleted and kept is decided, though the mark comes off later. */
export function isWanted(record: StoredRecord): boolean {
  return record[LEAVING_FIELD] !== undefined && (record[DELETED_FIELD] ?? null) === null;
}

/** Waits until no delete wants the record any more, if it is still there. @returns false when that takes long */
export function isDecided({ store }: Pick<RecordDeps, "store">, table: Table, id: Stored): Promise<boolean> {
  const look = async (): Promise<boolean> => !(await store.byIds(table, [id], ASKED)).some(isWanted);
  return until(look, { ...PATIENTLY, tooLate: () => false });
}

/** Resolves when no delete wants the record any more, if it is still there. @throws AppError 503 when that takes long */
export async function decided(deps: Pick<RecordDeps, "store">, table: Table, id: Stored): Promise<void> {
  await linkable(deps, table, [id], { waits: true });
}

/** The refusal of what can't wait for a delete any longer. It may be a record of a table that the caller must not know. */
export function stillLeaving(): AppError {
  return unavailable(
    "A record that this request changes or links to is being deleted; try again shortly.",
    2,
  );
}
