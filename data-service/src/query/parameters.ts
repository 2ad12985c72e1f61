// Address text -> the query's parameters, each at most once, decoded strictly, JSON parsed and measured.
import { isObject, type Json, type JsonObject, nestsDeeperThan } from "../json.js";
import { repeatedName } from "../repeated-name.js";
import { checkFilterLength } from "./bind-filter.js";
import { LIMITS } from "./limits.js";
import { refuse } from "./refuse.js";
import { parseBrackets } from "./syntax/bracket.js";

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

/** What a call is told besides a query: taken where it says so, and refused everywhere else. */
const SWITCHES = ["dryRun", "permanent", "recursive", "flat"] as const;
const WORDS = ["confirm", "from"] as const;
export type SwitchName = (typeof SWITCHES)[number];
export type OwnName = SwitchName | (typeof WORDS)[number];

const NAMES = [...PARAMETERS, ...SWITCHES, ...WORDS];

/** What the address of a call says. */
export interface Call<Own extends OwnName> {
  readonly parameters: Parameters;
  /** A switch is off unless it is named. */
  isOn(name: Own & SwitchName): boolean;
  /** As it was given. */
  textOf(name: Own): string | undefined;
}

/** The parameters as the client gave them: text of the address, or JSON of a QUERY body. */
export interface Parameters {
  readonly fields?: Json;
  readonly filter?: Json;
  /** The filter came in bracket form, so its operands are text. */
  readonly filterFromText: boolean;
  readonly sort?: Json;
  readonly limit?: Json;
  readonly page?: Json;
  readonly meta?: Json;
  readonly deep?: Json;
  readonly aggregate?: Json;
  readonly explain?: Json;
  readonly format?: Json;
  /** See records/asked-rows. */
  readonly deleted?: Json;
}

const JSON_PARAMETERS: readonly ParameterName[] = ["filter", "deep", "aggregate"];

/**
 * Reads the parameters of an address.
 * @param search the raw text behind `?`, undecoded
 * @param allowed the parameters that apply to this call; our other ones are refused, foreign ones ignored
 * @throws AppError 400 naming the parameter
 */
export function readParameters(search: string, allowed: readonly ParameterName[] = PARAMETERS): Parameters {
  return readCall(search, allowed, []).parameters;
}

/**
 * Reads the address of a call that takes more than a query.
 * @param own what it takes besides `allowed`
 * @throws AppError 400 naming the parameter
 */
export function readCall<Own extends OwnName>(
  search: string,
  allowed: readonly ParameterName[],
  own: readonly Own[],
): Call<Own> {
  const values = new Map<ParameterName | OwnName, string>();
  const brackets: [key: string, value: string][] = [];
  const applying: readonly string[] = [...allowed, ...own];
  for (const pair of search.split("&")) {
    if (pair === "") continue;
    const [key, value] = decodePair(pair);
    const bracket = key.indexOf("[");
    const name = nameOf(bracket < 0 ? key : key.slice(0, bracket));
    if (name === undefined) continue;
    // Ignored, it would have made a delete of what was meant as a look.
    if (!applying.includes(name)) throw refuse(name, "does not apply to this call");
    if (bracket >= 0) brackets.push([key, value]);
    else if (values.has(name)) throw refuse(name, "is given twice");
    else values.set(name, value);
  }
  for (const name of SWITCHES) requireSwitch(name, values.get(name));
  return {
    parameters: assemble(values, brackets),
    isOn: (name) => values.get(name) === "true",
    textOf: (name) => values.get(name),
  };
}

function requireSwitch(name: SwitchName, value = "false"): void {
  if (value !== "true" && value !== "false") throw refuse(name, "must be true or false");
}

function nameOf(text: string): ParameterName | OwnName | undefined {
  return NAMES.find((each) => each === text);
}

function parameterName(text: string): ParameterName | undefined {
  return PARAMETERS.find((each) => each === text);
}

function decodePair(pair: string): [string, string] {
  const equals = pair.indexOf("=");
  const key = equals < 0 ? pair : pair.slice(0, equals);
  const value = equals < 0 ? "" : pair.slice(equals + 1);
  try {
    return [decodeText(key), decodeText(value)];
  } catch {
    throw refuse(key.slice(0, 64), "is not valid percent-encoded UTF-8");
  }
}

function decodeText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function assemble(
  values: ReadonlyMap<ParameterName | OwnName, string>,
  brackets: readonly [string, string][],
): Parameters {
  const parameters: Record<string, Json> = {};
  for (const name of PARAMETERS) {
    const text = values.get(name);
    if (text !== undefined) parameters[name] = JSON_PARAMETERS.includes(name) ? parseJson(name, text) : text;
  }
  if (brackets.length === 0) return { ...parameters, filterFromText: false };
  const stray = brackets.find(([key]) => !key.startsWith("filter["));
  if (stray !== undefined) throw refuse(stray[0].slice(0, 64), "only filter has a bracket form");
  if (values.has("filter")) throw refuse("filter", "is given twice, as JSON and in bracket form");
  checkFilterLength(
    brackets.reduce((sum, [key, value]) => sum + key.length + value.length, 0),
    "filter",
  );
  return { ...parameters, filter: parseBrackets(brackets), filterFromText: true };
}

function parseJson(name: ParameterName, text: string): Json {
  checkFilterLength(text.length, name);
  const json = tryParse(name, text);
  if (nestsDeeperThan(json, LIMITS.jsonDepth))
    throw refuse(name, `nests deeper than ${LIMITS.jsonDepth} levels`);
  return json;
}

function tryParse(name: ParameterName, text: string): Json {
  const json = parsed(name, text);
  const repeated = repeatedName(text, json);
  if (repeated !== undefined)
    throw refuse(
      `${name}${repeated.startsWith("[") ? "" : "."}${repeated}`,
      "is given twice; only one would count",
    );
  return json;
}

function parsed(name: ParameterName, text: string): Json {
  try {
    const json: Json = JSON.parse(text);
    return json;
  } catch {
    throw refuse(
      name,
      'is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}',
    );
  }
}

/**
 * Reads the parameters of a QUERY body: the same names, JSON where the address has text.
 * @throws AppError 400 naming the parameter
 */
export function parametersOfBody(body: Json): Parameters {
  if (!isObject(body)) throw refuse("body", "must be a JSON object with the parameters of the query");
  if (nestsDeeperThan(body, LIMITS.jsonDepth))
    throw refuse("body", `nests deeper than ${LIMITS.jsonDepth} levels`);
  checkBodyFilter(body);
  for (const key of Object.keys(body)) {
    if (parameterName(key) === undefined) throw refuse(key, `is no parameter; use ${PARAMETERS.join(", ")}`);
  }
  return { ...body, filterFromText: false };
}

function checkBodyFilter(body: JsonObject): void {
  for (const name of JSON_PARAMETERS) {
    const value = body[name];
    if (value !== undefined) checkFilterLength(JSON.stringify(value).length, name);
  }
}
