// Asking the hand-written server: an address for each hard-coded query.
import { idText, positionIn } from "../data.js";
import { type Answer, type Ask, type Context, type Dialect, json, query, type Seen } from "../dialect.js";
import type { Question, WorkloadName } from "../workloads.js";

const ACCOUNTS = "has no accounts";

function ask(workload: WorkloadName, question: Question, { posts, asset }: Context): Ask {
  const { title, status, draftStatus, page, author, text } = question;
  const get = (path: string): Ask => ({ method: "GET", path });
  switch (workload) {
    case "by-status":
      return get(`/by-status${query({ status, page: `${page}` })}`);
    case "by-author":
      return get(`/by-author${query({ name: author })}`);
    case "children":
      return get(`/with-comments${query({ status, page: `${page}` })}`);
    case "by-child-count":
    case "by-latest-child":
      return get(`/${workload}${query({ page: `${page}` })}`);
    case "substring":
      return get(`/search${query({ text })}`);
    case "create": {
      const authorId = idText("authors", 0, posts);
      return { method: "POST", path: "/posts", body: { title, status: draftStatus, authorId } };
    }
    case "update": {
      const path = `/posts/${idText("posts", question.draft, posts)}`;
      return { method: "PATCH", path, body: { status: draftStatus } };
    }
    case "asset":
      return get(asset);
    default:
      return get(`/posts/${idText("posts", question.post, posts)}`);
  }
}

interface Post {
  readonly title: string;
  readonly status: string;
  readonly comments?: readonly { readonly text: string }[];
}

function read(workload: WorkloadName, answer: Answer): Seen {
  if (workload === "asset") return { bytes: answer.bytes.length };
  const { data, total, filtered }: { data: readonly Post[]; total?: number; filtered?: number } =
    json(answer);
  return {
    posts: data.map(({ title }) => positionIn(title)),
    ...(workload === "children"
      ? { children: data.map(({ comments = [] }) => comments.map(({ text }) => positionIn(text))) }
      : {}),
    ...(total === undefined || filtered === undefined ? {} : { total, filtered }),
    ...(data[0] === undefined ? {} : { title: data[0].title, status: data[0].status }),
  };
}

export const floor: Dialect = { cannot: { "sign-in": ACCOUNTS, refresh: ACCOUNTS }, notes: {}, ask, read };
