// Searchable columns: which parts of a text are stored beside it, and which of them a search looks up.
//
// A text's grams are stored: the five letters that begin at each of its letters, and the shorter ends. A search looks up
// grams by three to five letters that they begin with, so that a rare part leads to few records.
//
// A record without the field has not been indexed yet, so every search takes it for a candidate: no answer depends on how
// far filling has come (records/derived/fill-search). That is why null has an empty list and not nothing.
import { LRUCache } from "lru-cache";
import { getOrMake } from "../get-or-make.js";
import { foldLetter } from "./case-fold.js";
import type { Column } from "./catalog.js";
import { OWN_FIELDS } from "./own-fields.js";

const LENGTH = 5;
/** Shorter pieces occur in too many texts to be worth looking up. */
const SHORTEST = 3;

/** A text with more different grams is a candidate of every search; MongoDB indexes 100,000 per document. */
const MOST_STORED = 10_000;
/** And so is a longer one, whose grams take long to make: nearly all of these have too many anyway. */
const MOST_CHARACTERS = 100_000;

/** Made a moment ago: each rule that may allow a write asks for them, and each record that gets the same value. */
const REMEMBERED_FROM = 1_000;
const madeLately = new LRUCache<string, readonly string[]>({ max: 10 });

/** For a long part a few are enough: grams from different places are rare together. */
const MOST_LOOKED_UP = 4;

/** Stands for every gram. */
export const ANY_GRAM = "";

/** Where the grams of a column are stored. */
export function gramField(column: Pick<Column, "field">): string {
  return OWN_FIELDS.grams.prefix + column.field;
}

/** Those of the columns that have grams. */
export function searchableOf<Kind extends Pick<Column, "searchable">>(columns: Iterable<Kind>): Kind[] {
  return [...columns].filter((column) => column.searchable);
}

/** Where the grams of those columns that are searchable are stored. */
export function gramFieldsOf(columns: Iterable<Pick<Column, "field" | "searchable">>): string[] {
  return searchableOf(columns).map(gramField);
}

/** What is stored beside a value. @param value a text; anything else has no grams that could be known */
export function storedGrams(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "string" || value.length > MOST_CHARACTERS) return [ANY_GRAM];
  if (value.length < REMEMBERED_FROM) return gramsOf(value);
  return getOrMake<string, readonly string[]>(madeLately, value, () => gramsOf(value));
}

function gramsOf(text: string): readonly string[] {
  const found = new Set<string>();
  const letters: string[] = [];
  for (const letter of text) {
    letters.push(foldLetter(letter));
    if (letters.length < LENGTH) continue;
    found.add(letters.join(""));
    letters.shift();
    if (found.size > MOST_STORED) return [ANY_GRAM];
  }
  // The shorter ends.
  for (; letters.length >= SHORTEST; letters.shift()) found.add(letters.join(""));
  return found.size > MOST_STORED ? [ANY_GRAM] : [...found];
}

/** What a new record gets for its searchable columns where it has no values. */
export function emptyGrams(columns: Iterable<Column>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(searchableOf(columns).map((column) => [gramField(column), []]));
}

/** Beginnings of grams that every text with this part has, spread over the part; none when it is too short. */
export function lookedUpGrams(part: string): readonly string[] {
  const letters = Array.from(part, foldLetter);
  const last = Math.max(0, letters.length - LENGTH);
  const all = letters.slice(0, last + 1).map((_, at) => askable(letters.slice(at, at + LENGTH)));
  return spread(
    [...new Set(all)].filter((gram) => gram !== ""),
    MOST_LOOKED_UP,
  );
}

/** As much of it as can be used in a pattern, if that is enough. */
function askable(letters: readonly string[]): string {
  const end = letters.findIndex((letter) => letter < " ");
  const beginning = end < 0 ? letters : letters.slice(0, end);
  return beginning.length < SHORTEST ? "" : beginning.join("");
}

/** At most this many of the items, the first and the last among them. */
export function spread<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return items.filter((_, at) => at === Math.round(Math.round(at / step) * step));
}
