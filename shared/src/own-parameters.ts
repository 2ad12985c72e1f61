// Address text -> the parameters in it that are ours, decoded strictly. Others are ignored, unless they look like one of ours,
// or are what other APIs call one.
import { AppError } from "./app-error.js";

export const PARAMETERS = [
  "fields",
  "filter",
  "sort",
  "limit",
  "page",
  "meta",
  "deep",
  "aggregate",
  "explain",
  "format",
  "deleted",
] as const;
export type ParameterName = (typeof PARAMETERS)[number];

/** Switches of single calls: accepted where the call takes them, refused everywhere else. */
export const SWITCHES = ["dryRun", "permanent", "recursive", "flat"] as const;
const WORDS = ["confirm", "from", "lastEventId"] as const;
export type SwitchName = (typeof SWITCHES)[number];
export type OwnName = SwitchName | (typeof WORDS)[number];

const NAMES = [...PARAMETERS, ...SWITCHES, ...WORDS];
const KNOWN: ReadonlyMap<string, ParameterName | OwnName> = new Map(NAMES.map((name) => [name, name]));
/** Names in other APIs. Were they ignored, a list would answer as if it had been asked for nothing special. */
const ELSEWHERE: readonly (readonly [string, ParameterName])[] = [
  ["where", "filter"],
  ["search", "filter"],
  ["or", "filter"],
  ["and", "filter"],
  ["not", "filter"],
  ["select", "fields"],
  ["populate", "fields"],
  ["expand", "fields"],
  ["include", "fields"],
  ["keys", "fields"],
  ["order", "sort"],
  ["orderBy", "sort"],
  ["sortBy", "sort"],
  ["perPage", "limit"],
  ["pageSize", "limit"],
  ["pagination", "page"],
  ["offset", "page"],
  ["skip", "page"],
];
/** Names in other APIs of what there is not. */
const NOWHERE = new Set(["groupBy", "distinct"].map(spelling));
const MEANT = new Map([...ELSEWHERE, ...NAMES.map((name) => [name, name] as const)].map(bySpelling));

export interface OwnParameter {
  readonly name: ParameterName | OwnName;
  /** The name, and what follows it in bracket form. */
  readonly key: string;
  readonly value: string;
}

/**
 * Our parameters in an address, in their order.
 * @param search the raw text behind `?`, undecoded
 * @param others gets the names of the others
 * @throws AppError 400 for what can't be decoded, and for a name that is one of ours misspelt, or its name elsewhere
 */
export function ownParameters(search: string, others: string[] = []): OwnParameter[] {
  const found: OwnParameter[] = [];
  for (const pair of search.split("&")) {
    if (pair === "") continue;
    const [key, value] = decodePair(pair);
    const bracket = key.indexOf("[");
    const outer = bracket < 0 ? key : key.slice(0, bracket);
    const name = ownName(outer);
    if (name === undefined) others.push(outer);
    else found.push({ name, key, value });
  }
  return found;
}

/** A 400 that begins with the name of the parameter. */
export function refuseParameter(name: string, problem: string): AppError {
  return new AppError("BAD_REQUEST", { message: `${name}: ${problem}`, details: { path: name } });
}

/** @returns undefined for a name that is not ours */
function ownName(text: string): ParameterName | OwnName | undefined {
  const known = KNOWN.get(text);
  if (known !== undefined) return known;
  // `filter.age` is how refusals call a place inside `filter`.
  const [outer = "", ...inside] = text.split(/[.:]/);
  const meant = MEANT.get(spelling(text)) ?? (inside.length > 0 ? MEANT.get(spelling(outer)) : undefined);
  // If `dryrun` were ignored, a delete that was only to be tried would really happen.
  if (meant !== undefined) {
    const counts = meant === "page" ? ', which counts pages of "limit" from 1' : "";
    throw refuseParameter(text.slice(0, 64), `is no parameter; did you mean "${meant}"${counts}?`);
  }
  if (NOWHERE.has(spelling(text)))
    throw refuseParameter(
      text.slice(0, 64),
      'is no parameter; there are no groups, and "aggregate" is over all that "filter" matches',
    );
  return undefined;
}

function bySpelling<Meant>([name, meant]: readonly [string, Meant]): [string, Meant] {
  return [spelling(name), meant];
}

/**
 * A name without its case, `-`, `_`, dots, colons, blanks, plural, and what is left of an `&amp;` or of a second `?`. A `key` is
 * something else than `keys`.
 */
function spelling(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\?|^amp;/, "")
    .replaceAll(/[-_.:\s\p{Cc}\p{Cf}]/gu, "")
    .replace(/(?<!^key)s$/, "");
}

function decodePair(pair: string): [string, string] {
  const equals = pair.indexOf("=");
  const key = equals < 0 ? pair : pair.slice(0, equals);
  const value = equals < 0 ? "" : pair.slice(equals + 1);
  try {
    return [decodeText(key), decodeText(value)];
  } catch {
    throw refuseParameter(key.slice(0, 64), "is not valid percent-encoded UTF-8");
  }
}

function decodeText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
