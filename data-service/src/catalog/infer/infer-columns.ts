// What was seen in a field -> the column that shows it as it is, and a remark where that is not obvious.
import type { DeclaredType } from "../column-types.js";
import { type FieldProfile, isSafe, type Kind, kindsOf, REFERENCE, type Seen } from "./profile.js";

export interface ColumnGuess {
  readonly type: DeclaredType;
  readonly values?: readonly string[];
  /** JSON can show it, but reading that JSON back would not give the same value. */
  readonly readOnly?: true;
  readonly note?: string;
}

const LONGEST_STRING = 255;
/** Lists of texts are lists of choices if each choice occurs often. */
const OFTEN = 5;

const WORDS: Readonly<Record<Kind, string>> = {
  text: "texts",
  whole: "numbers",
  long: "numbers",
  fraction: "numbers",
  decimal: "numbers",
  flag: "true or false",
  time: "times",
  objectId: "ObjectIds",
  uuid: "UUIDs",
  object: "objects",
  list: "lists",
  bytes: "bytes",
  other: "other values",
};

const TYPES: Readonly<Record<Exclude<Kind, "text" | "list" | "bytes" | "other">, DeclaredType>> = {
  whole: "int",
  long: "bigint",
  fraction: "float",
  decimal: "decimal",
  flag: "boolean",
  time: "datetime",
  objectId: "objectId",
  uuid: "uuid",
  object: "json",
};

/** The column type that every value seen in the field fits. @param complete whether all documents were seen */
export function guessColumn(field: FieldProfile, complete: boolean): ColumnGuess {
  const kinds = [...kindsOf(field.values)];
  const words = [...new Set(kinds.map((kind) => WORDS[kind]))];
  if (words.length === 0) return { type: "json", note: "only nulls, served as json" };
  if (words.length > 1) return { type: "json", note: `${listed(words)}, served as json` };
  return kinds.length > 1 ? guessNumber(field, kinds) : guessOne(field, kinds[0] ?? "other", complete);
}

/** The numeric type that holds all of them; a double can't hold every long. */
function guessNumber({ values }: FieldProfile, kinds: readonly Kind[]): ColumnGuess {
  if (!kinds.includes("decimal") && !kinds.includes("fraction")) return { type: "bigint" };
  if (!kinds.includes("decimal") && !kinds.includes("long")) return { type: "float" };
  return values.every(isExact) ? { type: "decimal" } : { type: "json", note: NO_DECIMAL };
}

const NO_DECIMAL =
  "doubles among decimals or great whole numbers, served as json; once all are converted to Decimal128, a decimal column shows them";

/** Of other doubles, the digits that are shown are not quite the number that is compared. */
function isExact({ type, fractions = 0, least, greatest }: Seen): boolean {
  return type !== "double" || (fractions === 0 && isSafe(least) && isSafe(greatest));
}

function guessOne(field: FieldProfile, kind: Kind, complete: boolean): ColumnGuess {
  if (kind === "text") {
    const longest = Math.max(...field.values.map((seen) => seen.longest ?? 0));
    return { type: longest > LONGEST_STRING ? "text" : "string" };
  }
  if (kind === "list") return guessList(field, complete);
  if (kind === "bytes") return { type: "json", readOnly: true, note: "bytes, served as base64, read-only" };
  if (kind === "other") {
    const types = listed(field.values.map(({ type }) => type));
    return { type: "json", readOnly: true, note: `values of the type ${types}, served as json, read-only` };
  }
  return { type: TYPES[kind] };
}

function guessList({ members, words }: FieldProfile, complete: boolean): ColumnGuess {
  const count = members.reduce((sum, seen) => sum + seen.count, 0);
  const isChoice =
    complete &&
    words !== undefined &&
    words.length > 0 &&
    !words.includes("") &&
    count >= OFTEN * words.length;
  if (isChoice) {
    const note = `lists of ${words.length} different texts, served as enumList; other texts must be added to its options`;
    return { type: "enumList", values: words, note };
  }
  if (members.some(({ type }) => type === REFERENCE)) {
    const note = `lists with values of the type ${REFERENCE}, served as json, read-only`;
    return { type: "json", readOnly: true, note };
  }
  return { type: "json" };
}

function listed(words: readonly string[]): string {
  return [words.slice(0, -1).join(", "), words.at(-1) ?? ""].filter((part) => part !== "").join(" and ");
}
