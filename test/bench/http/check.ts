// Is an answer right? Judged by the data, before anything is measured. Pure.
import { authorName } from "../scale/tables.js";
import { ASSET_BYTES, authorOf, type Blog, postOf, statusOf, titleOf } from "./data.js";
import type { Seen } from "./dialect.js";
import type { Question, WorkloadName } from "./workloads.js";

/** What is known of the data, worked out once. */
export interface Facts {
  readonly posts: number;
  readonly author: (post: number) => string;
  /** Milliseconds. */
  readonly postTime: (post: number) => number;
  readonly commentTime: (comment: number) => number;
  /** Comments of a post, newest first. */
  readonly comments: (post: number) => readonly number[];
}

export function factsOf(blog: Blog): Facts {
  const times = (table: string): number[] =>
    Array.from({ length: blog.countOf(table) }, (_, at) => blog.rowOf(table, at).createdAt.getTime());
  const [postTimes, commentTimes] = [times("posts"), times("comments")];
  const commentTime = (comment: number): number => commentTimes[comment] ?? 0;
  const byPost: number[][] = Array.from({ length: blog.posts }, () => []);
  for (let at = 0; at < commentTimes.length; at += 1) byPost[postOf(at, blog.posts)]?.push(at);
  for (const comments of byPost) comments.sort((a, b) => commentTime(b) - commentTime(a));
  return {
    posts: blog.posts,
    author: (post) => authorName(authorOf(post, blog.posts)),
    postTime: (post) => postTimes[post] ?? Number.NaN,
    commentTime,
    comments: (post) => byPost[post] ?? [],
  };
}

/** A sentence about what is wrong; undefined for a right answer. */
export function problemOf(
  workload: WorkloadName,
  question: Question,
  seen: Seen,
  facts: Facts,
  leftOut: readonly (keyof Seen)[] = [],
): string | undefined {
  const wanted = wantedOf(workload, question, facts);
  const given = seenKeys(workload, question, seen, facts);
  for (const [name, value] of Object.entries(wanted)) {
    if (leftOut.some((left) => left === name)) continue;
    const got = given[name];
    if (name === "total" ? Number(got) >= Number(value) : JSON.stringify(got) === JSON.stringify(value))
      continue;
    return `${workload}: ${name} is ${JSON.stringify(got)?.slice(0, 300)}, not ${JSON.stringify(value).slice(0, 300)}`;
  }
  return undefined;
}

type Keys = Readonly<Record<string, unknown>>;

/** What the records of an answer are compared by: two that are equal in the order asked for may change places. */
function seenKeys(workload: WorkloadName, { text }: Question, seen: Seen, facts: Facts): Keys {
  const posts = seen.posts ?? [];
  const keys: Keys = {
    ...seen,
    distinct: new Set(posts).size === posts.length,
    matching: posts.filter((post) => titleOf(post, facts.posts).toLowerCase().includes(text)).length,
    hasToken: (seen.token ?? "").length > 20,
    children: seen.children?.map((comments) => comments.map(facts.commentTime)),
  };
  if (workload === "by-child-count")
    return { ...keys, keys: posts.map((post) => facts.comments(post).length) };
  if (workload === "by-latest-child") return { ...keys, keys: posts.map((post) => latest(post, facts)) };
  return { ...keys, keys: posts.map(facts.postTime) };
}

function wantedOf(workload: WorkloadName, question: Question, facts: Facts): Keys {
  const all = Array.from({ length: facts.posts }, (_, post) => post);
  const newest = (posts: readonly number[], size: number, page = 1): readonly number[] =>
    posts.toSorted((a, b) => facts.postTime(b) - facts.postTime(a)).slice((page - 1) * size, page * size);
  const ofStatus = (): readonly number[] => all.filter((post) => statusOf(post) === question.status);
  const page = (values: readonly number[]): readonly number[] =>
    values.toSorted((a, b) => b - a).slice((question.page - 1) * 10, question.page * 10);
  switch (workload) {
    case "by-id":
      return { posts: [question.post] };
    case "by-status":
      return { distinct: true, keys: newest(ofStatus(), 25, question.page).map(facts.postTime) };
    case "by-author": {
      const posts = newest(
        all.filter((post) => facts.author(post) === question.author),
        25,
      );
      return { distinct: true, keys: posts.map(facts.postTime) };
    }
    case "children": {
      const posts = newest(ofStatus(), 10, question.page);
      const children = posts.map((post) => facts.comments(post).slice(0, 3).map(facts.commentTime));
      return { keys: posts.map(facts.postTime), children };
    }
    case "by-child-count":
      return { distinct: true, keys: page(all.map((post) => facts.comments(post).length)) };
    case "by-latest-child":
      return { distinct: true, keys: page(all.map((post) => latest(post, facts))) };
    case "substring": {
      const found = all.filter((post) => titleOf(post, facts.posts).toLowerCase().includes(question.text));
      const matching = Math.min(10, found.length);
      return { distinct: true, matching, filtered: found.length, total: facts.posts };
    }
    case "create":
      return { title: question.title };
    case "update":
      return { posts: [question.draft], status: question.draftStatus };
    case "asset":
      return { bytes: ASSET_BYTES };
    default:
      return { hasToken: true };
  }
}

/** When the latest comment was written; before all others where there is none. */
function latest(post: number, facts: Facts): number {
  const [comment] = facts.comments(post);
  return comment === undefined ? 0 : facts.commentTime(comment);
}
