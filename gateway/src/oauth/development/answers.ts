// The development provider's token, profile and e-mail endpoints, answered in this process in each provider's form.
import { hash } from "node:crypto";
import type { Clock } from "@portico/shared/clock";
import type { Provider } from "@portico/shared/oauth";
import type { ProviderFetch } from "../strategies/transport.js";
import type { DevelopmentCodes, Person } from "./code.js";

/** Stands in for `fetch`: whatever the address, the word before its last part names the provider. */
export function developmentFetch(codes: DevelopmentCodes, clock: Clock): ProviderFetch {
  return async (url, init) => {
    const [, provider, endpoint] = /\/dev\/(\w+)\/([\w/]+)/.exec(new URL(url).pathname) ?? [];
    if (endpoint === "token") return tokenAnswer(codes, clock, new URLSearchParams(String(init.body)));
    const person = codes.read(accessTokenOf(url, init), clock.now());
    if (person === undefined) return Response.json({ error: "invalid_token" }, { status: 401 });
    return Response.json(endpoint === "user/emails" ? emailsOf(person) : profileOf(person, provider));
  };
}

/** The code serves as the access token, too, once PKCE (RFC 7636) has shown who asks. */
function tokenAnswer(codes: DevelopmentCodes, clock: Clock, form: URLSearchParams): Response {
  const code = form.get("code") ?? "";
  const challenge = hash("sha256", form.get("code_verifier") ?? "", "base64url");
  const isGood = codes.read(code, clock.now())?.codeChallenge === challenge;
  if (!isGood) return Response.json({ error: "invalid_grant" }, { status: 400 });
  return Response.json({ access_token: code, token_type: "Bearer" });
}

function accessTokenOf(url: string, init: RequestInit): string {
  const header = new Headers(init.headers).get("Authorization")?.replace(/^Bearer /, "");
  return header ?? new URL(url).searchParams.get("access_token") ?? "";
}

function profileOf({ email, name, emailVerified }: Person, provider: Provider | string | undefined): object {
  // The same address is the same account, as long as it is typed the same way.
  const id = `dev-${hash("sha256", email, "hex").slice(0, 16)}`;
  return provider === "google"
    ? { sub: id, email, email_verified: emailVerified, name }
    : { id, email, name };
}

function emailsOf({ email, emailVerified }: Person): object {
  return [{ email, primary: true, verified: emailVerified }];
}
