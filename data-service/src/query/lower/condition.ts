// Predicate -> $match, with the joins it needs.
//
// Three-valued logic without a NOT in the output: a predicate is lowered for a wanted truth. Every test has a when-true and
// a when-false form, `not` flips the wanted truth, and under it `and` and `or` change places. What is unknown satisfies
// neither form.
import { BSONRegExp } from "bson";
import type { Column, Relation, Table } from "../../catalog/catalog.js";
import type { AuthorizedPredicate, Candidates, Keyed, Test, Tested } from "../ast.js";
import { type Leaf, leavesIn } from "../leaves.js";
import {
  allOf,
  anyOf,
  type Changed,
  type Document,
  MATCH_ALL,
  MATCH_NONE,
  matching,
  type Names,
  NO_LIST,
  SINGLE_TYPES,
  type Stage,
  type Value,
} from "./document.js";
import { joinStages } from "./join.js";
import { linksTo, mayBeMisfit, onlyLinks } from "./links.js";
import { namedId } from "./named-id.js";

/** The result of lowering a predicate: stages that join, and the condition that reads what they joined. */
interface Lowered {
  readonly condition: Document;
  readonly joins: readonly Stage[];
}

export type Relational = Extract<AuthorizedPredicate, { kind: "related" | "exists" }>;

/** The stages that let only matching documents pass. @param predicates all of which must be true */
export function matchStages(predicates: readonly AuthorizedPredicate[], names: Names): Stage[] {
  const { plain, joined } = splitMatch(predicates, names);
  return [...plain, ...joined];
}

/**
 * Like `matchStages` in two parts, because a sort that needs no join belongs between them: everything that reads only the
 * document, and everything that needs joins.
 */
export function splitMatch(
  predicates: readonly AuthorizedPredicate[],
  names: Names,
): { readonly plain: readonly Stage[]; readonly joined: readonly Stage[] } {
  const conjuncts = predicates.flatMap(conjunctsOf).map((each) => lower(each, true, names));
  const alone = allOf(conjuncts.filter((each) => each.joins.length === 0).map((each) => each.condition));
  if (alone === MATCH_NONE) return { plain: [{ $match: MATCH_NONE }], joined: [] };
  return {
    plain: matching(alone),
    joined: conjuncts
      .filter((each) => each.joins.length > 0)
      .flatMap((each) => [...each.joins, { $match: each.condition }]),
  };
}

/** The predicates that must all be true for this one to be. */
export function conjunctsOf(predicate: AuthorizedPredicate): readonly AuthorizedPredicate[] {
  return predicate.kind === "and" ? predicate.of.flatMap(conjunctsOf) : [predicate];
}

/** Does lowering the predicate need a join? */
export function isRelational(predicate: AuthorizedPredicate): boolean {
  return leavesIn(predicate).some(isOnRelated);
}

/** Does it ask for what a record is related to, and is not decided by its own links? */
export function isOnRelated(leaf: Leaf): leaf is Relational {
  return (leaf.kind === "related" || leaf.kind === "exists") && !isAboutKey(leaf);
}

/** Does the predicate hold keys or values that were looked up for it? */
export function holdsKeys(predicate: AuthorizedPredicate): boolean {
  return leavesIn(predicate).some((each) =>
    each.kind === "related" ? holdsKeys(each.where) : each.kind === "keys" || each.kind === "candidates",
  );
}

function lower(predicate: AuthorizedPredicate, wanted: boolean, names: Names): Lowered {
  switch (predicate.kind) {
    case "always":
      return plain(wanted ? MATCH_ALL : MATCH_NONE);
    case "never":
      return plain(wanted ? MATCH_NONE : MATCH_ALL);
    case "unknown":
      return plain(MATCH_NONE);
    case "not":
      return lower(predicate.of, !wanted, names);
    case "and":
    case "or": {
      const parts = predicate.of.map((each) => lower(each, wanted, names));
      const combine = (predicate.kind === "and") === wanted ? allOf : anyOf;
      return {
        condition: combine(parts.map((part) => part.condition)),
        joins: parts.flatMap((part) => part.joins),
      };
    }
    case "test":
      return plain(lowerTested(predicate, wanted));
    case "candidates":
      // "Not a candidate" decides nothing: the test beside it decides what is false.
      return plain(wanted ? lowerCandidates(predicate) : MATCH_NONE);
    case "keys":
      return plain(lowerKeys(predicate, wanted));
    case "related":
    case "exists":
      return lowerOnKey(predicate, wanted, names) ?? lowerJoined(predicate, wanted, names);
  }
}

function lowerKeys({ keys, ...link }: Keyed, wanted: boolean): Document {
  if (keys.length === 0) return wanted ? MATCH_NONE : MATCH_ALL;
  return wanted ? linksTo(link, keys) : { [link.field]: { $nin: [...keys] } };
}

function lowerCandidates({ field, values, prefixes }: Candidates): Document {
  return { [field]: { $in: [...values, ...prefixes.map(prefixPattern)] } };
}

/** Case-sensitive, and in the form from which MongoDB derives the bounds of an index scan. */
export function prefixPattern(prefix: string): BSONRegExp {
  return new BSONRegExp(`^${prefix.replace(/[!-/:-@[-`{-~]/g, "\\$&")}`);
}

function plain(condition: Document): Lowered {
  return { condition, joins: [] };
}

/** Anything but null. `$eq: null` would also find a list that contains a null, and `$ne: null` would miss it. */
const ANY_JSON: Document = { $type: ["array", ...SINGLE_TYPES] };

/**
 * MongoDB compares with each member of a list. A list that another program has left in the place of a value is neither equal
 * to one nor different from it: all that is known of it is that it is there.
 */
function lowerTested({ test, column }: Tested, wanted: boolean): Document {
  const tested = { [column.field]: lowerTest(test, column, wanted) };
  const isAlone = test.op === "isNull" || !mayHoldList(column);
  return isAlone ? tested : allOf([tested, { [column.field]: NO_LIST }]);
}

/** May there be a list that the column's type knows nothing of? */
function mayHoldList({ isAdopted, type }: Column): boolean {
  return isAdopted === true && type !== "json" && type !== "enumList";
}

/** The condition on one field. When false is wanted, null must not slip in: unknown is not false. */
function lowerTest(test: Test, column: Column, wanted: boolean): Value {
  switch (test.op) {
    case "eq":
      return wanted ? { $eq: test.value } : { $nin: [test.value, null] };
    case "member":
      return wanted ? { $eq: test.value } : { $ne: test.value, ...ANY_JSON };
    case "in":
      return wanted ? { $in: [...test.values] } : { $nin: [...test.values, null] };
    case "lt":
      return wanted ? { $lt: test.value } : { $gte: test.value };
    case "lte":
      return wanted ? { $lte: test.value } : { $gt: test.value };
    case "gt":
      return wanted ? { $gt: test.value } : { $lte: test.value };
    case "gte":
      return wanted ? { $gte: test.value } : { $lt: test.value };
    case "named":
      return wanted ? namedId(column.type) : { $not: namedId(column.type) };
    case "isNull":
      if (column.type === "json") return wanted ? { $not: ANY_JSON } : ANY_JSON;
      // An index can serve the first condition.
      if (column.type === "enumList" || mayHoldList(column))
        return wanted ? { $eq: null, $not: ANY_JSON } : ANY_JSON;
      return wanted ? { $eq: null } : { $ne: null };
    default: {
      const pattern = literalPattern(test.op, test.text);
      if (wanted) return { $regex: pattern };
      // Of what is no text, it is not known whether a text is in it.
      return {
        $not: { $regex: pattern },
        ...(column.isAdopted === true ? { $type: "string" } : { $ne: null }),
      };
    }
  }
}

/**
 * A case-insensitive pattern that matches the text literally, in a time that does not grow with the square of its length: the
 * database's time limit ends no pattern within a record. JavaScript must know its syntax too, for it is read from explanations.
 */
function literalPattern(op: "contains" | "startsWith" | "endsWith", text: string): BSONRegExp {
  // A pattern is a C string, so it must not contain a NUL; escaped, it may.
  const letters = Array.from(text, (each) =>
    /[\p{L}\p{N}]/u.test(each) ? each : `\\x{${each.codePointAt(0)?.toString(16)}}`,
  );
  const literal = letters.join("");
  // The second branch never matches. Without it, the last letter would be looked for, to the end, from every first one.
  if (op === "contains") return new BSONRegExp(`${literal}|${letters[0] ?? ""}(?!)`, "i");
  if (op === "startsWith") return new BSONRegExp(`\\A${literal}`, "i");
  // To the end in one step and back from there: with `\z` behind it, the literal would be tried at every letter.
  return new BSONRegExp(`\\A.*\\z(?<=${literal})`, "is");
}

/** An emptied list is no value, but earlier versions have left some as they were. */
const NO_LINKS = [null, []];

/**
 * If the link is a single id in the document itself and the question is only about that id, no join is needed: a link never
 * dangles, and no row rule can hide the record. Nor where the question is only whether a list has links at all.
 */
function lowerOnKey(predicate: Relational, wanted: boolean, names: Names): Lowered | undefined {
  if (!isAboutKey(predicate)) return undefined;
  const { link } = predicate.relation;
  if (link.list) return plain({ [link.field]: wanted ? { $nin: NO_LINKS } : { $in: NO_LINKS } });
  if (predicate.kind === "exists")
    return plain({ [link.field]: { ...(wanted ? { $ne: null } : { $eq: null }), ...onlyLinks(link) } });
  const column = { ...predicate.target.idColumn, field: link.field };
  const { condition } = lower(onLink(predicate.where, column), wanted, names);
  return plain(mayBeMisfit(link) ? allOf([condition, { [link.field]: NO_LIST }]) : condition);
}

/** Can the predicate be answered from the link in the document itself? */
export function isAboutKey(predicate: Relational): boolean {
  const { relation, target, visible } = predicate;
  const { link } = relation;
  if (link.on !== "self" || visible.kind !== "always") return false;
  if (link.list) return asksForAny(predicate) && isOwnList(relation, target);
  return predicate.kind === "exists" || speaksOnlyOf(predicate.where, target.idColumn);
}

/**
 * Does the record hold a list in which each link is named once and leads to a record? Other programs write anything into a
 * list of theirs, and delete what one of ours leads to.
 */
export function isOwnList({ link }: Relation, target: Table): boolean {
  return link.on === "self" && link.list && link.isAdopted !== true && target.isAdopted !== true;
}

/** Does it ask for nothing but that there is a related record? `{"tags":{}}` of a to-many relation says the same. */
export function asksForAny(predicate: Relational): boolean {
  return predicate.kind === "exists" || (predicate.relation.many && predicate.where.kind === "always");
}

/** Does it ask nothing of a record but this column? What is the same for every record asks nothing. */
export function speaksOnlyOf(predicate: AuthorizedPredicate, column: Column): boolean {
  switch (predicate.kind) {
    case "always":
    case "never":
    case "unknown":
      return true;
    case "test":
      return predicate.column === column;
    case "not":
      return speaksOnlyOf(predicate.of, column);
    case "and":
    case "or":
      return predicate.of.every((each) => speaksOnlyOf(each, column));
    default:
      return false;
  }
}

/** The same predicate about the link to a record, by which it is unknown where there is no link. */
function onLink(predicate: AuthorizedPredicate, column: Column): AuthorizedPredicate {
  const nothing: Tested = { kind: "test", column, test: { op: "in", values: [] } };
  switch (predicate.kind) {
    case "always":
      return { kind: "not", of: nothing };
    case "never":
      return nothing;
    case "test":
      // No id is null.
      return predicate.test.op === "isNull" ? nothing : { ...predicate, column };
    case "not":
      return { kind: "not", of: onLink(predicate.of, column) };
    case "and":
    case "or":
      return { kind: predicate.kind, of: predicate.of.map((each) => onLink(each, column)) };
    default:
      return predicate;
  }
}

/**
 * Which truth of the inner predicate has to be asked for. To-many and bare existence are two-valued: false is "none
 * found". To-one is three-valued: false and unknown must be told apart.
 */
export function askedTruth(predicate: Relational, wanted: boolean): boolean {
  return wanted || predicate.kind === "exists" || predicate.relation.many;
}

/** What a related record must satisfy to decide the question. */
export function deciding(predicate: Relational, wanted: boolean): AuthorizedPredicate {
  const where: AuthorizedPredicate = predicate.kind === "exists" ? { kind: "always" } : predicate.where;
  return askedTruth(predicate, wanted) ? where : { kind: "not", of: where };
}

/** Does finding a record that decides the question make the predicate what is wanted, rather than the opposite? */
export function isFoundWanted(predicate: Relational, wanted: boolean): boolean {
  return wanted || !askedTruth(predicate, wanted);
}

/** Fetches one record that decides the question. */
function lowerJoined(predicate: Relational, wanted: boolean, names: Names): Lowered {
  const { relation, target, visible } = predicate;
  const inner = deciding(predicate, wanted);
  const as = names.next();
  const pipeline = [
    ...asChanged(relation, target, names.changed),
    ...matchStages([visible, inner], names),
    { $limit: 1 },
    { $project: { _id: 1 } },
  ];
  const found = isFoundWanted(predicate, wanted);
  const condition = { [as]: found ? { $ne: [] } : { $eq: [] } };
  return {
    joins: joinStages(relation, target, pipeline, as),
    condition: allOf([condition, whereKnown(predicate, wanted)]),
  };
}

/** The stage in a join that puts a record as it will be in the place of what is stored of it. */
function asChanged({ link }: Relation, target: Table, changed: Changed | undefined): Stage[] {
  // Which records hold a link to another one, only what is stored can tell.
  if (changed === undefined || link.on !== "self" || target.id !== changed.table.id) return [];
  const { document } = changed;
  const isIt = { $eq: ["$_id", { $literal: document._id ?? null }] };
  return [{ $replaceWith: { $cond: [isIt, { $literal: document }, "$$ROOT"] } }];
}

/**
 * Where a list stands in the place of a link, nobody knows that there is no related record: a rule for records without one, of
 * nobody, must not let it pass.
 */
export function whereKnown({ kind, relation: { link } }: Relational, wanted: boolean): Document {
  const isAsked = kind === "exists" && !wanted && link.on === "self";
  return isAsked && mayBeMisfit(link) ? { [link.field]: NO_LIST } : {};
}
