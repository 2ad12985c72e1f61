// Links stored in other tables' records: setting them changes those records, so the rules for updating them apply.
import { AppError } from "@portico/shared/app-error";
import { EJSON } from "bson";
import { owningRelation, type Table } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import { foreignGrants } from "../../permission/foreign-links.js";
import { asStored, linksIn } from "../../query/as-read.js";
import type { AuthorizedPredicate } from "../../query/ast.js";
import { fieldsOf } from "../../query/leaves.js";
import { matchStages } from "../../query/lower/condition.js";
import { allOf, type Document, Names, type Stage, type StoredRecord } from "../../query/lower/document.js";
import { linksElsewhere } from "../../query/lower/links.js";
import { refuseContended, untilStill } from "../../until-still.js";
import type { Standing } from "../request.js";
import { withJudged } from "./authorize-links.js";
import { anyRow, unchanged } from "./choose-rule.js";
import { formerLinks } from "./former-links.js";
import type { AuthorizedLinks, Judged, JudgedLinks } from "./link-set.js";
import { type LinkedDeps, requireLinked } from "./require-linked.js";
import type { JudgedPlan, OwnFields, WritePlan } from "./write-plan.js";

type Deps = LinkedDeps;

/** What else there is to know about a plan. */
interface About {
  /** All plans of the request, of records of the same table; without them it is the only one. */
  readonly plans?: readonly WritePlan[];
  /** The record that is linked to; undefined while it is being created. */
  readonly id?: Stored;
}

/**
 * Lets the foreign links of a write pass or refuses them.
 * @returns the plan; it holds for the records as they were judged here
 * @throws AppError 400 naming records that the caller does not see, 403
 */
export async function judgeForeign(
  deps: Deps,
  standing: Standing,
  table: Table,
  plan: WritePlan,
  { plans = [plan], id }: About,
): Promise<JudgedPlan> {
  const sets = plans.flatMap((each) => each.foreign);
  const foreign: JudgedLinks[] = [];
  for (const set of plan.foreign) {
    const before = sets.slice(0, sets.indexOf(set)).filter(({ target }) => target.id === set.target.id);
    const judged = await judgeSet(deps, standing, { set, before, table, own: plan.own, id });
    foreign.push(withJudged(set, judged));
  }
  return { ...plan, foreign };
}

/** A set of links, and what else the request writes. */
interface Setting {
  readonly set: AuthorizedLinks;
  /** Those that are written before it, in the order of the plans, and lie in records of the same table. */
  readonly before: readonly AuthorizedLinks[];
  readonly table: Table;
  /** Of the record that is linked to. */
  readonly own: OwnFields;
  readonly id: Stored | undefined;
}

/**
 * Tells whether the request itself has written this field of that record when the set is written: then its change is not by
 * others. Any other record has to stay as it was judged, whatever is written in this one, and whatever is to follow.
 * @param fields those about which it is asked
 */
function writtenBesides(
  { set: { target }, before, table, own, id }: Setting,
  fields: readonly string[],
): (record: StoredRecord, field: string) => boolean {
  const itself = id === undefined ? undefined : idText(table, id);
  const isItself = ({ _id }: StoredRecord): boolean =>
    table.id === target.id && idText(target, _id) === itself;
  const inOwn = (field: string): boolean =>
    field === table.updatedAt.field || own.set.has(field) || own.unset.includes(field);
  const links = before
    .filter(({ relation }) => fields.includes(relation.link.field))
    .map(({ relation: { link }, ids }) => ({ link, ids: new Set(ids.map((each) => idText(target, each))) }));
  return (record, field) =>
    (inOwn(field) && isItself(record)) ||
    links.some(({ link, ids }) => {
      if (link.field !== field) return false;
      const isLinked = linksIn(record[field], link).some((each) => idText(table, each) === itself);
      return ids.has(idText(target, record._id)) !== isLinked;
    });
}

async function judgeSet(
  deps: Deps,
  { rights, catalog }: Standing,
  setting: Setting,
): Promise<JudgedLinks["judged"]> {
  const { set, id } = setting;
  if (rights.isRoot) return "all";
  // A record that the caller can't see does not exist for them; that is said before anything else.
  await requireLinked(deps, [[set]]);
  const grants = foreignGrants(rights, catalog, set);
  if (grants.length === 0) throw refusal(deps, set);
  const rows = anyRow(grants);
  if (rows.kind === "always") return "all";
  const fields = fieldsOf(rows);
  const isOwn = writtenBesides(setting, fields);
  const judge = async (which: Document) =>
    grouped(await judgeEach(deps, set, which, { rows, fields }), (record) =>
      fields.filter((field) => !isOwn(record, field)),
    );
  const coming = await judge(comingLinks(set, id));
  // Where the link is required none leaves: see linkForeign.
  const mayLeave = id !== undefined && owningRelation(set)?.required !== true;
  const leaving = mayLeave ? await judge(await formerLinks(deps, id, set)) : [];
  return { coming, leaving };
}

/**
 * The condition for records that come to link here. One that links here already does not change, so no rule is asked about it;
 * should somebody let go of it meanwhile, it is not set again, as it was not judged.
 */
function comingLinks({ relation, ids }: AuthorizedLinks, id: Stored | undefined): Document {
  const chosen = { _id: { $in: [...ids] } };
  return id === undefined ? chosen : { $and: [chosen, linksElsewhere(relation.link, id)] };
}

/** How often to look whether all are among the rows: others may link or delete one between the two queries of a look. */
const LOOKS = 3;

/**
 * @param fields what to read of the records
 * @throws AppError 403 when one of them is not among the rows, 503 when others never leave them alone
 */
async function judgeEach(
  deps: Deps,
  set: AuthorizedLinks,
  which: Document,
  { rows, fields }: { readonly rows: AuthorizedPredicate; readonly fields: readonly string[] },
): Promise<readonly StoredRecord[]> {
  const { store } = deps;
  const { target } = set;
  const among = matchStages([rows], new Names());
  const project = { _id: 1, ...Object.fromEntries(fields.map((field) => [field, 1])) };
  const look = async (): Promise<StoredRecord[] | false> => {
    const all = await store.count(target, [{ $match: which }, { $count: "value" }]);
    const allowed = await store.read(target, [{ $match: which }, ...among, { $project: project }]);
    return allowed.length === all && allowed;
  };
  const gaveUp = () => refuseLooked(deps, set, which, among);
  return untilStill(look, { attempts: LOOKS, gaveUp });
}

/**
 * The refusal after the last look.
 * @throws AppError 403 only for a record that is there and not among the rows; otherwise others were just quicker, 503
 */
async function refuseLooked(
  deps: Deps,
  set: AuthorizedLinks,
  which: Document,
  among: readonly Stage[],
): Promise<never> {
  const { target } = set;
  const idsOf = async (condition: Document, stages: readonly Stage[] = []): Promise<Stored[]> => {
    const found = await deps.store.read(target, [{ $match: condition }, ...stages, { $project: { _id: 1 } }]);
    return found.map(({ _id }) => asStored(_id));
  };
  const all = await idsOf(which);
  const inside = await idsOf({ _id: { $in: all } }, among);
  const outside = await idsOf(allOf([which, { _id: { $in: all, $nin: inside } }]));
  if (outside.length > 0) throw refusal(deps, set);
  return refuseContended(target.name)();
}

/** @param fieldsOfOne by which it is told whether that record has changed */
function grouped(
  records: readonly StoredRecord[],
  fieldsOfOne: (record: StoredRecord) => readonly string[],
): readonly Judged[] {
  const alike = new Map<string, { ids: Stored[]; condition: Document }>();
  for (const record of records) {
    const condition = unchanged(record, fieldsOfOne(record));
    const key = EJSON.stringify(condition, { relaxed: false });
    getOrMake(alike, key, () => ({ ids: [], condition })).ids.push(asStored(record._id));
  }
  return [...alike.values()];
}

/** Of a link that a rule sets the caller may know neither the member nor the table: which rule it is, is for the log alone. */
function refusal({ logger }: Deps, { relation, target, presetBy }: AuthorizedLinks): AppError {
  const why = `changing these links changes records of "${target.name}" that you may not update.`;
  if (presetBy === undefined) return new AppError("FORBIDDEN", `${relation.name}: ${why}`);
  logger.warn({ rule: presetBy, member: relation.name }, "a rule sets a link that its caller may not set");
  return new AppError(
    "FORBIDDEN",
    "A rule sets a link by which records would change that you may not update.",
  );
}
