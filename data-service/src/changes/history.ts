// GET /{table}/{id}/history: who changed what in one record and when, as far as the caller may read it now.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import { bsonTypeOf, plainJson } from "../catalog/bson-json.js";
import type { Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type ColumnType } from "../catalog/column-types.js";
import { DELETED_FIELD } from "../catalog/soft-delete.js";
import type { Stored } from "../catalog/stored.js";
import { isCut } from "../journal/entry.js";
import type { HistoryEntry } from "../journal/history-entry.js";
import type { LastingCaller } from "../lasting-caller.js";
import type { JournalStore } from "../mongo/journal-store.js";
import type { ReadView } from "../permission/read-view.js";
import { asStored } from "../query/as-read.js";
import { rowRules } from "../query/authorize-read.js";
import { LIMITS } from "../query/limits.js";
import type { Parameters } from "../query/parameters.js";
import { parseMeta, parsePaging } from "../query/syntax/paging.js";
import { decideAs } from "../records/decide-as.js";
import { findTable, parseId, recordNotFound, withoutOption } from "../records/find-table.js";
import { readEach, recordShape } from "../records/read/read-one.js";
import { whileAllowed } from "../records/read/while-allowed.js";
import type { RecordDeps } from "../records/record-deps.js";
import type { Sealer } from "../records/write/seal.js";

export interface HistoryDeps extends RecordDeps {
  readonly journalStore: Pick<JournalStore, "latestOf" | "livesOf" | "historyOf" | "countHistoryOf">;
}

/** A history never shows encrypted values, and so is there also where their key is lost. */
const unopened: Sealer["unseal"] = () => null;

export interface HistoryAnswer {
  /** As they arrive from the database. */
  readonly entries: AsyncIterable<readonly Json[]>;
  /** Present when asked for. */
  readonly meta: JsonObject | undefined;
}

/**
 * Lists what has happened to a record, newest first, as long as the caller may read what that began with. Only root admins see
 * the history of a record that is deleted or no longer exists, also where another one has its id now.
 * @throws AppError 400, 401, 403, 404 as reading the record would, 404 for a table without `history`
 */
export async function history(
  deps: HistoryDeps,
  caller: LastingCaller,
  tableName: string,
  idText: string,
  parameters: Parameters,
): Promise<HistoryAnswer> {
  const asked = await decideAs(deps, caller.principal, ({ rights, catalog }) => {
    const found = findTable(catalog, tableName);
    rights.require(catalog, found, "read");
    const view = rights.view(catalog);
    // A deleted record that is kept is there for root, whether or not anything is told of it.
    const rows = rights.isRoot ? view.rows(found, "all") : undefined;
    return {
      rights,
      table: found,
      id: parseId(found, idText),
      meta: parseMeta(parameters.meta),
      paging: parsePaging(parameters, (name) => name, LIMITS.historyEntries),
      shape: recordShape(deps, view, found, { filterFromText: false }, rows),
    };
  });
  const { rights, table, id, shape, paging, meta } = asked;
  if (table.history !== true) {
    const remedy = withoutOption(table, "history");
    throw new AppError("NOT_FOUND", `No history of "${table.name}" is kept; ${remedy}.`);
  }
  const reader = { ...deps, sealer: { ...deps.sealer, unseal: unopened } };
  // Before the record is read: what is written after that may be what hides it, and is not told.
  const latest = await deps.journalStore.latestOf(table.id, id);
  const [record] = await readEach(reader, shape, [id]);
  if (record === undefined && !rights.isRoot) throw recordNotFound(table);
  // After it: another record may have its id by then.
  const lives = await deps.journalStore.livesOf(table.id, id, rights.isRoot ? "all" : "present", latest);
  const count = () => deps.journalStore.countHistoryOf(lives);
  const total = meta.length > 0 || record === undefined ? await count() : 0;
  if (record === undefined && total === 0) throw recordNotFound(table);
  const members = membersShown(table, shape.view, rights.isRoot ? undefined : record?.json);
  const began = {
    rights,
    actions: ["read"],
    shown: { root: shape.node, rules: rowRules(shape.view), beside: targetsOfLists(table, shape.view) },
  } as const;
  const entries = whileAllowed(deps, caller, began, deps.journalStore.historyOf(lives, paging));
  return {
    entries: shown(entries, members),
    meta: meta.length === 0 ? undefined : Object.fromEntries(meta.map((key) => [key, total])),
  };
}

/** Lists of links are in a history, but not in the record as it was read for that. */
function targetsOfLists(table: Table, view: ReadView): Table[] {
  const lists = [...table.relations.values()].filter(({ link }) => link.on === "self" && link.list);
  return lists.flatMap(({ name }) => view.relation(table, name, "show")?.target ?? []);
}

async function* shown(
  entries: AsyncIterable<HistoryEntry>,
  members: readonly Member[],
): AsyncGenerator<readonly Json[]> {
  for await (const entry of entries) yield [toJson(entry, members)];
}

/** A column or relation of the answer, and how its stored value reads. */
interface Member {
  readonly name: string;
  readonly field: string;
  readonly toJson: (stored: Stored) => Json;
  /** What is shown where a record stores nothing. */
  readonly none: Json;
}

/**
 * What the caller may see of the record now. Links are shown only where the caller may see everything they lead to.
 * @param record as the caller reads it; undefined for root admins, from whom no row hides anything
 */
function membersShown(table: Table, view: ReadView, record: Json | undefined): Member[] {
  const isRoot = record === undefined;
  const inRow = (name: string): boolean => isRoot || (isObject(record) && name in record);
  const columns = view
    .visibleColumns(table)
    .filter(({ name, encrypted, secret, generated }) => !encrypted && !secret && !generated && inRow(name))
    .map(({ name, field, type }) => ({ name, field, toJson: spelling(type), none: null }));
  const relations = [...table.relations.values()].flatMap((relation) => {
    const { name, link } = relation;
    const found = view.relation(table, name, "show");
    if (found === undefined || link.on !== "self") return [];
    const isMasked = link.list ? view.masks(table, [relation]).length > 0 : !inRow(name);
    if (!isRoot && (isMasked || view.rows(found.target, "all").kind !== "always")) return [];
    const idToJson = COLUMN_TYPES[found.target.idColumn.type].toJson;
    const read = (stored: Stored): Json => (Array.isArray(stored) ? stored.map(idToJson) : idToJson(stored));
    return [{ name, field: link.field, toJson: read, none: link.list ? [] : null }];
  });
  return [...columns, ...relations];
}

/**
 * How a column spells values; those that it only has from the time of another type, by their own: as a number a decimal would be
 * another one.
 */
function spelling(type: ColumnType): (stored: Stored) => Json {
  const { toJson } = COLUMN_TYPES[type];
  const isOfAnother = OF_ANOTHER_TYPE[type];
  if (isOfAnother === undefined) return toJson;
  return (stored) => (isOfAnother(stored) ? plainJson(stored) : toJson(stored));
}

const isLongerNumber = (stored: Stored): boolean => ["Decimal128", "Long"].includes(bsonTypeOf(stored) ?? "");

/** The types that spell more than they hold, and what they don't hold. */
const OF_ANOTHER_TYPE: Readonly<Partial<Record<ColumnType, (stored: Stored) => boolean>>> = {
  int: isLongerNumber,
  float: isLongerNumber,
};

/** Where deleted records are kept, or were at the time, deleting and restoring are changes of the record. */
function eventOf({ kind, before, after }: HistoryEntry): string {
  if (kind !== "updated") return kind;
  const [was, is] = [before, after].map((image) => image?.[DELETED_FIELD] !== undefined);
  if (was === is) return kind;
  return is === true ? "deleted" : "restored";
}

/** One side of a change; nothing where the value was too large to be kept, which is not the same as null. */
function side(name: "from" | "to", image: HistoryEntry["before"], member: Member): JsonObject {
  if (image === undefined) return { [name]: null };
  const stored = image[member.field];
  if (isCut(stored)) return {};
  const isNone = stored === undefined || stored === null;
  return { [name]: isNone ? member.none : member.toJson(asStored(stored)) };
}

function toJson(entry: HistoryEntry, members: readonly Member[]): Json {
  const { id, revision, by, at, before, after } = entry;
  const touched = members.filter(
    ({ field }) => before?.[field] !== undefined || after?.[field] !== undefined,
  );
  const changes = touched.map((member): [string, Json] => [
    member.name,
    { ...side("from", before, member), ...side("to", after, member) },
  ]);
  return {
    id: id.toHexString(),
    event: eventOf(entry),
    revision,
    at: at.toISOString(),
    by,
    changes: Object.fromEntries(changes),
  };
}
