// Text searches -> the same with a condition beside them that an index can answer. Pure.
//
// A case-insensitive pattern can't use an index, so MongoDB would read every key or record. Grams of the text that is
// searched for, or its beginning in every case, narrow that down; the pattern stays and decides. Only where a test must be
// true: grams can't find records for which it is false or unknown. And not inside joins, which find records by key.
import { casesOf } from "../../catalog/case-fold.js";
import type { Column } from "../../catalog/catalog.js";
import { ANY_GRAM, gramField, lookedUpGrams, spread } from "../../catalog/grams.js";
import type { AuthorizedPredicate, Candidates, Tested } from "../ast.js";
import { prefixPattern } from "../lower/condition.js";
import type { Stage, StoredRecord } from "../lower/document.js";

/** Which grams to look up for a search; if that was not asked, MongoDB chooses among a few. */
export type Rarest = ReadonlyMap<Tested, readonly string[]>;

/** The predicate, wanted to be true, with candidates wherever an index has them. */
export function withCandidates(
  predicate: AuthorizedPredicate,
  rarest: Rarest = new Map(),
  wanted = true,
): AuthorizedPredicate {
  switch (predicate.kind) {
    case "and":
    case "or":
      return { kind: predicate.kind, of: predicate.of.map((each) => withCandidates(each, rarest, wanted)) };
    case "not":
      return { kind: "not", of: withCandidates(predicate.of, rarest, !wanted) };
    case "test": {
      const candidates = wanted ? candidatesOf(predicate, rarest) : [];
      return candidates.length === 0 ? predicate : { kind: "and", of: [...candidates, predicate] };
    }
    default:
      return predicate;
  }
}

function candidatesOf(tested: Tested, rarest: Rarest): readonly Candidates[] {
  const { column, test } = tested;
  if (test.op === "startsWith" && column.indexed) return byBeginning(column, test.text);
  return (rarest.get(tested) ?? tried(gramsOf(tested))).map((gram) => ({
    kind: "candidates",
    field: gramField(column),
    // Records that nobody has indexed yet have none (null).
    values: [null, ANY_GRAM],
    prefixes: [gram],
  }));
}

function gramsOf({ column, test }: Tested): readonly string[] {
  if (!column.searchable || (test.op === "startsWith" && column.indexed)) return [];
  const isSearch = test.op === "contains" || test.op === "startsWith" || test.op === "endsWith";
  return isSearch ? lookedUpGrams(test.text) : [];
}

/** Each is a plan that MongoDB tries for a while before it settles for one. */
const MOST_TRIED = 3;

function tried(grams: readonly string[]): readonly string[] {
  return spread(grams, MOST_TRIED);
}

/** The searches in a predicate, wanted to be true, for which it is worth asking which gram is rarest. */
export function searchesOf(predicate: AuthorizedPredicate, wanted = true): readonly Tested[] {
  switch (predicate.kind) {
    case "and":
    case "or":
      return predicate.of.flatMap((each) => searchesOf(each, wanted));
    case "not":
      return searchesOf(predicate.of, !wanted);
    case "test":
      return wanted && gramsOf(predicate).length > 1 ? [predicate] : [];
    default:
      return [];
  }
}

/** How many keys are counted for each gram; a key takes a microsecond. */
const MOST_COUNTED = 2_000;

/** The pipeline on the table's collection that counts the records of each gram (`_id`), up to a limit. */
export function rarityQuestion(search: Tested, collection: string): Stage[] {
  const [first = [], ...others] = gramsOf(search).map((gram): Stage[] => [
    { $match: { [gramField(search.column)]: prefixPattern(gram) } },
    { $limit: MOST_COUNTED },
    { $group: { _id: { $literal: gram }, records: { $sum: 1 } } },
  ]);
  return [...first, ...others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }))];
}

/** The rarest gram; if all are too frequent to have been counted, those that are to be tried. */
export function rarestOf(search: Tested, counts: readonly StoredRecord[]): readonly string[] {
  const known = new Map(counts.map(({ _id, records }) => [String(_id), Number(records)]));
  const countOf = (gram: string): number => known.get(gram) ?? 0;
  const grams = gramsOf(search);
  const [rarest = ""] = grams.toSorted((a, b) => countOf(a) - countOf(b));
  return countOf(rarest) < MOST_COUNTED ? [rarest] : tried(grams);
}

function byBeginning({ field }: Column, text: string): readonly Candidates[] {
  const prefixes = beginnings(text);
  return prefixes.length === 0 ? [] : [{ kind: "candidates", field, values: [], prefixes }];
}

/** How many ranges of an index are read for one beginning. */
const MOST_BEGINNINGS = 16;
const LONGEST_BEGINNING = 16;

/**
 * The beginning of the text in every case, as long as that gives only a few; none if already its first letter gives more.
 */
export function beginnings(text: string): readonly string[] {
  let spellings = [""];
  for (const letter of Array.from(text).slice(0, LONGEST_BEGINNING)) {
    const cases = casesOf(letter);
    if (spellings.length * cases.length > MOST_BEGINNINGS || letter < " ") break;
    spellings = spellings.flatMap((beginning) => cases.map((each) => beginning + each));
  }
  return spellings[0] === "" ? [] : spellings;
}
