// Address text -> the query's parameters, each at most once, decoded strictly, JSON parsed and measured.
import { isObject, type Json, type JsonObject, nestsDeeperThan } from "../json.js";
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

/** What changes the meaning of a write; taken where a call says so, and refused everywhere else. */
const SWITCHES = ["dryRun", "permanent", "recursive"] as const;
export type SwitchName = (typeof SWITCHES)[number];

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

/**
 * A switch of a call that is not part of the query language, off unless it is named.
 * @param search the raw text behind `?`
 * @throws AppError 400 for anything but true and false, and for several
 */
export function readFlag(search: string, name: SwitchName | "flat"): boolean {
  const [value = "false", ...more] = new URLSearchParams(search).getAll(name);
  if (more.length === 0 && (value === "true" || value === "false")) return value === "true";
  throw refuse(name, "must be true or false");
}

const JSON_PARAMETERS: readonly ParameterName[] = ["filter", "deep", "aggregate"];

/**
 * Reads the parameters of an address.
 * @param search the raw text behind `?`, undecoded
 * @param allowed the parameters that apply to this call; our other ones are refused, foreign ones ignored
 * @param switches those that apply; read with `readFlag`
 * @throws AppError 400 naming the parameter
 */
export function readParameters(
  search: string,
  allowed: readonly ParameterName[] = PARAMETERS,
  switches: readonly SwitchName[] = [],
): Parameters {
  const values = new Map<ParameterName, string>();
  const brackets: [key: string, value: string][] = [];
  for (const pair of search.split("&")) {
    if (pair === "") continue;
    const [key, value] = decodePair(pair);
    const bracket = key.indexOf("[");
    const text = bracket < 0 ? key : key.slice(0, bracket);
    refuseSwitch(text, bracket < 0 ? switches : []);
    const name = parameterName(text);
    if (name === undefined) continue;
    if (!allowed.includes(name)) throw refuse(name, "does not apply to this call");
    if (bracket >= 0) brackets.push([key, value]);
    else if (values.has(name)) throw refuse(name, "is given twice");
    else values.set(name, value);
  }
  return assemble(values, brackets);
}

/** Ignored, it would have made a delete of what was meant as a look. */
function refuseSwitch(text: string, allowed: readonly SwitchName[]): void {
  const found = SWITCHES.find((each) => each === text);
  if (found !== undefined && !allowed.includes(found)) throw refuse(found, "does not apply to this call");
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
  values: ReadonlyMap<ParameterName, string>,
  brackets: readonly [string, string][],
): Parameters {
  const parameters: Record<string, Json> = {};
  for (const [name, text] of values) {
    parameters[name] = JSON_PARAMETERS.includes(name) ? parseJson(name, text) : text;
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
