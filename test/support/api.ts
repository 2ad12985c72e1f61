// A small client for tests: JSON in, JSON out, with a token.
import type { Stack } from "./stack.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body, text that is not JSON as it is. Tests know its shape; null when there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape
  readonly body: any;
}

export interface Api {
  get(path: string, query?: Query): Promise<Answer>;
  post(path: string, body?: unknown, query?: Query): Promise<Answer>;
  patch(path: string, body?: unknown, query?: Query): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  send(method: string, path: string, init?: RequestInit): Promise<Answer>;
}

/** Parameters; objects are sent as JSON. */
export type Query = Readonly<Record<string, unknown>>;

/** Calls `{base}{path}` with the given headers, redirects not followed. */
export function apiOf(base: string, headers: Readonly<Record<string, string>> = {}): Api {
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(base + path, {
      redirect: "manual",
      ...init,
      method,
      headers: { ...headers, ...init.headers },
    });
    const text = await response.text();
    const isJson = response.headers.get("Content-Type")?.includes("json") ?? false;
    const body = text === "" ? null : isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body };
  };
  const withBody = (method: string, path: string, body: unknown, query?: Query) =>
    send(method, path + search(query), {
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    });
  return {
    get: (path, query) => send("GET", path + search(query)),
    post: (path, body, query) => withBody("POST", path, body, query),
    patch: (path, body, query) => withBody("PATCH", path, body, query),
    delete: (path) => send("DELETE", path),
    send,
  };
}

/** The records of an answer, for tests that only get somewhere by it. @throws Error when it is a refusal */
export async function accepted(asked: Promise<Answer>): Promise<Answer["body"]> {
  const { status, body } = await asked;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body.message)}`);
  return body.data;
}

/** The address text of parameters. */
export function search(query: Query = {}): string {
  const pairs = Object.entries(query).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  });
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** Signs in with a password and gives a client that sends the token. */
export async function signIn(base: string, credentials: { email: string; password: string }): Promise<Api> {
  const { status, body } = await apiOf(base).post("/auth/login", credentials);
  if (status !== 200) throw new Error(`sign-in answered ${status}: ${JSON.stringify(body)}`);
  return apiOf(base, { Authorization: `Bearer ${body.accessToken}` });
}

/** The root admin of a stack, through the gateway. */
export function asAdmin(stack: Stack): Promise<Api> {
  return signIn(`${stack.appUrl}/api`, stack.admin);
}
