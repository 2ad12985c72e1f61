// A client's table definition -> a complete one, or every problem that it has (422).
import { isArray, type JsonObject } from "@portico/shared/json";
import { ID_TYPES, type IdType } from "./catalog.js";
import { checkColumn } from "./check-column.js";
import { checkKeys } from "./check-keys.js";
import { checkIds, checkMemberNames, OWN_ID } from "./check-member.js";
import { PatternCheck } from "./check-pattern.js";
import { checkRelation } from "./check-relation.js";
import { checkStorage, storageOf } from "./check-storage.js";
import { SHARD_KEYS, type ShardKey, type TableDefinition } from "./definition.js";
import type { DefinitionContext } from "./definition-context.js";
import { DefinitionReader } from "./definition-reader.js";
import { MAX_INDEXES } from "./indexes.js";
import { tableNameProblem } from "./names.js";

export type CheckedDefinition =
  | { readonly ok: true; readonly definition: TableDefinition }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks the whole definition of a new table, or of one that is changed. */
export function checkDefinition(body: JsonObject, context: DefinitionContext): CheckedDefinition {
  const reader = new DefinitionReader(body);
  reader.knows(context.ownIds ? ["id", "storage", ...TABLE_KEYS] : TABLE_KEYS);
  // Each member and key is checked against all the others: of too many none is looked at.
  if (isTooMuch(reader, context)) return { ok: false, problems: reader.problems };
  const patterns = new PatternCheck(context.existing);
  const name = checkTableName(reader, context);
  const columns = reader
    .list("columns")
    .map((_each, at) => checkColumn(reader.at("columns", at), context, patterns));
  const relations = reader
    .list("relations")
    .map((_each, at) => checkRelation(reader.at("relations", at), name, context));
  const members = { columns, relations };
  checkMemberNames(reader, members, name, context);
  checkIds(reader, members);
  const storage = checkStorage(reader, members, context);
  const definition: TableDefinition = {
    id: tableId(reader, context),
    name,
    description: reader.text("description") ?? null,
    singleton: reader.flag("singleton"),
    changes: reader.flag("changes"),
    history: reader.flag("history"),
    softDelete: reader.flag("softDelete"),
    shardKey: checkedShardKey(reader),
    idType: reader.choice<IdType>("idType", ID_TYPES, "objectId") ?? "objectId",
    columns,
    relations,
    uniques: checkKeys(reader, "uniques", members, context.existing),
    indexes: checkKeys(reader, "indexes", members, context.existing),
    storage: storageOf(name, members, context.existing, storage),
  };
  checkSoftDelete(reader, definition);
  checkSharding(reader, definition, context.existing);
  const { problems } = reader;
  return problems.length > 0 ? { ok: false, problems } : { ok: true, definition };
}

/** The keys that a client may set for a table. */
export const TABLE_KEYS: readonly string[] = [
  ...["name", "description", "singleton", "changes", "history", "softDelete", "shardKey", "idType"],
  ...["columns", "relations", "uniques", "indexes"],
];

const MAX_MEMBERS = 300;

function isTooMuch(reader: DefinitionReader, { existing }: DefinitionContext): boolean {
  const lengthOf = (key: string): number => {
    const list = reader.raw(key);
    return isArray(list) ? list.length : 0;
  };
  // Entries may repeat each other, so that a table may have more of them than indexes since before they had a limit.
  const isLong = (key: "uniques" | "indexes"): boolean =>
    lengthOf(key) > Math.max(MAX_INDEXES, existing?.[key].length ?? 0);
  const long = (["uniques", "indexes"] as const).filter(isLong);
  for (const key of long) reader.problem(key, `a table has at most ${MAX_INDEXES}`);
  const hasMany = lengthOf("columns") + lengthOf("relations") > MAX_MEMBERS;
  if (hasMany) reader.problem("columns", `a table has at most ${MAX_MEMBERS} columns and relations`);
  return hasMany || long.length > 0;
}

/** Deleted records can be kept only in tables whose readers are all known and whose links nobody counts. */
function checkSoftDelete(
  reader: DefinitionReader,
  { softDelete, storage, relations }: TableDefinition,
): void {
  if (softDelete !== true) return;
  if (storage.adopted === true)
    reader.problem("softDelete", "other programs would go on seeing what is deleted in this collection");
  for (const [at, { counted }] of relations.entries())
    if (counted) reader.problem(`relations[${at}].counted`, `can't be kept in a table with softDelete`);
}

function checkedShardKey(reader: DefinitionReader): ShardKey | null {
  if (reader.raw("shardKey") === undefined) return null;
  return reader.choice<ShardKey>("shardKey", SHARD_KEYS) ?? null;
}

/** A shard knows only its own records, so what must be unique among all of them can't be spread over several. */
function checkSharding(
  reader: DefinitionReader,
  table: TableDefinition,
  existing: TableDefinition | undefined,
): void {
  if (existing?.shardKey === "id" && table.shardKey !== "id")
    reader.problem("shardKey", "records that are spread stay so; copy them into a new table instead");
  if (table.shardKey !== "id") return;
  const unique = uniquePlaces(table);
  for (const place of unique)
    reader.problem(place, `needs something unique, which no table with a shardKey can promise`);
  // Its indexes are dropped only when the change is in use, and MongoDB spreads nothing before that.
  const wasUnique = existing !== undefined && existing.shardKey !== "id" && uniquePlaces(existing).length > 0;
  if (unique.length === 0 && wasUnique)
    reader.problem("shardKey", "remove what is unique in a change of its own first");
}

function uniquePlaces(table: TableDefinition): string[] {
  return [
    ...table.columns.flatMap((column, at) => (column.unique ? [`columns[${at}].unique`] : [])),
    ...table.relations.flatMap(({ type }, at) => (type === "one-to-one" ? [`relations[${at}].type`] : [])),
    ...table.uniques.map((_names, at) => `uniques[${at}]`),
    ...(table.singleton ? ["singleton"] : []),
  ];
}

function tableId(reader: DefinitionReader, { existing, ownIds, newId }: DefinitionContext): string {
  const given = ownIds ? reader.text("id") : undefined;
  if (existing !== undefined) return existing.id;
  if (given !== undefined && OWN_ID.test(given)) return given;
  if (given !== undefined) reader.problem("id", "must be 24 hexadecimal digits");
  return newId();
}

function checkTableName(reader: DefinitionReader, { systemPrefix }: DefinitionContext): string {
  const name = reader.text("name") ?? "";
  const problem = tableNameProblem(name, systemPrefix);
  if (problem !== undefined) reader.problem("name", problem);
  return name;
}
