// Restores what one change removed, keeping whatever was changed since.
import { same } from "./canonical.js";
import { isMoved, type Transition } from "./changed-fields.js";
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";
import { makeWay } from "./make-way.js";
import { renamedKeys } from "./renamed-keys.js";
import { type Reverting, revertedColumn, revertedRelation } from "./revert-member.js";
import type { Setting } from "./risks.js";

type Member = ColumnDefinition | RelationDefinition;

/** Makes a member as it was; undefined where it stays as it is. */
type Revert<Kind> = (reverting: Reverting<Kind>) => Kind | undefined;

/**
 * These stay as they are: switching softDelete off would bring deleted records to life, and ids and the place of records in
 * a cluster can't be changed back.
 */
const KEPT_SETTINGS = ["softDelete", "idType", "shardKey"] as const satisfies readonly Setting[];

/** All other settings are reverted: a new one has to be named there, or above. */
type RevertedSettings = Required<Pick<TableDefinition, Exclude<Setting, (typeof KEPT_SETTINGS)[number]>>>;

/** Is this a setting whose change can't be reverted? @param where as in a step */
export function isKeptSetting(where: string): where is Setting {
  return KEPT_SETTINGS.some((each) => each === where);
}

/**
 * The present definition without one earlier change. Whatever was changed again since stays as it is now. Members that the
 * change added stay, too, because records may have values in them, but they are no longer required, and they give up their
 * names to members that come back.
 * @param change the definition before and after the change
 * @param isTaken whether another table has a member of this name, or gives one to this table
 * @param isTraced whether it is known what has become of a member's values since; where it is not, they stay as they are
 */
export function revertChange(
  now: TableDefinition,
  { before, after }: Transition,
  isTaken: (table: string, name: string) => boolean,
  isTraced: (member: string) => boolean = () => true,
): TableDefinition {
  const ifTraced =
    <Kind extends Member>(revert: Revert<Kind>): Revert<Kind> =>
    (each) =>
      isMoved({ before, after }, each.former.id) && !isTraced(each.former.id) ? undefined : revert(each);
  const back = {
    columns: revertMembers(now.columns, before.columns, after.columns, ifTraced(revertedColumn)),
    relations: revertMembers(now.relations, before.relations, after.relations, ifTraced(revertedRelation)),
  };
  const added = {
    columns: addedTo(before.columns, after.columns),
    relations: addedTo(before.relations, after.relations),
  };
  const members = { columns: back.columns.members, relations: back.relations.members };
  const { columns, relations } = makeWay(now.name, members, added, isTaken);
  const pick = <Value>(then: Value, later: Value, current: Value): Value =>
    same(later, current) ? then : current;
  // By the names that their members have in the end: a member that was renamed since does not affect them.
  const keys = (of: (table: TableDefinition) => readonly (readonly string[])[]) => {
    const inTheEnd = (table: TableDefinition) =>
      renamedKeys(of(table), namesIn(table, [...columns, ...relations]));
    return pick(inTheEnd(before), inTheEnd(after), inTheEnd(now));
  };
  const settings: RevertedSettings = {
    name: pick(before.name, after.name, now.name),
    description: pick(before.description, after.description, now.description),
    singleton: pick(before.singleton, after.singleton, now.singleton),
    changes: pick(before.changes === true, after.changes === true, now.changes === true),
    history: pick(before.history === true, after.history === true, now.history === true),
    uniques: keys((each) => each.uniques),
    indexes: keys((each) => each.indexes),
  };
  return withoutForbidden({
    ...now,
    ...settings,
    columns,
    relations,
    storage: revertedStorage(now, { before, after }, [
      ...back.columns.returning,
      ...back.relations.returning,
    ]),
  });
}

/**
 * A field holds what its member's type says, so the two come back together or not at all: wherever the values are by now.
 * @param returning ids of the members that come back
 */
function revertedStorage(
  now: TableDefinition,
  change: Transition,
  returning: readonly string[],
): TableDefinition["storage"] {
  const { collection, adopted, fields: present, retired: left = [] } = now.storage;
  const fields = { ...present };
  for (const id of returning) {
    const former = change.before.storage.fields[id];
    if (former !== undefined && isMoved(change, id)) fields[id] = former;
  }
  const used = new Set(Object.values(fields));
  const all = new Set([...Object.values(present), ...left]);
  const retired = [...all].filter((field) => !used.has(field)).toSorted();
  return {
    collection,
    fields,
    ...(adopted === undefined ? {} : { adopted }),
    ...(retired.length === 0 ? {} : { retired }),
  };
}

/** What a setting forbids that stays as it is comes back without that: what is unique among shards, numbers of what is kept. */
function withoutForbidden(back: TableDefinition): TableDefinition {
  const { softDelete, shardKey = null, columns } = back;
  const isKept = softDelete === true;
  const relations = back.relations.map((each) => (isKept ? { ...each, counted: false } : each));
  if (shardKey === null) return { ...back, relations };
  return {
    ...back,
    singleton: false,
    uniques: [],
    columns: columns.map((each) => ({ ...each, unique: false })),
    relations: relations.map((each) =>
      each.type === "one-to-one" ? { ...each, type: "many-to-one" } : each,
    ),
  };
}

/** What a table's members are called among other members with the same ids. */
function namesIn(table: TableDefinition, members: readonly Member[]): Map<string, string | undefined> {
  const byId = new Map(members.map(({ id, name }) => [id, name]));
  return new Map([...table.columns, ...table.relations].map(({ id, name }) => [name, byId.get(id)]));
}

/** @returns the members, and the ids of those that come back as they were, or from where they went */
function revertMembers<Kind extends Member>(
  now: readonly Kind[],
  before: readonly Kind[],
  after: readonly Kind[],
  revert: Revert<Kind>,
): { readonly members: readonly Kind[]; readonly returning: readonly string[] } {
  const returning: string[] = [];
  const kept = now.map((current) => {
    const [former, later] = [find(before, current.id), find(after, current.id)];
    if (former === undefined)
      return needsValues(later) && needsValues(current) ? { ...current, required: false } : current;
    const back = later && revert({ former, later, current });
    if (back !== undefined) returning.push(current.id);
    return back ?? current;
  });
  const removed = before.filter(({ id }) => find(after, id) === undefined && find(now, id) === undefined);
  return {
    members: removed.reduce((members, each) => putBack(members, each, before), kept),
    returning: [...returning, ...removed.map(({ id }) => id)],
  };
}

/** A member behind those that were before it, wherever they are by now. */
function putBack<Kind extends Member>(
  members: readonly Kind[],
  member: Kind,
  before: readonly Kind[],
): Kind[] {
  const earlier = new Set(before.slice(0, before.indexOf(member)).map(({ id }) => id));
  return members.toSpliced(members.findLastIndex(({ id }) => earlier.has(id)) + 1, 0, member);
}

function find<Kind extends Member>(list: readonly Kind[], id: string): Kind | undefined {
  return list.find((each) => each.id === id);
}

function addedTo<Kind extends Member>(before: readonly Kind[], after: readonly Kind[]): Kind[] {
  const former = new Set(before.map(({ id }) => id));
  return after.filter(({ id }) => !former.has(id));
}

/** Records from before it was added may lack a value. If it has a default, none of them does. */
function needsValues(added: Member | undefined): boolean {
  const isFilled = added !== undefined && "default" in added && added.default !== undefined;
  return added?.required === true && !isFilled;
}
