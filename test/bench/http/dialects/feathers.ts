// Asking FeathersJS with its MongoDB adapter, behind a plain proxy.
import { idText, positionIn, userOf } from "../data.js";
import { type Answer, type Ask, type Context, type Dialect, json, type Seen } from "../dialect.js";
import type { Question, WorkloadName } from "../workloads.js";

const RELATIONS = "has no relations in queries: two requests, or a hook written by hand";

function ask(workload: WorkloadName, question: Question, { posts, asset }: Context): Ask {
  const { title, status, draftStatus, page, text } = question;
  const list = (pairs: Readonly<Record<string, string>>): Ask => {
    return { method: "GET", path: `/api/posts?${new URLSearchParams(pairs)}` };
  };
  switch (workload) {
    case "by-status":
      return list({ status, "$sort[createdAt]": "-1", $limit: "25", $skip: String((page - 1) * 25) });
    case "substring": {
      const filter = { "title[$regex]": text, "title[$options]": "i" };
      return list({ ...filter, "$sort[_id]": "1", $limit: "10", $total: "true" });
    }
    case "create": {
      const authorId = idText("authors", 0, posts);
      return { method: "POST", path: "/api/posts", body: { title, status: draftStatus, authorId } };
    }
    case "update": {
      const path = `/api/posts/${idText("posts", question.draft, posts)}`;
      return { method: "PATCH", path, body: { status: draftStatus } };
    }
    case "sign-in": {
      const body = { strategy: "local", ...userOf(question.connection) };
      return { method: "POST", path: "/api/authentication", body, signedIn: false };
    }
    case "asset":
      return { method: "GET", path: asset, signedIn: false };
    default:
      return { method: "GET", path: `/api/posts/${idText("posts", question.post, posts)}` };
  }
}

interface Post {
  readonly title: string;
  readonly status: string;
}

function read(workload: WorkloadName, answer: Answer): Seen {
  if (workload === "asset") return { bytes: answer.bytes.length };
  const body = json(answer);
  if (workload === "sign-in") return { token: body.accessToken };
  const posts: readonly Post[] = Array.isArray(body) ? body : (body.data ?? [body]);
  return {
    posts: posts.map(({ title }) => positionIn(title)),
    ...(body.total === undefined ? {} : { filtered: body.total }),
    ...(posts[0] === undefined ? {} : { title: posts[0].title, status: posts[0].status }),
  };
}

export const feathers: Dialect = {
  cannot: {
    "by-author": RELATIONS,
    children: RELATIONS,
    "by-child-count": RELATIONS,
    "by-latest-child": RELATIONS,
    refresh: "has no refresh tokens",
  },
  notes: {
    substring: "one count only: of what matches",
    asset: "from a folder, without a record or rights",
  },
  leavesOut: { substring: ["total"] },
  ask,
  read,
};
