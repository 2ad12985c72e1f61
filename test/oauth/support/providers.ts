// The three providers on loopback: a real OAuth 2 server for codes, tokens, PKCE and userinfo, and stubs for what is GitHub's and Facebook's own.
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { OAuth2Server } from "oauth2-mock-server";

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

type Json = object | string | number | null;

/** What each profile endpoint answers; tests replace it. */
export interface Profiles {
  google: Json;
  facebook: Json;
  github: Json;
  githubEmails: Json;
}

export interface FakeProviders {
  readonly oauth2: OAuth2Server;
  readonly profiles: Profiles;
  /** Every profile request, oldest first. */
  readonly asked: Asked[];
  /** Every token request's form, oldest first. */
  readonly tokenForms: Record<string, string>[];
  /** Replaces the next token answers, until undefined again. */
  tokenAnswer: { status: number; body: object } | undefined;
  /** Profile requests that are answered with an error status, by their path. */
  readonly refusals: Map<string, number>;
  /** Token or profile requests are taken and never answered, or answered without end. */
  trouble: "none" | "hang" | "flood" | "down";
  /** Settings of a gateway that uses them. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export const PROVIDER_NAMES = ["google", "facebook", "github"] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

export async function startProviders(): Promise<FakeProviders> {
  const oauth2 = new OAuth2Server();
  await oauth2.issuer.keys.generate("RS256");
  await oauth2.start(0, "127.0.0.1");
  const { port } = oauth2.address();
  const issuer = `http://127.0.0.1:${port}`;
  oauth2.issuer.url = issuer;
  const asked: Asked[] = [];
  const tokenForms: Record<string, string>[] = [];
  const profiles = newPeople("nobody");
  const refusals = new Map<string, number>();
  const state: Pick<FakeProviders, "trouble" | "tokenAnswer"> = { trouble: "none", tokenAnswer: undefined };

  oauth2.service.on("beforeResponse", (answer, request) => {
    const form: unknown = "body" in request ? request.body : undefined;
    tokenForms.push(typeof form === "object" && form !== null ? { ...form } : {});
    if (state.tokenAnswer === undefined) return;
    answer.statusCode = state.tokenAnswer.status;
    answer.body = { ...state.tokenAnswer.body };
  });

  const stub = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    const path = url.split("?")[0] ?? "";
    if (state.trouble === "hang") return;
    if (state.trouble === "down") return void response.writeHead(503).end();
    if (state.trouble === "flood") return flood(response);
    asked.push({ method, url, headers });
    const refusal = refusals.get(path);
    if (refusal !== undefined) return void response.writeHead(refusal).end("{}");
    const answers: Record<string, Json> = {
      "/google/userinfo": profiles.google,
      "/facebook/me": profiles.facebook,
      "/github/user": profiles.github,
      "/github/user/emails": profiles.githubEmails,
    };
    const answer = answers[path];
    const text = typeof answer === "string" ? answer : JSON.stringify(answer ?? null);
    response.writeHead(answer === undefined ? 404 : 200, { "Content-Type": "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => stub.listen(0, "127.0.0.1", resolve));
  const stubUrl = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;

  return {
    oauth2,
    profiles,
    asked,
    tokenForms,
    refusals,
    get trouble() {
      return state.trouble;
    },
    set trouble(trouble) {
      state.trouble = trouble;
    },
    get tokenAnswer() {
      return state.tokenAnswer;
    },
    set tokenAnswer(answer) {
      state.tokenAnswer = answer;
    },
    env: Object.fromEntries(PROVIDER_NAMES.flatMap((name) => settingsOf(name, issuer, stubUrl))),
    async stop() {
      await oauth2.stop();
      await close(stub);
    },
  };
}

function flood(response: ServerResponse): void {
  const more = (): void => {
    while (!response.destroyed && response.write("x".repeat(64 * 1024)));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

function settingsOf(name: ProviderName, issuer: string, stub: string): [string, string][] {
  const upper = name.toUpperCase();
  const profile = { google: "google/userinfo", facebook: "facebook/me", github: "github/user" }[name];
  return [
    [`${upper}_CLIENT_ID`, `${name}-client`],
    [`${upper}_CLIENT_SECRET`, `${name}-secret`],
    [`${upper}_AUTHORIZATION_URL`, `${issuer}/authorize`],
    [`${upper}_TOKEN_URL`, `${issuer}/token`],
    [`${upper}_PROFILE_URL`, `${stub}/${profile}`],
  ];
}

function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  return closed;
}

let serial = 1000;

/** One person with an account at each provider, and a verified address where the provider says so. */
export function newPeople(name: string, email = `${name}@example.com`): Profiles {
  serial += 1;
  return {
    google: { sub: `google-${serial}`, email, email_verified: true, name },
    facebook: { id: `1${serial}`, email, name },
    github: { id: serial, login: name, name, email: null },
    githubEmails: [{ email, primary: true, verified: true, visibility: null }],
  };
}

/** Makes the providers speak of this person from now on. */
export function become(providers: FakeProviders, people: Profiles): void {
  Object.assign(providers.profiles, people);
}
