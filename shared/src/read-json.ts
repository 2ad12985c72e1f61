// JSON text -> JSON, or what is wrong with it; reads everything that a client sends as JSON.
//
// `JSON.parse` keeps the last of several members of one name and silently drops the others: a filter would have one condition
// fewer than was written. And it takes any depth, which no recursive code behind it could.
import { isArray, type Json, type JsonObject } from "./json.js";

/** How many levels may be nested: a value of type `json` may use fifty, and records inside records a few. */
export const JSON_MAX_LEVELS = 100;

export type JsonRead =
  | { readonly kind: "json"; readonly json: Json }
  /** It is no JSON at all. */
  | { readonly kind: "malformed"; readonly cause: unknown }
  /** It is JSON, but too deep (then without `json`), or a name is repeated (then `json` has the last of its values). */
  | { readonly kind: "refused"; readonly problem: JsonProblem; readonly json?: Json };

export interface JsonProblem {
  /** Where: `title`, `author.name`, `[3].title`; empty for the whole text. */
  readonly place: string;
  readonly what: string;
}

export function readJson(text: string): JsonRead {
  const read = parsed(text);
  if (read.kind !== "json") return read;
  const { members, levels } = measure(text);
  if (levels > JSON_MAX_LEVELS) {
    const what = `nests deeper than ${JSON_MAX_LEVELS} levels`;
    return { kind: "refused", problem: { place: "", what } };
  }
  // Counting is quick, and tells whether it is worth searching.
  const place = members === membersKept(read.json) ? undefined : findRepeated(text);
  if (place === undefined) return read;
  const what = "is given twice in one object; only one would count";
  return { kind: "refused", problem: { place, what }, json: read.json };
}

/** A place in a text that is itself a member: `title` in the parameter `filter` is `filter.title`. */
export function placeIn(member: string, { place }: JsonProblem): string {
  return member + (place === "" || place.startsWith("[") ? "" : ".") + place;
}

function parsed(text: string): JsonRead {
  try {
    const json: Json = JSON.parse(text);
    return { kind: "json", json };
  } catch (cause) {
    return { kind: "malformed", cause };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BRACE = 0x7b;
const END_OF_BRACE = 0x7d;
const BRACKET = 0x5b;
const END_OF_BRACKET = 0x5d;

/** How many members a valid JSON text has (outside of strings, a colon occurs only in members), and how deep it nests. */
function measure(text: string): { readonly members: number; readonly levels: number } {
  let members = 0;
  let levels = 0;
  let open = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfText(text, at);
        break;
      case COLON:
        members += 1;
        break;
      case BRACE:
      case BRACKET:
        open += 1;
        if (open > levels) levels = open;
        break;
      case END_OF_BRACE:
      case END_OF_BRACKET:
        open -= 1;
    }
  }
  return { members, levels };
}

function membersKept(json: Json): number {
  let count = 0;
  const open: (JsonObject | readonly Json[])[] = [];
  const note = (value: Json | undefined): void => {
    if (typeof value === "object" && value !== null) open.push(value);
  };
  note(json);
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    if (isArray(top)) {
      for (const value of top) note(value);
      continue;
    }
    // A body may have a hundred thousand members; a list of values for each object would cost more than everything else.
    for (const name in top) {
      count += 1;
      note(top[name]);
    }
  }
  return count;
}

/** The position of the quote that closes the string opened at `start`. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    // After an even number of backslashes the quote is not escaped.
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

/** An object or a list that is still open, and where in it the scan is. */
type Open = { readonly names: Set<string>; name: string } | { at: number };

/** The place of the first member whose name is repeated in its object: `title`, `author.name`, `[3].title`. */
function findRepeated(text: string): string | undefined {
  const open: Open[] = [];
  let last = "";
  for (let at = 0; at < text.length; at += 1) {
    const inner = open.at(-1);
    switch (text[at]) {
      case "{":
        open.push({ names: new Set(), name: "" });
        break;
      case "[":
        open.push({ at: 0 });
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        if (inner !== undefined && "at" in inner) inner.at += 1;
        break;
      case '"': {
        const end = endOfText(text, at);
        last = text.slice(at, end + 1);
        at = end;
        break;
      }
      case ":":
        if (inner !== undefined && "names" in inner) {
          // The name as it is read, not as it is spelled with escapes.
          inner.name = String(JSON.parse(last));
          if (inner.names.has(inner.name)) return placeOf(open);
          inner.names.add(inner.name);
        }
    }
  }
  return undefined;
}

/** Longer names and places are cut; their beginning says enough. */
const [LONGEST_NAME, LONGEST_PLACE] = [64, 512];

function placeOf(open: readonly Open[]): string {
  return open
    .map((each) => ("at" in each ? `[${each.at}]` : `.${each.name.slice(0, LONGEST_NAME)}`))
    .join("")
    .replace(/^\./, "")
    .slice(0, LONGEST_PLACE);
}
