// Brings back what one change took away, on top of whatever was changed since.
import { same } from "./changes.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";

type Member = ColumnDefinition | RelationDefinition;

/**
 * The present definition without one earlier change. What was changed again since stays as it is now; members that the
 * change added stay too, because records may have values in them.
 * @param change the definition before and after the change
 */
export function revertChange(
  now: TableDefinition,
  { before, after }: { readonly before: TableDefinition; readonly after: TableDefinition },
): TableDefinition {
  const columns = revertMembers(now.columns, before.columns, after.columns);
  const relations = revertMembers(now.relations, before.relations, after.relations);
  const pick = <Value>(then: Value, later: Value, current: Value): Value =>
    same(later, current) ? then : current;
  const fields = { ...now.storage.fields };
  for (const { id } of [...before.columns, ...before.relations]) {
    const [then, later] = [before.storage.fields[id], after.storage.fields[id]];
    if (then !== undefined && (later === undefined || later === fields[id])) fields[id] = then;
  }
  const used = new Set(Object.values(fields));
  const all = [...Object.values(now.storage.fields), ...(now.storage.retired ?? [])];
  const retired = [...new Set(all)].filter((field) => !used.has(field)).toSorted();
  return {
    // softDelete stays as it is now: switched off, deleted records would come alive.
    ...now,
    name: pick(before.name, after.name, now.name),
    description: pick(before.description, after.description, now.description),
    singleton: pick(before.singleton, after.singleton, now.singleton),
    changes: pick(before.changes === true, after.changes === true, now.changes === true),
    history: pick(before.history === true, after.history === true, now.history === true),
    ...{ columns, relations },
    uniques: pick(before.uniques, after.uniques, now.uniques),
    indexes: pick(before.indexes, after.indexes, now.indexes),
    storage: {
      ...{ collection: now.storage.collection, fields },
      ...(now.storage.adopted === undefined ? {} : { adopted: now.storage.adopted }),
      ...(retired.length === 0 ? {} : { retired }),
    },
  };
}

function revertMembers<Kind extends Member>(
  now: readonly Kind[],
  before: readonly Kind[],
  after: readonly Kind[],
): Kind[] {
  const find = (list: readonly Kind[], id: string) => list.find((each) => each.id === id);
  const kept = now.map((current) => {
    const [then, later] = [find(before, current.id), find(after, current.id)];
    return then !== undefined && same(later, current) ? then : current;
  });
  const removed = before.filter(({ id }) => find(after, id) === undefined && find(now, id) === undefined);
  return [...kept, ...removed];
}
