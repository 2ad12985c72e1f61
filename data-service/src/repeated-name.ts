// Names that an object of a JSON text has twice. `JSON.parse` keeps the last and drops the others without a word: of a
// filter that is one condition fewer than was written.
import { isArray, type Json, type JsonObject } from "./json.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * The place of the first member whose object has another of its name: `title`, `author.name`, `[3].title`.
 * @param text valid JSON
 * @param json what `JSON.parse` has made of it
 */
export function repeatedName(text: string, json: Json): string | undefined {
  // Counting is quick, and says whether it is worth looking.
  return membersWritten(text) === membersKept(json) ? undefined : findRepeated(text);
}

/** Outside of texts, a colon occurs only in members. */
function membersWritten(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (code === COLON) count += 1;
  }
  return count;
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
    // A body has a hundred thousand members: a list of their values for each object would cost more than all the rest.
    for (const name in top) {
      count += 1;
      note(top[name]);
    }
  }
  return count;
}

/** The position of the quote that ends the text which begins with the quote at this one. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    // An even number of backslashes are characters of the text.
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

/** An object or a list that is still open, and where in it the scan is. */
type Open = { readonly names: Set<string>; name: string } | { at: number };

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
          // As it is read, not as it is spelled.
          inner.name = String(JSON.parse(last));
          if (inner.names.has(inner.name)) return placeOf(open);
          inner.names.add(inner.name);
        }
    }
  }
  return undefined;
}

function placeOf(open: readonly Open[]): string {
  return open
    .map((each) => ("at" in each ? `[${each.at}]` : `.${each.name}`))
    .join("")
    .replace(/^\./, "");
}
