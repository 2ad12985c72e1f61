// Address text -> the query's parameters, each at most once, decoded strictly, JSON parsed and measured.
import { isObject, type Json } from "@portico/shared/json";
import {
  type OwnName,
  ownParameters,
  PARAMETERS,
  type ParameterName,
  SWITCHES,
  type SwitchName,
} from "@portico/shared/own-parameters";
import { placeIn, readJson } from "@portico/shared/read-json";
import { isLonger } from "./is-longer.js";
import { LIMITS } from "./limits.js";
import { type Path, refuse } from "./refuse.js";
import { parseBrackets } from "./syntax/bracket.js";

/** Parameters that shape a single record. */
export const SHAPE_PARAMETERS = ["fields", "deep"] as const;

/** What the address of a call says. */
export interface Call<Own extends OwnName> {
  readonly parameters: Parameters;
  /** A switch is off unless it is named. */
  isOn(name: Own & SwitchName): boolean;
  /** As it was given. */
  textOf(name: Own): string | undefined;
}

/** The parameters as the client gave them: what the text of the address stands for, or JSON of a QUERY body. */
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
  /** See records/read/asked-rows. */
  readonly deleted?: Json;
  /** Not from the client: only records whose ids an address can name. */
  readonly named?: true;
  /** Names in the address that are not ours, where there is a filter: one that is a member's was meant to be in it. */
  readonly others?: readonly string[];
}

const JSON_PARAMETERS: readonly ParameterName[] = ["filter", "deep", "aggregate"];
const NUMBER_PARAMETERS: readonly ParameterName[] = ["limit", "page"];
const NOT_APPLYING = "does not apply to this call";

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
  const others: string[] = [];
  for (const { name, key, value } of ownParameters(search, others)) {
    // If it were ignored, a delete that was only to be tried would really happen.
    if (!applying.includes(name)) throw refuse(name, NOT_APPLYING);
    if (key !== name) brackets.push([key, value]);
    else if (values.has(name)) throw refuse(name, "is given twice");
    else values.set(name, value);
  }
  for (const name of SWITCHES) requireSwitch(name, values.get(name));
  return {
    parameters: withOthers(assemble(values, brackets), applying.includes("filter") ? others : []),
    isOn: (name) => values.get(name) === "true",
    textOf: (name) => values.get(name),
  };
}

function withOthers(parameters: Parameters, others: readonly string[]): Parameters {
  return others.length === 0 ? parameters : { ...parameters, others };
}

function requireSwitch(name: SwitchName, value = "false"): void {
  if (value !== "true" && value !== "false") throw refuse(name, "must be true or false");
}

function parameterName(text: string): ParameterName | undefined {
  return PARAMETERS.find((each) => each === text);
}

function assemble(
  values: ReadonlyMap<ParameterName | OwnName, string>,
  brackets: readonly [string, string][],
): Parameters {
  const parameters: Record<string, Json> = {};
  for (const name of PARAMETERS) {
    const text = values.get(name);
    if (text === undefined) continue;
    checkLength(text, name);
    parameters[name] = fromText(name, text);
  }
  if (brackets.length === 0) return { ...parameters, filterFromText: false };
  const stray = brackets.find(([key]) => !key.startsWith("filter["));
  if (stray !== undefined) throw refuse(stray[0].slice(0, 64), "only filter has a bracket form");
  if (values.has("filter")) throw refuse("filter", "is given twice, as JSON and in bracket form");
  checkLength(brackets.flat().join(""), "filter");
  return { ...parameters, filter: parseBrackets(brackets), filterFromText: true };
}

/** What the text of an address stands for, which a body says in JSON; one that stands for nothing is refused by its reader. */
function fromText(name: ParameterName, text: string): Json {
  if (JSON_PARAMETERS.includes(name)) return parseJson(name, text);
  if (NUMBER_PARAMETERS.includes(name) && /^\d+$/.test(text)) return Number(text);
  if (name === "explain" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function parseJson(name: ParameterName, text: string): Json {
  const read = readJson(text);
  switch (read.kind) {
    case "json":
      return read.json;
    case "malformed":
      throw refuse(
        name,
        'is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}',
      );
    case "refused":
      throw refuse(placeIn(name, read.problem), read.problem.what);
  }
}

/**
 * Reads the parameters of a QUERY, which stand in its body: the same names, with JSON where the address has text. In its address
 * they would be ignored silently.
 * @throws AppError 400 naming the parameter
 */
export function readQuery(search: string, body: Json): Parameters {
  const others: string[] = [];
  for (const { name } of ownParameters(search, others))
    throw refuse(
      name,
      parameterName(name) === undefined ? NOT_APPLYING : "stands in the body of a QUERY, not in its address",
    );
  return withOthers(parametersOfBody(body), others);
}

/** @throws AppError 400 naming the parameter */
export function parametersOfBody(body: Json): Parameters {
  if (!isObject(body)) throw refuse("body", "must be a JSON object with the parameters of the query");
  for (const [key, value] of Object.entries(body)) {
    if (parameterName(key) === undefined)
      throw refuse(key.slice(0, 64), `is no parameter; use ${PARAMETERS.join(", ")}`);
    checkLength(JSON.stringify(value), key);
  }
  return { ...body, filterFromText: false };
}

/** Text counts as it is; the filter object of the bracket form, and whatever a body holds, count like their JSON text. */
function checkLength(text: string, path: Path): void {
  if (isLonger(text, LIMITS.parameterCharacters))
    throw refuse(path, `is longer than ${LIMITS.parameterCharacters} characters`);
}
