// Asking Parse Server by its REST API.
import { idText, positionIn, userOf } from "../data.js";
import { type Answer, type Ask, type Context, type Dialect, json, query, type Seen } from "../dialect.js";
import type { Question, WorkloadName } from "../workloads.js";

type Parameters = Readonly<Record<string, unknown>>;

const LISTS: Readonly<Partial<Record<WorkloadName, (question: Question) => Parameters>>> = {
  "by-status": ({ status, page }) => ({
    where: { status },
    order: "-createdAt",
    limit: "25",
    skip: String((page - 1) * 25),
  }),
  "by-author": ({ author }) => ({
    where: { author: { $inQuery: { className: "Authors", where: { name: author } } } },
    order: "-createdAt",
    limit: "25",
  }),
  substring: ({ text }) => ({
    where: { title: { $regex: text, $options: "i" } },
    order: "objectId",
    limit: "10",
    count: "1",
  }),
};

function ask(workload: WorkloadName, question: Question, { posts, asset }: Context): Ask {
  const parameters = LISTS[workload]?.(question);
  if (parameters !== undefined) return { method: "GET", path: `/parse/classes/Posts${query(parameters)}` };
  const one = (at: number): string => `/parse/classes/Posts/${idText("posts", at, posts)}`;
  const { title, draftStatus: status } = question;
  switch (workload) {
    case "create": {
      const author = { __type: "Pointer", className: "Authors", objectId: idText("authors", 0, posts) };
      return { method: "POST", path: "/parse/classes/Posts", body: { title, status, author } };
    }
    case "update":
      return { method: "PUT", path: one(question.draft), body: { status } };
    case "sign-in": {
      const { email: username, password } = userOf(question.connection);
      return { method: "POST", path: "/parse/login", body: { username, password }, signedIn: false };
    }
    case "asset":
      return { method: "GET", path: asset, signedIn: false };
    default:
      return { method: "GET", path: one(question.post) };
  }
}

interface Post {
  readonly title: string;
}

function read(workload: WorkloadName, answer: Answer): Seen {
  if (workload === "asset") return { bytes: answer.bytes.length };
  const body = json(answer);
  if (workload === "sign-in") return { token: body.sessionToken };
  const posts: readonly Post[] = body.results ?? [body];
  return {
    posts: posts.map(({ title }) => positionIn(title)),
    ...(body.count === undefined ? {} : { filtered: body.count }),
  };
}

const NO_CHILDREN = "includes what a record points at, not what points at it";

export const parse: Dialect = {
  cannot: {
    children: NO_CHILDREN,
    "by-child-count": "sorts by columns of the class alone",
    "by-latest-child": "sorts by columns of the class alone",
    refresh: "has no refresh tokens: a session has one token until it ends",
  },
  notes: {
    substring: "one count only: of what matches",
    create: "answers id and time, not the record",
    update: "answers the time, not the record",
  },
  leavesOut: { substring: ["total"], create: ["title"], update: ["posts", "status"] },
  ask,
  read,
};
