// The records that every target holds: authors, their posts, and comments, of which some posts have many. Pure.
import type { Records } from "../scale/load.js";
import {
  authorName,
  capital,
  hexId,
  POSTS_PER_WORD,
  type Row,
  rareWordOf,
  scatter,
  wordOf,
} from "../scale/tables.js";

export const TABLE_NAMES = ["authors", "posts", "comments"] as const;
/** Posts that are asked for. */
export const READ_STATUSES = ["review", "published", "archived"] as const;
/** Posts that are written: what is asked for stays as it is. */
export const WRITTEN_STATUSES = ["draft", "held", "rejected"] as const;
export const STATUSES = [...READ_STATUSES, ...WRITTEN_STATUSES];
export const ASSET_BYTES = 100 * 1024;
export const USERS = 64;

const FIRST = Date.UTC(2020, 0, 1);
const SPREAD_MS = 5 * 365 * 24 * 3600 * 1000;
/** A whole number below 2^32 as a part of one. */
const PART = 2 ** 32;

/** The records of a run. The titles of posts and the texts of comments end with their position. */
export interface Blog extends Records {
  readonly posts: number;
}

/** @param posts 100,000 for figures that are published; authors and comments follow */
export function makeBlog(posts: number): Blog {
  const counts: Readonly<Record<string, number>> = { authors: authorsOf(posts), posts, comments: posts * 3 };
  return {
    posts,
    tables: TABLE_NAMES,
    countOf: (table) => counts[table] ?? 0,
    rowOf: (table, at) => rowOf(table, at, posts),
  };
}

export function authorsOf(posts: number): number {
  return Math.max(10, posts / 100);
}

function rowOf(table: string, at: number, posts: number): Row {
  const createdAt = new Date(FIRST + (scatter(at, table.length) / PART) * SPREAD_MS);
  if (table === "authors") return { values: { name: authorName(at) }, links: {}, createdAt };
  if (table === "posts") {
    const title = titleOf(at, posts);
    return {
      values: { title, status: statusOf(at) },
      links: { author: ["authors", authorOf(at, posts)] },
      createdAt,
    };
  }
  const values = { text: `${capital(wordOf(at))} ${wordOf(at + 1)} ${wordOf(at + 2)} ${at}` };
  return { values, links: { post: ["posts", postOf(at, posts)] }, createdAt };
}

export function titleOf(post: number, posts: number): string {
  return `${capital(wordOf(post + posts))} ${rareWordOf(post, posts)} and ${wordOf(post + 7)} ${post}`;
}

export function statusOf(post: number): string {
  return STATUSES[scatter(post, 99) % STATUSES.length] ?? "draft";
}

/** The author of a post, by position. The first one has none of them: whatever is created gets it. */
export function authorOf(post: number, posts: number): number {
  return 1 + (scatter(post, 40) % (authorsOf(posts) - 1));
}

/** The post of a comment, by position: the first posts have hundreds, many of the last none. */
export function postOf(comment: number, posts: number): number {
  return Math.floor((scatter(comment, 50) / PART) ** 2 * posts);
}

/** Part of a word that the titles of ten posts hold. */
export function searchedText(turn: number, posts: number): string {
  return rareWordOf(scatter(turn, 33) % (posts / POSTS_PER_WORD), posts).slice(1);
}

/** Where a title or a text says that its record stands; NaN for those that were created by the benchmark. */
export function positionIn(text: unknown): number {
  return Number(/ (\d+)$/.exec(String(text))?.[1] ?? Number.NaN);
}

/** 24 hex digits, as MongoDB's ids. */
export function idText(table: string, at: number, posts: number): string {
  return hexId(table, at, rowOf(table, at, posts).createdAt);
}

export function userOf(number: number): { readonly email: string; readonly password: string } {
  return { email: `user${number % USERS}@example.com`, password: "a password of twenty" };
}
