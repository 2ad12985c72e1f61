// What a client wants to change + the present definition -> the whole definition that the client wants, as JSON.
import { isArray, isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";
import { renamedKeys } from "./renamed-keys.js";

type Member = ColumnDefinition | RelationDefinition;

/** Set only by the service; a client that sends a whole record back sends these, too. */
const SERVICE_KEYS = ["id", "createdAt", "updatedAt", "change"];

/**
 * Keys that are not named stay as they are. A list is the full set: an entry with an id is that member, and what it does not
 * name stays; an entry without an id is a new member; and a member that is left out is removed. Null is an empty list.
 */
export function mergeDefinition(existing: TableDefinition, patch: JsonObject): JsonObject {
  const given = Object.fromEntries(Object.entries(patch).filter(([key]) => !SERVICE_KEYS.includes(key)));
  const base = definitionJson(existing);
  const merged: Record<string, Json> = {
    ...base,
    ...given,
    columns: mergeMembers(existing.columns, given.columns),
    relations: mergeMembers(existing.relations, given.relations),
  };
  merged.relations = leadToNewName(merged.relations ?? [], existing.name, merged.name ?? null);
  const names = newNames(existing, merged);
  for (const key of ["uniques", "indexes"] as const)
    if (given[key] === undefined) merged[key] = renamedKeys(existing[key], names);
  return merged;
}

/** A definition as a client would write it, with its members' ids. */
export function definitionJson({ id: _id, storage: _storage, ...plain }: TableDefinition): JsonObject {
  const json: JsonObject = JSON.parse(JSON.stringify(plain));
  return json;
}

function mergeMembers(existing: readonly Member[], given: Json | undefined): Json {
  const former: Json = JSON.parse(JSON.stringify(existing));
  if (given === undefined) return former;
  if (!isArray(given) || !isArray(former)) return given;
  const byId = new Map(former.map((each) => [isObject(each) ? each.id : undefined, each]));
  return given.map((each) => {
    const known = isObject(each) && each.id !== undefined ? byId.get(each.id) : undefined;
    return isObject(each) && isObject(known) ? { ...known, ...each } : each;
  });
}

/** A relation of the table to itself follows when the table is renamed. */
function leadToNewName(relations: Json, formerName: string, name: Json): Json {
  if (!isArray(relations)) return relations;
  return relations.map((each) =>
    isObject(each) && each.table === formerName ? { ...each, table: name } : each,
  );
}

/** Former name -> new name, undefined for a member that is removed. */
function newNames(existing: TableDefinition, merged: JsonObject): Map<string, string | undefined> {
  const wanted = [merged.columns ?? [], merged.relations ?? []].flatMap((list) =>
    isArray(list) ? list : [],
  );
  const byId = new Map(wanted.filter(isObject).map((each) => [each.id, each.name]));
  return new Map(
    [...existing.columns, ...existing.relations].map(({ id, name }) => {
      const renamed = byId.get(id);
      return [name, typeof renamed === "string" ? renamed : undefined];
    }),
  );
}
