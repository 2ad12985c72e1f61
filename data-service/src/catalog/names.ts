// Which names a table, a column and a relation may have, and guesses at what was meant.
import { distance } from "fastest-levenshtein";
import { isOwnField } from "./own-fields.js";

const TABLE_NAME = /^[a-z][a-z0-9_]{0,62}$/;
const MEMBER_NAME_LENGTH = 63;
/** What columns and relations are called. */
export const MEMBER_NAME = new RegExp(`^[a-zA-Z][a-zA-Z0-9_]{0,${MEMBER_NAME_LENGTH - 1}}$`);

/** First path segments that belong to the service itself. */
const RESERVED_PATHS = new Set([
  "api",
  "assets",
  "auth",
  "docs",
  "healthz",
  "internal",
  "login",
  "logout",
  "me",
  "metadata",
  "metrics",
  "openapi",
  "readyz",
  "types",
]);

/** Ids whose address does not lead to a record: `/posts/changes` and `/posts/import` are separate calls. */
const RESERVED_IDS = new Set(["changes", "import"]);

/** Those that whoever parses an address takes for a step in its path, however they are encoded. */
const PATH_STEPS = new Set([".", ".."]);

/** What is wrong with the id given for a new record, or undefined. @param text the id as it stands in an address */
export function idProblem(text: string): string | undefined {
  if (text === "") return "must not be empty, for such a record has no address; choose another id";
  if (PATH_STEPS.has(text))
    return `must not be "${text}", for such a record has no address; choose another id`;
  return RESERVED_IDS.has(text) ? `must not be "${text}", the name of a call; choose another id` : undefined;
}

/** Members that every table has. */
export const GENERATED_NAMES = ["id", "createdAt", "updatedAt"] as const;

/** What is wrong with a new table's name, or undefined. */
export function tableNameProblem(name: string, systemPrefix: string): string | undefined {
  if (!TABLE_NAME.test(name)) {
    return "must begin with a lower-case letter and go on with lower-case letters, digits or _, 63 characters at most";
  }
  if (name.startsWith(systemPrefix))
    return `must not begin with "${systemPrefix}", which marks system tables`;
  if (isReservedPath(name) || isOfEveryObject(name)) return `"${name}" is reserved; choose another name`;
  return undefined;
}

/** Whether a first path segment belongs to the service itself, and to no table. */
export function isReservedPath(segment: string): boolean {
  return RESERVED_PATHS.has(segment);
}

/** `constructor`, `toString` …: they would confuse clients, and a document without such a field seems to have one. */
export function isOfEveryObject(name: string): boolean {
  return name in {};
}

/** What is wrong with a new column's or relation's name, or undefined. */
export function memberNameProblem(name: string): string | undefined {
  if (!MEMBER_NAME.test(name)) {
    return `must begin with a letter and go on with letters, digits or _, ${MEMBER_NAME_LENGTH} characters at most`;
  }
  if (GENERATED_NAMES.some((generated) => generated === name))
    return `"${name}" exists in every table by itself`;
  if (isOfEveryObject(name)) return `"${name}" is reserved; choose another name`;
  return undefined;
}

/** The name followed by the first number that makes it free. */
export function freeMemberName(wish: string, isTaken: (name: string) => boolean): string {
  for (let count = 2; ; count += 1) {
    const ending = `_${count}`;
    const name = wish.slice(0, MEMBER_NAME_LENGTH - ending.length) + ending;
    if (!isTaken(name)) return name;
  }
}

/**
 * What is wrong with the collection of an adopted table, or undefined. Portico's own collections begin with `_` and a
 * small letter, or with the prefix of the system tables.
 */
export function collectionNameProblem(name: string, systemPrefix: string): string | undefined {
  if (name === "" || name.includes("\0") || name.includes("$")) return "must be the name of a collection";
  const isOwn = /^_[a-z]/.test(name) || name.startsWith(systemPrefix) || name.startsWith("system.");
  return isOwn ? `"${name}" is not a collection of yours` : undefined;
}

/** What is wrong with a field of adopted documents, or undefined. */
export function fieldProblem(field: string): string | undefined {
  if (field === "" || field.startsWith("$") || field.includes(".") || field.includes("\0"))
    return "has a name that queries can't use";
  if (isOfEveryObject(field)) return "has a name that every JavaScript object has";
  return isOwnField(field) ? "has a name that is reserved for the service itself" : undefined;
}

/** `; did you mean "name"?` when one of the known names is similar, otherwise nothing. */
export function suggestion(unknown: string, known: Iterable<string>): string {
  const [nearest] = similarNames(unknown, known);
  return nearest === undefined ? "" : `; did you mean "${nearest}"?`;
}

/** The known names of which one may have been meant, the nearest first. */
export function similarNames(unknown: string, known: Iterable<string>): string[] {
  const beginning = unknown.slice(0, 64).toLowerCase();
  return [...known]
    .map((name) => ({ name, distance: distance(beginning, name.toLowerCase()) }))
    .filter((each) => isNear(each) || isSwap(unknown, each))
    .toSorted((one, other) => one.distance - other.distance)
    .map(({ name }) => name);
}

interface Measured {
  readonly name: string;
  readonly distance: number;
}

function isNear({ name, distance: far }: Measured): boolean {
  return far <= Math.max(1, Math.floor(name.length / 3));
}

/** Two letters swapped: two edits, but a single slip of the fingers. */
function isSwap(unknown: string, { name, distance: far }: Measured): boolean {
  const letters = (text: string): string => [...text.toLowerCase()].toSorted().join("");
  return far === 2 && unknown.length === name.length && letters(unknown) === letters(name);
}
