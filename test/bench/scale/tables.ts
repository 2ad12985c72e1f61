// The tables of the scaling benchmark and their records, as bodies that the service would take. Pure.
import type { Json } from "@portico/shared/json";

/** Options of table definitions whose effect is measured. Set one to false to see what it is worth. */
export const OPTIONS = { counted: true, searchable: true };

export const AUTHORS = 1_000;
export const COMMENTS_PER_POST = 3;
/** Posts whose title holds the same word, whatever the size: what `_contains` finds does not grow with the table. */
export const POSTS_PER_WORD = 10;
const STATUSES = ["draft", "review", "published", "archived"] as const;

const FIRST_POST = Date.UTC(2020, 0, 1);
const SPREAD_MS = 5 * 365 * 24 * 3600 * 1000;

/**
 * Tables in the order in which they can be made. `about` leads where `post` leads and is not counted, to show what
 * that costs.
 */
export const TABLES = [
  { name: "authors", columns: [{ name: "name", type: "string", required: true }] },
  {
    name: "posts",
    columns: [
      {
        name: "title",
        type: "string",
        required: true,
        ...(OPTIONS.searchable ? { searchable: true } : {}),
      },
      { name: "status", type: "enum", required: true, options: { values: [...STATUSES] } },
    ],
    relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "posts" }],
    indexes: [["status", "-createdAt"]],
  },
  {
    name: "comments",
    columns: [{ name: "text", type: "string" }],
    relations: [
      {
        name: "post",
        type: "many-to-one",
        table: "posts",
        inverse: "comments",
        onDelete: "CASCADE",
        ...(OPTIONS.counted ? { counted: true } : {}),
      },
      { name: "about", type: "many-to-one", table: "posts", inverse: "mentions" },
    ],
  },
] as const;

/** A record before it is stored. `links` hold positions in the other table. */
export interface Row {
  readonly values: Readonly<Record<string, Json>>;
  readonly links: Readonly<Record<string, readonly [table: string, at: number]>>;
  readonly createdAt: Date;
}

/** How many records each table has. @param posts the size of a run */
export function countOf(table: string, posts: number): number {
  if (table === "authors") return AUTHORS;
  return table === "posts" ? posts : posts * COMMENTS_PER_POST;
}

/** The record at a position of a table; the same every time. */
export function rowOf(table: string, at: number, posts: number): Row {
  if (table === "authors") {
    return { values: { name: authorName(at) }, links: {}, createdAt: new Date(FIRST_POST) };
  }
  const draw = scatter(at, table.length);
  const createdAt = new Date(FIRST_POST + (draw / 2 ** 32) * SPREAD_MS);
  if (table === "posts") {
    const title = `${capital(wordOf(at + posts))} ${rareWordOf(at, posts)} and ${wordOf(at + 7)}`;
    const status = STATUSES[scatter(at, 99) % STATUSES.length] ?? "draft";
    return { values: { title, status }, links: { author: ["authors", authorOf(at)] }, createdAt };
  }
  const post = Math.floor(at / COMMENTS_PER_POST);
  return {
    values: { text: `${wordOf(at)} ${wordOf(at + 1)}` },
    links: { post: ["posts", post], about: ["posts", post] },
    createdAt,
  };
}

/** The author of a post, by position. */
export function authorOf(post: number): number {
  return scatter(post, 40) % AUTHORS;
}

export function authorName(at: number): string {
  return `Author ${String(at).padStart(4, "0")}`;
}

/** The word that the titles of POSTS_PER_WORD posts share. */
export function rareWordOf(post: number, posts: number): string {
  const word = post % Math.ceil(posts / POSTS_PER_WORD);
  return letters(scatter(word, 7), scatter(word, 8));
}

/** One of a few thousand words that occur all over. */
export function wordOf(at: number): string {
  return letters(scatter(scatter(at, 3) % 4_000, 5), 0).slice(0, 6);
}

/** Eight letters out of two numbers. */
function letters(high: number, low: number): string {
  const of = (number: number): string =>
    Array.from({ length: 4 }, (_, at) => String.fromCharCode(97 + (Math.floor(number / 26 ** at) % 26))).join(
      "",
    );
  return of(high) + of(low);
}

export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** The id of the record at a position, as 24 hex digits: its time of creation, then what makes it its own. */
export function hexId(table: string, at: number, createdAt: Date): string {
  const hex = (number: number): string => number.toString(16).padStart(8, "0");
  return hex(Math.floor(createdAt.getTime() / 1000)) + hex(scatter(at, table.length + 20)) + hex(at);
}

/** A 32-bit number that looks like chance and is not (the finalizer of MurmurHash3). */
export function scatter(number: number, salt: number): number {
  let mixed = (number + Math.imul(salt, 0x9e3779b1)) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
