// Entries of the journal -> what one caller is told about them, by the current rules and the caller's filter.
import type { Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { idText } from "../catalog/record-ids.js";
import type { Stored } from "../catalog/stored.js";
import type { Numbered, Position } from "../mongo/journal-store.js";
import type { ReadView } from "../permission/read-view.js";
import type { Rights } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import type { AuthorizedNode } from "../query/ast.js";
import { authorizeRead, withParts } from "../query/authorize-read.js";
import { bindQuery } from "../query/bind-query.js";
import type { Parameters } from "../query/parameters.js";
import { useCountersIn } from "../query/plan/use-counters.js";
import { decideAs } from "../records/decide-as.js";
import { findTable } from "../records/find-table.js";
import { readEach, readSmall } from "../records/read/read-one.js";
import { Remembered } from "../records/read/remembered.js";
import { NoRoom } from "../records/read/room.js";
import type { Shown } from "../records/read/still-open.js";
import { withoutOthers } from "../records/read/without-others.js";
import type { RecordDeps } from "../records/record-deps.js";
import type { Versioned } from "../records/version.js";
import { CantDecrypt, isTookTooLong, RecordTooLarge } from "../store-refusals.js";
import { eventsOf, type JudgedEvent } from "./events-of.js";

/** Records that are told together. They are held until the slowest of their clients has read them. */
const MOST_BYTES = 1024 * 1024;

/** What is reported about one change. */
export interface Told {
  readonly event: JudgedEvent;
  readonly position: Position;
  /** As JSON, in parts: the text of a record is one for all changes that show it, and for all streams that are told of them. */
  readonly data: readonly string[];
}

/** What a caller wants to be told, after checking. */
export interface Wish {
  readonly table: Table;
  readonly node: AuthorizedNode;
  /** What is told, as it was asked for: `node` may count on numbers instead of going through a table. */
  readonly shown: Shown;
  readonly view: ReadView;
}

/** A wish, and the rights by which it was checked. */
export interface OpenWish {
  readonly wish: Wish;
  readonly rights: Rights;
}

const known = new Remembered<Wish>();

/**
 * Binds the parameters for the caller as they are now. Callers who wish for the same with the same rights have the same
 * wish.
 * @throws AppError 400, 401, 403, 404 as a list would
 */
export async function openWish(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  given: Parameters,
): Promise<OpenWish> {
  return decideAs(deps, principal, ({ rights, catalog }) => {
    const table = findTable(catalog, tableName);
    rights.require(catalog, table, "read");
    const view = rights.view(catalog);
    const parameters = withoutOthers(given, table, view);
    const wish = known.of(view, [table.name, parameters, deps.limits], () => {
      const shown = authorizeRead(bindQuery(parameters, table, view, deps.limits), view);
      const { root, rules } = shown;
      // The filter is applied to records as the journal has them, without the stored numbers of children.
      const node = withParts(useCountersIn(root, rules), { filter: root.filter });
      return { table, view, shown, node };
    });
    return { wish, rights };
  });
}

/**
 * What the caller is told about entries of the table, in their order. A change is told when the record matched before it,
 * after it, or both; with the record as it is now, or null when the caller can no longer read it. Where nobody knows that, it is
 * `reset`.
 * @throws NoRoom when there are several and they are too much, or take too long, together: ask for some entries of these
 */
export async function judge(deps: RecordDeps, wish: Wish, entries: readonly Numbered[]): Promise<Told[]> {
  try {
    return await judgeInTime(deps, wish, entries);
  } catch (err) {
    if (!isTookTooLong(err)) throw err;
    const [only, ...more] = entries;
    if (only === undefined || more.length > 0) throw new NoRoom();
    // Whoever came back to this change would wait for it in vain again.
    deps.logger.warn({ err, table: wish.table.name }, "a change can't be judged in time");
    return [{ event: "reset", position: only.position, data: ["{}"] }];
  }
}

async function judgeInTime(deps: RecordDeps, wish: Wish, entries: readonly Numbered[]): Promise<Told[]> {
  const events = await eventsOf(
    deps,
    wish,
    entries.map(({ entry }) => entry),
  );
  const told = entries.flatMap(({ entry, position }) => {
    const event = events.get(entry);
    return event === undefined ? [] : [{ event, entry, position }];
  });
  const shown = told.filter(({ event }) => isShown(event)).map(({ entry }) => entry.record);
  const records = await recordsOf(deps, wish, shown);
  const { toJson } = COLUMN_TYPES[wish.table.idColumn.type];
  return told.map(({ event, entry, position }) => {
    const { record: id, revision, at } = entry;
    const change = JSON.stringify({ event, id: toJson(id), revision, at: at.toISOString() });
    const record = records.get(idText(wish.table, id)) ?? "null";
    const data = isShown(event) ? [`${change.slice(0, -1)},"record":`, record, "}"] : [change];
    return { event, position, data };
  });
}

function isShown(event: JudgedEvent): boolean {
  return event === "created" || event === "updated" || event === "entered";
}

/** The records as the caller may read them now, as JSON, by the text of their ids. */
async function recordsOf(
  deps: RecordDeps,
  { table, node, view }: Wish,
  ids: readonly Stored[],
): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Map(ids.map((id) => [idText(table, id), id])).values()];
  if (distinct.length === 0) return new Map();
  const shape = { node, view };
  const read = (): Promise<readonly (Versioned | undefined)[]> =>
    distinct.length > 1 ? readSmall(deps, shape, distinct, MOST_BYTES) : readEach(deps, shape, distinct);
  const records = await read().catch((error: unknown) => {
    if (![RecordTooLarge, NoRoom, CantDecrypt].some((unreadable) => error instanceof unreadable)) throw error;
    if (distinct.length > 1) throw new NoRoom();
    if (error instanceof CantDecrypt)
      deps.logger.error({ err: error.cause, table: table.name }, error.message);
    // A record that can't be shown is reported as unreadable, so that those after it can still be told.
    return [undefined];
  });
  return new Map(
    distinct.flatMap((id, at) => {
      const record = records[at];
      return record === undefined ? [] : [[idText(table, id), JSON.stringify(record.json)] as const];
    }),
  );
}
