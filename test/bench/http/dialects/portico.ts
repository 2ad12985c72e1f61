// Asking Portico, at the data service ("") or through the gateway ("/api").
import { idText, positionIn, userOf } from "../data.js";
import { type Answer, type Ask, type Context, type Dialect, json, query, type Seen } from "../dialect.js";
import type { Question, WorkloadName } from "../workloads.js";

type Parameters = Readonly<Record<string, unknown>>;

const LISTS: Readonly<Partial<Record<WorkloadName, (question: Question) => Parameters>>> = {
  "by-status": ({ status, page }) => ({
    filter: { status },
    sort: "-createdAt",
    limit: "25",
    page: `${page}`,
  }),
  "by-author": ({ author }) => ({ filter: { author: { name: author } }, sort: "-createdAt", limit: "25" }),
  children: ({ status, page }) => ({
    filter: { status },
    sort: "-createdAt",
    page: `${page}`,
    deep: { comments: { fields: "id,text,createdAt", sort: "-createdAt", limit: 3 } },
  }),
  "by-child-count": ({ page }) => ({ sort: "-_count(comments)", page: `${page}` }),
  "by-latest-child": ({ page }) => ({ sort: "-_max(comments.createdAt)", page: `${page}` }),
  substring: ({ text }) => ({ filter: { title: { _contains: text } }, meta: "totalCount,filterCount" }),
};

function ask(
  prefix: string,
  workload: WorkloadName,
  question: Question,
  { posts, asset }: Context,
  session: string,
): Ask {
  const parameters = LISTS[workload]?.(question);
  if (parameters !== undefined) return { method: "GET", path: `${prefix}/posts${query(parameters)}` };
  const one = (at: number): string => `${prefix}/posts/${idText("posts", at, posts)}`;
  const { title, draftStatus: status } = question;
  switch (workload) {
    case "create": {
      const author = idText("authors", 0, posts);
      return { method: "POST", path: `${prefix}/posts`, body: { title, status, author } };
    }
    case "update":
      return { method: "PATCH", path: one(question.draft), body: { status } };
    case "sign-in": {
      const path = prefix === "" ? "/auth/login" : `${prefix}/login`;
      return { method: "POST", path, body: userOf(question.connection), signedIn: false };
    }
    case "refresh": {
      const path = `${prefix}/auth/refresh-token`;
      return { method: "POST", path, body: { refreshToken: session }, signedIn: false };
    }
    case "asset":
      return { method: "GET", path: asset, signedIn: false };
    default:
      return { method: "GET", path: one(question.post) };
  }
}

interface Post {
  readonly title: string;
  readonly status: string;
  readonly comments?: readonly { readonly text: string }[];
}

function read(workload: WorkloadName, answer: Answer): Seen {
  if (workload === "asset") return { bytes: answer.bytes.length };
  if (workload === "sign-in" || workload === "refresh") {
    return { token: json(answer).accessToken ?? String(answer.headers["set-cookie"] ?? "") };
  }
  const { data, meta }: { data: readonly Post[]; meta?: { totalCount: number; filterCount: number } } =
    json(answer);
  return {
    posts: data.map(({ title }) => positionIn(title)),
    ...(workload === "children" ? { children: data.map(({ comments = [] }) => comments.map(position)) } : {}),
    ...(meta === undefined ? {} : { total: meta.totalCount, filtered: meta.filterCount }),
    ...(data[0] === undefined ? {} : { title: data[0].title, status: data[0].status }),
  };
}

function position({ text }: { readonly text: string }): number {
  return positionIn(text);
}

/** @param prefix before every path */
export function portico(prefix: "" | "/api"): Dialect {
  return {
    cannot: {},
    notes: {},
    ask: (workload, question, context, session) => ask(prefix, workload, question, context, session),
    read,
    nextSession: (answer) => json(answer).refreshToken,
  };
}
