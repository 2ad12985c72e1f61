// What is measured: one row a case. Every repetition asks for something else, so that no answer is remembered.
import type { Query } from "../../support/api.js";
import { idOf } from "./load.js";
import { authorName, authorOf, rareWordOf, scatter } from "./tables.js";

export interface Case {
  readonly name: string;
  /** The median at the largest size may be at most twice the one at the smallest; otherwise it is only reported. */
  readonly bar: boolean;
  /** `turn` makes the requests differ. */
  readonly request: (turn: number, posts: number) => { readonly path: string; readonly query: Query };
  /** The list whose plan stands for the request, where the request is none. */
  readonly explained?: Case["request"];
}

const STATUSES = ["draft", "review", "published", "archived"];

/** A post that no other turn asks for, as long as there are enough. */
function postAt(turn: number, posts: number): number {
  return scatter(turn, 31) % posts;
}

const list = (query: Query): ReturnType<Case["request"]> => ({ path: "/posts", query });
/** Pages differ in their length and number, which changes what is asked but hardly the work. */
const page = (turn: number): Query => ({ limit: String(10), page: String(1 + (turn % 5)) });

export const CASES: readonly Case[] = [
  {
    name: "one record by id",
    bar: true,
    request: (turn, posts) => ({ path: `/posts/${idOf("posts", postAt(turn, posts), posts)}`, query: {} }),
    explained: (turn, posts) => list({ filter: { id: `${idOf("posts", postAt(turn, posts), posts)}` } }),
  },
  {
    name: "by status, newest first",
    bar: true,
    request: (turn) =>
      list({ ...page(turn), filter: { status: STATUSES[turn % STATUSES.length] }, sort: "-createdAt" }),
  },
  {
    name: "by the author's name",
    bar: true,
    request: (turn, posts) =>
      list({ filter: { author: { name: authorName(authorOf(postAt(turn, posts))) } } }),
  },
  {
    name: "ten posts, three latest comments each",
    bar: true,
    request: (turn) =>
      list({ ...page(turn), sort: "-createdAt", deep: { comments: { sort: "-createdAt", limit: 3 } } }),
  },
  {
    name: "ten posts, _count(mentions) each, not counted",
    bar: true,
    request: (turn) => list({ ...page(turn), sort: "-createdAt", fields: "title,_count(mentions)" }),
  },
  {
    name: "sort=-_max(comments.createdAt)",
    bar: true,
    request: (turn) => list({ ...page(turn), sort: "-_max(comments.createdAt)" }),
  },
  {
    name: "sort=-_count(comments), counted",
    bar: true,
    request: (turn) => list({ ...page(turn), sort: "-_count(comments)" }),
  },
  {
    name: "title _contains",
    bar: true,
    request: (turn, posts) =>
      list({ filter: { title: { _contains: rareWordOf(postAt(turn, posts), posts).slice(1) } } }),
  },
  {
    name: "meta=totalCount",
    bar: true,
    request: (turn) => list({ ...page(turn), meta: "totalCount" }),
  },
  {
    name: "sort=-_count(mentions), not counted",
    bar: false,
    request: (turn) => list({ ...page(turn), sort: "-_count(mentions)" }),
  },
];
