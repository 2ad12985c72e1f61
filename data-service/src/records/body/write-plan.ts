// An authorized body -> what to do in which order. Pure; run-create and run-update do it.
import {
  type Catalog,
  type Column,
  fieldNamed,
  incomingLinks,
  type Relation,
  type Table,
  targetOf,
} from "../../catalog/catalog.js";
import { isText } from "../../catalog/column-types.js";
import { gramField, storedGrams } from "../../catalog/grams.js";
import type { Stored } from "../../catalog/stored.js";
import type { AuthorizedBody } from "./authorize-links.js";
import type { CheckedBody } from "./check-body.js";
import type { AuthorizedLinks, JudgedLinks, LinkSet } from "./link-set.js";

/** The record's own document: fields to set and to take away. Null is never stored, only absence. */
export interface OwnFields {
  readonly set: ReadonlyMap<string, Stored>;
  readonly unset: readonly string[];
  /** Columns among `set`, for values that are transformed before they are stored. */
  readonly columns: ReadonlyMap<string, Column>;
}

/** What the service itself writes with a record, whatever its body says; a rule's presets come before it. */
export interface Stamp {
  /** By the name of a member, or in a field of its own. */
  readonly values: StampValues;
  /**
   * A member that stands for them: only rules that let the caller write it count, with their rows and checks. Without it
   * every rule does.
   */
  readonly needs?: string;
}

export type StampValues = Readonly<Record<string, Stored | null>>;

/**
 * The plan with the service's own values, which no body can set.
 * @param preset names of members that a rule sets, whatever the service would write there
 */
export function stamped(
  plan: WritePlan,
  table: Table,
  values: StampValues,
  preset: ReadonlySet<string>,
): WritePlan {
  const entries = Object.entries(values)
    .filter(([name]) => !preset.has(name))
    .map(([name, value]) => ({ field: fieldNamed(table, name) ?? name, value }));
  const set = new Map(plan.own.set);
  for (const { field, value } of entries) if (value !== null) set.set(field, value);
  const gone = entries.flatMap(({ field, value }) => (value === null ? [field] : []));
  return { ...plan, own: { ...plan.own, set, unset: [...plan.own.unset, ...gone] } };
}

/** The id of a new record. */
export interface NewId {
  readonly value: Stored;
  /** A body brings it, so that another record may have it; else it was made for this one. */
  readonly isBrought: boolean;
}

export interface WritePlan {
  /** Of a new record whose body brings one, or that had to be judged with it. */
  readonly id?: NewId;
  readonly own: OwnFields;
  /** Ids that must exist before anything is written. */
  readonly mustExist: readonly AuthorizedLinks[];
  /** Links stored in other tables' documents, to be set once the record is there. */
  readonly foreign: readonly AuthorizedLinks[];
  /** Whole lists of links among `own`. */
  readonly ownLists: readonly AuthorizedLinks[];
}

/** A plan that may be run: the rules were asked about the records of other tables that it changes (see judgeForeign). */
export interface JudgedPlan extends WritePlan {
  readonly foreign: readonly JudgedLinks[];
}

/** The id that a new record brings along. */
export function broughtId({ id }: WritePlan): Stored | undefined {
  return id?.isBrought ? id.value : undefined;
}

/** Links that the body chose: they are known to exist before a check is asked, which would reveal what they lead to. */
export function chosenLinks({ mustExist }: WritePlan): AuthorizedLinks[] {
  return mustExist.filter(({ presetBy }) => presetBy === undefined);
}

/** Links that a rule sets. */
export function presetLinks({ mustExist }: WritePlan): AuthorizedLinks[] {
  return mustExist.filter(({ presetBy }) => presetBy !== undefined);
}

/** A change that leaves everything as it is. */
export function writesNothing({ own: { set, unset }, foreign }: WritePlan): boolean {
  return set.size === 0 && unset.length === 0 && foreign.length === 0;
}

/** The plan without a link of the record itself that the body chose; one that a rule sets stays. */
export function withoutLink<Plan extends WritePlan>(plan: Plan, relation: Relation | undefined): Plan {
  // By its id: the plan may be of a later catalog.
  const isIt = (set: LinkSet): boolean => set.relation.id === relation?.id;
  if (relation === undefined || !chosenLinks(plan).some(isIt)) return plan;
  const set = new Map([...plan.own.set].filter(([field]) => field !== relation.link.field));
  const mustExist = plan.mustExist.filter((each) => !isIt(each));
  return { ...plan, own: { ...plan.own, set }, mustExist };
}

/** Orders a write: check links, write the record, then the links that lie elsewhere. */
export function planWrite({ values, links }: AuthorizedBody): WritePlan {
  const brought = idIn(values);
  return {
    ...(brought !== undefined && { id: { value: brought, isBrought: true } }),
    own: ownFields({ values, links }),
    mustExist: links.filter(({ ids }) => ids.length > 0),
    foreign: links.filter(({ relation }) => relation.link.on === "target"),
    ownLists: links.filter(({ relation: { link } }) => link.on === "self" && link.list),
  };
}

function idIn(values: AuthorizedBody["values"]): Stored | undefined {
  for (const [{ field }, value] of values) if (field === "_id" && value !== null) return value;
  return undefined;
}

/**
 * The plan of a body that names columns alone: there are no links, and so nothing to authorize or to judge.
 * @throws Error for a body that sets a link after all
 */
export function planColumns({ values, links }: CheckedBody): JudgedPlan {
  const [link] = links;
  if (link !== undefined) throw new Error(`nobody has authorized the links of "${link.relation.name}"`);
  return { ...planWrite({ values, links: [] }), foreign: [] };
}

/** The fields of the record's own document as a body has them, links included and the id not; whoever may set them. */
export function ownFields({ values, links }: CheckedBody): OwnFields {
  const set = new Map<string, Stored>();
  const unset: string[] = [];
  const columns = new Map<string, Column>();
  const put = (field: string, value: Stored | null): void => {
    if (value === null) unset.push(field);
    else set.set(field, value);
  };
  for (const [column, value] of values) {
    if (column.field === "_id") continue;
    put(column.field, value);
    columns.set(column.field, column);
    // Grams from when the column was searchable, or from an instance that already knows that it will be, are stale now.
    if (column.searchable) set.set(gramField(column), storedGrams(value));
    else if (isText(column.type)) unset.push(gramField(column));
  }
  for (const { relation, ids } of links.filter(liesInRecord))
    put(relation.link.field, linkValue(relation, ids));
  return { set, unset, columns };
}

/** Does the record itself hold these links? */
export function liesInRecord({ relation }: LinkSet): boolean {
  return relation.link.on === "self";
}

function linkValue(relation: Relation, ids: readonly Stored[]): Stored | null {
  if (!relation.link.list) return ids[0] ?? null;
  // Ids are values of BSON, and a list of them is one too.
  return ids.length === 0 ? null : [...ids];
}

/** The tables whose documents a create or an update may change: its own, and those that hold its links. */
export function tablesWritten(catalog: Catalog, table: Table): Table[] {
  const holders = [...table.relations.values()].filter((relation) => relation.link.on === "target");
  return [table, ...holders.map((relation) => targetOf(catalog, relation)), ...numbered(catalog, table)];
}

/** The tables whose documents a delete may change: all that link here, and all that link to what is deleted with it. */
export function tablesDeletedFrom(catalog: Catalog, table: Table): ReadonlySet<Table> {
  const reached = new Set([table]);
  // A set can grow while it is walked.
  for (const each of reached) for (const { owner } of incomingLinks(catalog, each)) reached.add(owner);
  return new Set([...reached].flatMap((each) => [each, ...numbered(catalog, each)]));
}

/** The tables that keep the numbers of this one's records. */
function numbered(catalog: Catalog, table: Table): Table[] {
  const counted = [...table.relations.values()].filter(({ link, counter }) => link.on === "self" && counter);
  return counted.map((relation) => targetOf(catalog, relation));
}
