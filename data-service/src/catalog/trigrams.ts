// Searchable columns: which trigrams of a text are stored beside it, and which a search looks up.
//
// A record without the field is one that nobody has indexed yet, so every search takes it for a candidate: no answer
// depends on how far filling has come (records/fill-search). That is why a null has an empty list and not nothing.

import { foldLetter } from "./case-fold.js";
import type { Column } from "./catalog.js";

const LENGTH = 3;

/** Beyond this many different ones a text is a candidate of every search; MongoDB indexes 100,000 of a document. */
const MOST_STORED = 10_000;

/** Of a long part some are enough: those that overlap are rare together. */
const MOST_LOOKED_UP = 8;

/** Stands for every trigram. */
export const ANY_TRIGRAM = "";

/** Where the trigrams of a column lie. No member's field begins with an underscore. */
export function trigramField(column: Pick<Column, "field">): string {
  return `_t_${column.field}`;
}

/** True for columns that could be searchable, and so may have been. */
export function isText(column: Pick<Column, "type">): boolean {
  return column.type === "string" || column.type === "text";
}

/** What is stored beside a value. @param value a text; anything else has no trigrams that could be told */
export function storedTrigrams(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "string") return [ANY_TRIGRAM];
  const found = new Set<string>();
  let [first, second] = ["", ""];
  for (const letter of value) {
    const third = foldLetter(letter);
    if (first !== "") found.add(first + second + third);
    if (found.size > MOST_STORED) return [ANY_TRIGRAM];
    [first, second] = [second, third];
  }
  return [...found];
}

/** What a new record has for its searchable columns, as far as it has no values for them. */
export function emptyTrigrams(columns: Iterable<Column>): Readonly<Record<string, readonly string[]>> {
  const searchable = [...columns].filter((column) => column.searchable);
  return Object.fromEntries(searchable.map((column) => [trigramField(column), []]));
}

/** Trigrams that every text with this part in it has, spread over it; none when it is too short. */
export function lookedUpTrigrams(part: string): readonly string[] {
  const letters = Array.from(part, foldLetter);
  const all = letters.slice(LENGTH - 1).map((_, at) => letters.slice(at, at + LENGTH).join(""));
  return spread([...new Set(all)], MOST_LOOKED_UP);
}

/** At most so many of the items, the first and the last among them. */
export function spread<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  const step = (items.length - 1) / (most - 1);
  return items.filter((_, at) => at === Math.round(Math.round(at / step) * step));
}
