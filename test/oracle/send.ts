// Sends a list call in each of the ways the contract has, and gives the whole answer.
import { type Answer, type Api, search } from "../support/api.js";
import type { Transport } from "./blueprint.js";
import type { Parameters } from "./evaluate.js";
import { isObject, type Json, type JsonObject } from "./model.js";

/** Longer addresses go as a body: heads of requests are limited. */
const LONGEST_ADDRESS = 8000;

export function send(api: Api, transport: Transport, table: string, parameters: Parameters): Promise<Answer> {
  if (transport === "query") return withBody(api, "QUERY", table, parameters);
  if (transport === "override") return withBody(api, "POST", table, parameters);
  const bracketed = transport === "brackets" ? inBrackets(parameters) : undefined;
  const query = bracketed ?? search({ ...parameters });
  if (query.length > LONGEST_ADDRESS) return withBody(api, "QUERY", table, parameters);
  return api.send("GET", `/${table}${query}`);
}

function withBody(api: Api, method: string, table: string, parameters: Parameters): Promise<Answer> {
  const override = method === "POST" ? { "X-HTTP-Method-Override": "QUERY" } : {};
  return api.send(method, `/${table}`, {
    body: JSON.stringify(parameters),
    headers: { "Content-Type": "application/json", ...override },
  });
}

/** `?filter[a][_eq]=1`; undefined when the filter can't be said that way. */
function inBrackets({ filter, ...others }: Parameters): string | undefined {
  if (filter === undefined || Object.keys(filter).length === 0) return undefined;
  const pairs = pairsOf("filter", filter);
  if (pairs === undefined) return undefined;
  const rest = search(others).replace(/^\?/, "");
  const written = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `?${[...written, ...(rest === "" ? [] : [rest])].join("&")}`;
}

function pairsOf(path: string, value: Json): [string, string][] | undefined {
  if (Array.isArray(value) && value.length > 0 && value.every(isPlain)) return [[path, value.join(",")]];
  if (isObject(value) && Object.keys(value).length > 0) return pairsOfMembers(path, value);
  if (Array.isArray(value) && value.length > 0 && value.every(isObject)) {
    return pairsOfMembers(path, Object.fromEntries(value.entries()));
  }
  return isPlain(value) ? [[path, String(value)]] : undefined;
}

function pairsOfMembers(path: string, members: JsonObject): [string, string][] | undefined {
  const pairs: [string, string][] = [];
  for (const [key, one] of Object.entries(members)) {
    const inner = pairsOf(`${path}[${key}]`, one);
    if (inner === undefined) return undefined;
    pairs.push(...inner);
  }
  return pairs;
}

/** A value whose text needs no explanation: no comma, no empty text, no spaces at the ends, not the word null. */
function isPlain(value: Json): boolean {
  if (typeof value === "number" || typeof value === "boolean") return true;
  return (
    typeof value === "string" &&
    value !== "" &&
    value !== "null" &&
    value.trim() === value &&
    !value.includes(",")
  );
}
