// Asking Directus by its REST API.
import { positionIn, userOf } from "../data.js";
import { type Answer, type Ask, type Context, type Dialect, json, query, type Seen } from "../dialect.js";
import type { Question, WorkloadName } from "../workloads.js";

type Parameters = Readonly<Record<string, unknown>>;

const LISTS: Readonly<Partial<Record<WorkloadName, (question: Question) => Parameters>>> = {
  "by-status": ({ status, page }) => ({
    filter: { status: { _eq: status } },
    sort: "-date_created",
    limit: "25",
    page: `${page}`,
  }),
  "by-author": ({ author }) => ({
    filter: { author: { name: { _eq: author } } },
    sort: "-date_created",
    limit: "25",
  }),
  children: ({ status, page }) => ({
    filter: { status: { _eq: status } },
    sort: "-date_created",
    limit: "10",
    page: `${page}`,
    fields: "*,comments.id,comments.text,comments.date_created",
    deep: { comments: { _sort: "-date_created", _limit: 3 } },
  }),
  "by-child-count": ({ page }) => ({ sort: "-count(comments)", limit: "10", page: `${page}` }),
  "by-latest-child": ({ page }) => ({ sort: "-comments.date_created", limit: "10", page: `${page}` }),
  substring: ({ text }) => ({
    filter: { title: { _icontains: text } },
    limit: "10",
    meta: "total_count,filter_count",
  }),
};

function ask(workload: WorkloadName, question: Question, { asset }: Context, session: string): Ask {
  const parameters = LISTS[workload]?.(question);
  if (parameters !== undefined) return { method: "GET", path: `/items/posts${query(parameters)}` };
  const { title, draftStatus: status } = question;
  switch (workload) {
    case "create":
      return { method: "POST", path: "/items/posts", body: { title, status, author: idAt(0) } };
    case "update":
      return { method: "PATCH", path: `/items/posts/${idAt(question.draft)}`, body: { status } };
    case "sign-in":
      return { method: "POST", path: "/auth/login", body: userOf(question.connection), signedIn: false };
    case "refresh": {
      const body = { refresh_token: session, mode: "json" };
      return { method: "POST", path: "/auth/refresh", body, signedIn: false };
    }
    case "asset":
      return { method: "GET", path: asset, signedIn: false };
    default:
      return { method: "GET", path: `/items/posts/${idAt(question.post)}` };
  }
}

/** Its ids are numbers that begin with 1. */
export function idAt(position: number): number {
  return position + 1;
}

interface Post {
  readonly title: string;
  readonly status: string;
  readonly comments?: readonly { readonly text: string }[];
}

function read(workload: WorkloadName, answer: Answer): Seen {
  if (workload === "asset") return { bytes: answer.bytes.length };
  const { data, meta } = json(answer);
  if (workload === "sign-in" || workload === "refresh") return { token: data.access_token };
  const posts: readonly Post[] = Array.isArray(data) ? data : [data];
  return {
    posts: posts.map(({ title }) => positionIn(title)),
    ...(workload === "children"
      ? { children: posts.map(({ comments = [] }) => comments.map(({ text }) => positionIn(text))) }
      : {}),
    ...(meta === undefined ? {} : { total: meta.total_count, filtered: meta.filter_count }),
    ...(posts[0] === undefined ? {} : { title: posts[0].title, status: posts[0].status }),
  };
}

export const directus: Dialect = {
  cannot: {},
  notes: { asset: "from a folder, with record and rights" },
  ask,
  read,
  nextSession: (answer) => json(answer).data.refresh_token,
};
