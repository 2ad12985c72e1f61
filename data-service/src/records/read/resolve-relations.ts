// Relations in a predicate -> their keys, where these are few: asks for them. In a row rule they take no relation's place; they
// say beside it where to look.
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import type { TableRead } from "../../query/advice/shape.js";
import { isFoundByIndex } from "../../query/advice/suggest.js";
import { linkIn } from "../../query/as-read.js";
import type { AuthorizedPredicate, AuthorizedRelated } from "../../query/ast.js";
import { withNarrowVisible, withWhere } from "../../query/authorize-read.js";
import { leavesIn } from "../../query/leaves.js";
import {
  askedTruth,
  conjunctsOf,
  deciding,
  isAboutKey,
  isOnRelated,
  isRelational,
} from "../../query/lower/condition.js";
import type { Stage, StoredRecord } from "../../query/lower/document.js";
import { answered, distinctKeyQuestion, keyField, keyQuestion } from "../../query/plan/key-question.js";
import { KeyRoom } from "../../query/plan/key-room.js";
import { MOST_RULE_KEYS } from "../../query/plan/thresholds.js";

/** Children per parent, among those seen, from which asking for the parents alone is worth a second question. */
const CROWD = 4;

/** Asks one table. @param about what advice on indexes goes by */
export type Ask = (
  table: Table,
  pipeline: Stage[],
  about?: { readonly read?: TableRead; readonly needs?: number },
) => Promise<StoredRecord[]>;

export interface Resolver {
  readonly ask: Ask;
  /** Of one relation. */
  readonly maxKeys: number;
  /** For those of all relations. */
  readonly room: KeyRoom;
  /** For the row rules of the tables that are asked. */
  readonly narrow: Narrow;
  /**
   * Whether the predicate is a row rule, which every list brings along: then nothing is asked that may read more than the keys.
   */
  readonly isForRule?: boolean;
}

/** Replaces relations by their keys, innermost first, where the keys are few. @param wanted see lower/condition */
export async function resolve(
  resolver: Resolver,
  predicate: AuthorizedPredicate,
  wanted: boolean,
): Promise<AuthorizedPredicate> {
  switch (predicate.kind) {
    case "and":
    case "or":
      return {
        ...predicate,
        of: await Promise.all(predicate.of.map((each) => resolve(resolver, each, wanted))),
      };
    case "not":
      return { kind: "not", of: await resolve(resolver, predicate.of, !wanted) };
    case "related":
      return isAboutKey(predicate) ? predicate : resolveRelated(resolver, predicate, wanted);
    default:
      return predicate;
  }
}

async function resolveRelated(
  resolver: Resolver,
  predicate: AuthorizedRelated,
  wanted: boolean,
): Promise<AuthorizedPredicate> {
  const { ask, maxKeys, room, narrow, isForRule = false } = resolver;
  const { target, visible } = predicate;
  const [where, narrowing] = await Promise.all([
    resolve(resolver, predicate.where, askedTruth(predicate, wanted)),
    namesRecords(deciding(predicate, wanted), target) ? [] : narrow(visible),
  ]);
  const inner = withWhere(predicate, where);
  if (isForRule && (isRelational(where) || !isFoundByIndex(where, target))) return inner;
  const asked = withNarrowVisible(inner, narrowing);
  const read = { table: target, predicates: [asked.visible, where], sort: [] };
  const stand = (keys: readonly Stored[]): AuthorizedPredicate =>
    room.takes(keys) ? answered(inner, wanted, keys) : inner;
  const documents = await ask(target, keyQuestion(asked, wanted, maxKeys), { read });
  const keys = documents.flatMap((document) => linkIn(document[keyField(predicate)]));
  if (documents.length <= maxKeys) return stand(keys);
  if (isForRule || !repeats(keys)) return inner;
  const distinct = await ask(target, distinctKeyQuestion(asked, wanted, maxKeys));
  return distinct.length > maxKeys ? inner : stand(distinct.flatMap(({ _id }) => linkIn(_id)));
}

/**
 * What a row rule means for the fields of the record itself, where the keys behind its relations are few: without it, every
 * record that the caller may not see would be joined, until the page is full.
 */
export type Narrow = (rule: AuthorizedPredicate) => Promise<readonly AuthorizedPredicate[]>;

/** Asks about each rule once, however many relations lead to its table. Inside of a rule there are no rules of callers. */
export function narrower(ask: Ask, maxKeys: number): Narrow {
  const most = Math.min(maxKeys, MOST_RULE_KEYS);
  const room = new KeyRoom();
  const resolver: Resolver = { ask, maxKeys: most, room, narrow: async () => [], isForRule: true };
  const known = new Map<AuthorizedPredicate, Promise<AuthorizedPredicate>>();
  return async (rule) => {
    const narrowing = conjunctsOf(rule)
      .filter(mayNarrow)
      .map((each) => getOrMake(known, each, () => resolve(resolver, each, true)));
    return (await Promise.all(narrowing)).filter((each) => !isRelational(each));
  };
}

/** What names records, by id or another unique column, looks at few of them anyway. */
export function namesRecords(filter: AuthorizedPredicate, { idColumn }: Table): boolean {
  return conjunctsOf(filter).some((each) => {
    if (each.kind !== "test") return false;
    const { column, test } = each;
    return (column === idColumn || column.unique) && (test.op === "eq" || test.op === "in");
  });
}

/** Can keys take the place of every relation in it? */
function mayNarrow(predicate: AuthorizedPredicate): boolean {
  const related = leavesIn(predicate).filter(isOnRelated);
  return (
    related.length > 0 && related.every(({ kind }) => kind === "related") && !negatesRelations(predicate)
  );
}

/** All but a few records are no place to look. */
function negatesRelations(predicate: AuthorizedPredicate): boolean {
  if (predicate.kind === "and" || predicate.kind === "or") return predicate.of.some(negatesRelations);
  return predicate.kind === "not" && isRelational(predicate.of);
}

/** Children that crowd at a few parents: then all of their parents may still be few. */
function repeats(keys: readonly Stored[]): boolean {
  return new Set(keys.map(String)).size * CROWD <= keys.length;
}
