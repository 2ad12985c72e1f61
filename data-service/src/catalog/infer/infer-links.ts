// Which fields hold ids of other collections: first what is worth asking the database, then what its answers mean.
import { chooseFields } from "./choose-fields.js";
import { hintsAt } from "./infer-names.js";
import { type CollectionProfile, type FieldProfile, type Kind, kindsOf, type Seen } from "./profile.js";

/** "How many of the values in this field are ids there?" */
export interface LinkQuestion {
  readonly collection: string;
  readonly field: string;
  readonly target: string;
}

export interface LinkAnswer extends LinkQuestion {
  /** How many different values were looked up. */
  readonly asked: number;
  /** How many of them are an `_id` of the target. */
  readonly found: number;
}

export interface Link {
  readonly target: string;
  /** The field holds lists of ids. */
  readonly isList: boolean;
  /** How many of the values looked up lead nowhere. */
  readonly lost: number;
  readonly asked: number;
}

/** Kinds whose values don't occur in two collections by chance. */
const UNMISTAKABLE: readonly Kind[] = ["objectId", "uuid"];
/** A text of this length is a generated id, not a word or a number. */
const DRAWN_LENGTH = 16;

/**
 * What to ask: pairs of a field and a collection whose ids are of the same kind.
 * @param served collections that have tables already: fields may lead there, and nothing is asked about their own
 */
export function linkQuestions(
  collections: readonly CollectionProfile[],
  served: readonly CollectionProfile[],
): LinkQuestion[] {
  return collections.flatMap((collection) =>
    chooseFields(collection.fields).served.flatMap((field) =>
      [...collections, ...served]
        .filter((target) => couldLead(collection, field, target))
        .map((target) => ({ collection: collection.name, field: field.name, target: target.name })),
    ),
  );
}

function couldLead(collection: CollectionProfile, field: FieldProfile, target: CollectionProfile): boolean {
  const values = linkValues(field);
  if (values === undefined || target.documents === 0) return false;
  const ids = identityKinds(target.ids);
  const fits = [...identityKinds(values)].every((kind) => ids.has(kind));
  const isOwn = collection.name === target.name;
  return fits && (isUnmistakable(values) || hintsAt(field.name, target.name, isOwn));
}

/** The values that could be ids: those of the field, or those in its lists. */
function linkValues({ values, members }: FieldProfile): readonly Seen[] | undefined {
  const isList = values.length > 0 && values.every(({ type }) => type === "array");
  const candidates = isList ? members : values;
  const kinds = kindsOf(candidates);
  const isScalar = !(["object", "list", "other", "bytes", "flag", "time"] as const).some((kind) =>
    kinds.has(kind),
  );
  const isWhole = candidates.every(({ type, fractions = 0 }) => type !== "double" || fractions === 0);
  return candidates.length > 0 && isScalar && isWhole && !candidates.some(({ type }) => type === "null")
    ? candidates
    : undefined;
}

/** Numbers are equal whatever their type. */
function identityKinds(seen: readonly Seen[]): ReadonlySet<string> {
  const numbers: readonly Kind[] = ["whole", "long", "fraction", "decimal"];
  return new Set([...kindsOf(seen)].map((kind) => (numbers.includes(kind) ? "number" : kind)));
}

function isUnmistakable(values: readonly Seen[]): boolean {
  return values.every(
    (seen) =>
      [...kindsOf([seen])].every((kind) => UNMISTAKABLE.includes(kind)) ||
      (seen.type === "string" && (seen.shortest ?? 0) >= DRAWN_LENGTH),
  );
}

/**
 * Where a field leads, according to the answers about it.
 * @returns undefined when it is not a link, or leads to several collections
 */
export function linkOf(
  collection: string,
  field: FieldProfile,
  answers: readonly LinkAnswer[],
): Link | "several" | undefined {
  const hits = answers
    .filter((each) => each.collection === collection && each.field === field.name && each.found > 0)
    .toSorted((a, b) => b.found - a.found || hint(b) - hint(a));
  const [best, ...others] = hits;
  // Links to deleted documents are common; but if most lead nowhere, the field does not link to this collection.
  if (best === undefined || best.found * 2 < best.asked) return hits.length > 1 ? "several" : undefined;
  const isSure = best.found === best.asked && !others.some((other) => isEqual(best, other));
  if (others.length > 0 && !isSure) return "several";
  const isList = field.values.every(({ type }) => type === "array");
  return { target: best.target, isList, lost: best.asked - best.found, asked: best.asked };
}

/** Collections may have the same ids, like users and their profiles: then only the name tells which one is meant. */
function isEqual(best: LinkAnswer, other: LinkAnswer): boolean {
  return other.found === best.found && hint(other) === hint(best);
}

function hint({ collection, field, target }: LinkQuestion): number {
  return hintsAt(field, target, collection === target) ? 1 : 0;
}
