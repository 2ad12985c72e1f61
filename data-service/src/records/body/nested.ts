// Records that a body brings along: objects without an id where a relation takes one, to be created and linked. Pure.
import { AppError } from "@portico/shared/app-error";
import { isArray, isObject, type Json, type JsonObject } from "@portico/shared/json";
import { type Catalog, type Relation, type Table, targetOf } from "../../catalog/catalog.js";

/** One record inside a body. */
export interface Nested {
  readonly relation: Relation;
  readonly target: Table;
  /** Where it stands: `author`, `comments[2]`. */
  readonly path: string;
  readonly body: JsonObject;
}

/** The nested records of a body, in its order; what is wrong with the rest of it is for `checkBody` to say. */
export function nestedIn(body: Json, table: Table, catalog: Catalog): readonly Nested[] {
  if (!isObject(body)) return [];
  return Object.entries(body).flatMap(([name, value]) => {
    const relation = table.relations.get(name);
    if (relation === undefined) return [];
    const target = targetOf(catalog, relation);
    const nested = (each: Json, path: string): Nested[] =>
      isNested(each) ? [{ relation, target, path, body: each }] : [];
    if (!relation.many) return nested(value, name);
    return isArray(value) ? value.flatMap((each, at) => nested(each, `${name}[${at}]`)) : [];
  });
}

/** An object without an id is a new record. */
export function isNested(value: Json): value is JsonObject {
  return isObject(value) && value.id === undefined;
}

/** @throws AppError 400 where the body of a change makes records that it may not make */
export function requireOnlyLinks(body: Json, table: Table, catalog: Catalog): void {
  if (table.changesOnlyLink !== true) return;
  const message = nestedIn(body, table, catalog).map(
    ({ path }) =>
      `${path}: a change of "${table.name}" makes no other records; make this one first, and link it`,
  );
  if (message.length > 0) throw new AppError("VALIDATION_ERROR", { message });
}

/**
 * The body with ids in the place of nested records.
 * @param ids by path; a nested record without one is left out, and a relation of which nothing is left as well
 */
export function withIds(
  body: JsonObject,
  nested: readonly Nested[],
  ids: ReadonlyMap<string, Json>,
): JsonObject {
  const touched = new Set(nested.map(({ relation }) => relation.name));
  const entries = Object.entries(body).flatMap(([name, value]): [string, Json][] => {
    if (!touched.has(name)) return [[name, value]];
    const placed = (isArray(value) ? value : [value]).flatMap((each, at) => {
      const id = isNested(each) ? ids.get(isArray(value) ? `${name}[${at}]` : name) : each;
      return id === undefined ? [] : [id];
    });
    if (placed.length === 0) return [];
    return [[name, isArray(value) ? placed : (placed[0] ?? null)]];
  });
  return Object.fromEntries(entries);
}
