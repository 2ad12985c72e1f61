// What is measured, whoever is asked: one row a workload. Pure.
import { authorName, scatter } from "../scale/tables.js";
import { authorOf, READ_STATUSES, searchedText, statusOf, WRITTEN_STATUSES } from "./data.js";

export const WORKLOADS = [
  { name: "by-id", kind: "read", title: "one post by id" },
  { name: "by-status", kind: "read", title: "25 newest posts of a status" },
  { name: "by-author", kind: "read", title: "25 newest posts by the author's name" },
  { name: "children", kind: "read", title: "10 newest posts of a status, 3 latest comments each" },
  { name: "by-child-count", kind: "read", title: "10 posts by number of comments" },
  { name: "by-latest-child", kind: "read", title: "10 posts by latest comment" },
  { name: "substring", kind: "read", title: "10 posts by part of the title, both counts" },
  { name: "create", kind: "write", title: "create a post" },
  { name: "update", kind: "write", title: "update a post" },
  { name: "sign-in", kind: "account", title: "sign in" },
  { name: "refresh", kind: "account", title: "refresh" },
  { name: "asset", kind: "file", title: "a file of 100 KB" },
] as const;

export type Workload = (typeof WORKLOADS)[number];
export type WorkloadName = Workload["name"];

/** Some pages from the first on: what is asked differs, the work hardly. */
const PAGES = 4;

/** What one request asks for; `turn` makes the requests differ, so that no answer is remembered. */
export interface Question {
  readonly turn: number;
  /** Which of the connections asks, from 0. */
  readonly connection: number;
  /** Position of a post. */
  readonly post: number;
  /** Position of a post that may be changed. */
  readonly draft: number;
  readonly status: string;
  readonly draftStatus: string;
  /** From 1. */
  readonly page: number;
  readonly author: string;
  /** Part of a title. */
  readonly text: string;
  readonly title: string;
}

export function questionOf(turn: number, connection: number, posts: number): Question {
  const post = scatter(turn, 31) % posts;
  return {
    turn,
    connection,
    post,
    draft: draftFrom(scatter(turn, 32) % posts, posts),
    status: READ_STATUSES[turn % READ_STATUSES.length] ?? "review",
    draftStatus: WRITTEN_STATUSES[scatter(turn, 34) % WRITTEN_STATUSES.length] ?? "draft",
    page: 1 + (scatter(turn, 35) % PAGES),
    author: authorName(authorOf(post, posts)),
    text: searchedText(turn, posts),
    title: `Written while somebody watched, take ${scatter(turn, 36).toString(36)}`,
  };
}

/** The first post from a position on that no read asks for. */
function draftFrom(start: number, posts: number): number {
  const isDraft = (post: number): boolean => WRITTEN_STATUSES.some((status) => status === statusOf(post));
  let post = start;
  while (!isDraft(post)) post = (post + 1) % posts;
  return post;
}
