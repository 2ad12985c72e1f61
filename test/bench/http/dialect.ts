// How one kind of server is asked each workload, and what it answered, in words that all of them share.
import type { Question, WorkloadName } from "./workloads.js";

export interface Ask {
  readonly method: "GET" | "POST" | "PATCH" | "PUT";
  readonly path: string;
  /** JSON; absent for none. */
  readonly body?: unknown;
  /** False: without the caller's headers. */
  readonly signedIn?: false;
}

/** The last refresh tokens of a target are spent on looking whether its answers are right. */
export const CHECKS = 3;

/** What a target's requests need to know; goes to the load process, so JSON only. */
export interface Context {
  readonly posts: number;
  /** Of the signed-in caller. */
  readonly headers: Readonly<Record<string, string>>;
  /** What every request carries, signed in or not. */
  readonly always?: Readonly<Record<string, string>>;
  /** Path of the file of 100 KB. */
  readonly asset: string;
  /** Refresh tokens of as many sessions. */
  readonly sessions: readonly string[];
}

/** What an answer showed. Records are named by their positions in the data. */
export interface Seen {
  readonly posts?: readonly number[];
  /** Positions of the comments of each post. */
  readonly children?: readonly (readonly number[])[];
  /** Posts in the table, and posts that match. */
  readonly total?: number;
  readonly filtered?: number;
  readonly title?: string;
  readonly status?: string;
  /** The token or cookie that a sign-in or refresh gave. */
  readonly token?: string;
  readonly bytes?: number;
}

export interface Dialect {
  /** Why a workload can't be done. */
  readonly cannot: Readonly<Partial<Record<WorkloadName, string>>>;
  /** Where it does less or something else than asked, and is measured nevertheless. */
  readonly notes: Readonly<Partial<Record<WorkloadName, string>>>;
  /** What its answers don't show at all. */
  readonly leavesOut?: Readonly<Partial<Record<WorkloadName, readonly (keyof Seen)[]>>>;
  /** @param session for `refresh`: the refresh token whose turn it is */
  ask(workload: WorkloadName, question: Question, context: Context, session: string): Ask;
  read(workload: WorkloadName, answer: Answer): Seen;
  /** The next refresh token of a session, from the answer to `refresh`. */
  nextSession?(answer: Answer): string;
}

export interface Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** Parsed JSON of an answer, looked into by name. */
// biome-ignore lint/suspicious/noExplicitAny: answers of other people's servers, whose shapes the readers know
export function json({ bytes }: Answer): any {
  return JSON.parse(bytes.toString());
}

/** The query part of an address; objects are sent as JSON. */
export function query(parameters: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  });
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
