// Sends and fetches files of records, as the tests of import and export need it.
import { type Answer, apiOf, type Query, search } from "../../support/api.js";
import type { Stack } from "../../support/stack.js";

export interface File {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Files {
  readonly token: string;
  fetch(path: string, query?: Query): Promise<File>;
  csv(table: string, body: BodyInit, query?: Query): Promise<Answer>;
  ndjson(table: string, body: BodyInit, query?: Query): Promise<Answer>;
  send(table: string, body: BodyInit, headers: Record<string, string>, query?: Query): Promise<Answer>;
}

/** Signs in and speaks through the gateway. */
export async function filesOf(
  { appUrl }: Pick<Stack, "appUrl">,
  credentials: { email: string; password: string },
): Promise<Files> {
  const base = `${appUrl}/api`;
  const login = await apiOf(base).post("/auth/login", credentials);
  const token: string = login.body.accessToken;
  const authorization = { Authorization: `Bearer ${token}` };
  const send: Files["send"] = (table, body, headers, query) => {
    const streamed = body instanceof ReadableStream ? { duplex: "half" } : {};
    const init = { ...streamed, body, headers: { ...authorization, ...headers } };
    return apiOf(base).send("POST", `/${table}/import${search(query)}`, init);
  };
  return {
    token,
    send,
    async fetch(path, query) {
      const { status, headers, text } = await fetch(base + path + search(query), {
        headers: authorization,
      }).then(async (answer) => ({
        status: answer.status,
        headers: answer.headers,
        text: await answer.text(),
      }));
      return { status, headers, text };
    },
    csv: (table, body, query) => send(table, body, { "Content-Type": "text/csv" }, query),
    ndjson: (table, body, query) => send(table, body, { "Content-Type": "application/x-ndjson" }, query),
  };
}
