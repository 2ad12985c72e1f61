// Two definitions of one table -> the steps from the first to the second, what each may cost, and what it must write.
import type { Json } from "@portico/shared/json";
import { same } from "./canonical.js";
import { type Transition, withFreshFields } from "./changed-fields.js";
import type { TableDefinition } from "./definition.js";
import { columnFills, type Fill, linkFills } from "./fills.js";
import {
  columnRisks,
  type Member,
  type Risk,
  relationRisks,
  SETTINGS,
  type Setting,
  tableRisks,
} from "./risks.js";

/** One difference. `from` and `to` are the member, or the table's own setting, before and after. */
export interface Step {
  readonly what:
    | "table.set"
    | "table.remove"
    | "table.restore"
    | "column.add"
    | "column.change"
    | "column.remove"
    | "relation.add"
    | "relation.change"
    | "relation.remove"
    | "order";
  /** Where in the definition: `name`, `columns.price`, `relations.author`, `uniques`. */
  readonly where: string;
  readonly from?: Json | Member;
  readonly to?: Json | Member;
  /** Questions to ask of the data; a step without any can neither lose data nor fail. */
  readonly risks: readonly Risk[];
}

export interface Difference extends Transition {
  /** As wanted, with new fields for whatever will be stored differently. */
  readonly after: TableDefinition;
  readonly steps: readonly Step[];
  readonly fills: readonly Fill[];
}

/**
 * Compares two definitions by the ids of their members.
 * @param wanted checked; its storage still names the former field of every member that has one
 */
export function diff(before: TableDefinition, wanted: TableDefinition): Difference {
  const after = withFreshFields(before, wanted);
  const change = { before, after };
  const columns = memberSteps("column", before.columns, after.columns, (from, to) =>
    columnRisks(change, from, to),
  );
  const relations = memberSteps("relation", before.relations, after.relations, (from, to) =>
    relationRisks(change, from, to),
  );
  return {
    before,
    after,
    steps: [...tableSteps(change), ...columns, ...relations],
    fills: [
      ...after.columns.flatMap((column) => columnFills(change, column)),
      ...after.relations.flatMap((relation) => linkFills(change, relation)),
      ...(after.singleton && !before.singleton ? [{ kind: "mark" } as const] : []),
    ],
  };
}

/**
 * Must all writes of the table have ended before this takes effect? Otherwise some would be missing in the journal, or would
 * delete for good what is to be kept.
 */
export function switchesWrites({ what, where }: Step): boolean {
  return what === "table.set" && (where === "changes" || where === "history" || where === "softDelete");
}

/** Does it take a member away? Even a member without values, which costs nothing, may be missed. */
export function removesMember({ what }: Step): boolean {
  return what === "column.remove" || what === "relation.remove";
}

/** Will the records be spread over the shards of a cluster? */
export function spreadsRecords({ what, where }: Step): boolean {
  return what === "table.set" && where === "shardKey";
}

/** The one step of deleting a table. */
export function removal(before: TableDefinition): Step {
  const question = { ask: "records", beyond: 0 } as const;
  const risks: Risk[] = [{ question, why: "are in the table and go with it", confirmed: "lost" }];
  return { what: "table.remove", where: before.name, from: before.name, risks };
}

/** The one step of bringing a deleted table back. */
export function restoration(after: TableDefinition): Step {
  return { what: "table.restore", where: after.name, to: after.name, risks: [] };
}

function tableSteps(change: Transition): Step[] {
  // A setting that an older definition does not name is off.
  const setting = (table: TableDefinition, key: Setting) => table[key] ?? null;
  const differs = (from: Json, to: Json): boolean => !same(from, to) && (from ?? false) !== (to ?? false);
  return SETTINGS.flatMap((key): Step[] => {
    const [from, to] = [setting(change.before, key), setting(change.after, key)];
    return differs(from, to)
      ? [{ what: "table.set", where: key, from, to, risks: tableRisks(key, change) }]
      : [];
  });
}

function memberSteps<Kind extends Member>(
  kind: "column" | "relation",
  before: readonly Kind[],
  after: readonly Kind[],
  risksOf: (from: Kind | undefined, to: Kind | undefined) => readonly Risk[],
): Step[] {
  const former = new Map(before.map((each) => [each.id, each]));
  const kept = new Set(after.map((each) => each.id));
  const removed = before.filter((each) => !kept.has(each.id)).map((from) => ({ from, to: undefined }));
  const others = after.map((to) => ({ from: former.get(to.id), to }));
  const steps = [...removed, ...others]
    .filter(({ from, to }) => !same(from, to))
    .map(({ from, to }): Step => {
      const what = from === undefined ? "add" : to === undefined ? "remove" : "change";
      const name = from?.name ?? to?.name ?? "";
      const member = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      return { what: `${kind}.${what}`, where: `${kind}s.${name}`, ...member, risks: risksOf(from, to) };
    });
  return [...steps, ...orderStep(kind, before, after)];
}

/** Members that stay keep their places and new ones come last, unless the order says otherwise. */
function orderStep(kind: string, before: readonly Member[], after: readonly Member[]): Step[] {
  const former = new Set(before.map((each) => each.id));
  const kept = new Set(after.map((each) => each.id));
  const expected = [
    ...before.filter((each) => kept.has(each.id)),
    ...after.filter((each) => !former.has(each.id)),
  ];
  const ids = after.map((each) => each.id);
  const asExpected = same(
    expected.map((each) => each.id),
    ids,
  );
  return asExpected ? [] : [{ what: "order", where: `${kind}s`, to: ids, risks: [] }];
}
