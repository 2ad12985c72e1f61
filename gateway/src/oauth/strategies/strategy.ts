// What a provider is to the rest of the gateway, and how one of its strategies is run for one request.
import { type IncomingMessage, ServerResponse } from "node:http";
import { recordOf } from "@portico/shared/json";
import type { Identity, Provider } from "@portico/shared/oauth";
import type { Request } from "express";
import passport from "passport";
import type OAuth2Strategy from "passport-oauth2";
import type { ProviderSettings } from "../provider-settings.js";
import type { StateStore } from "../state-store.js";
import type { ProviderFetch, Transport } from "./transport.js";

/** Everything a strategy is made of; a fresh one for each request, so nothing is shared. */
export interface Setup {
  readonly settings: ProviderSettings;
  /**
   * Absolute, from the settings: no header of a request has a say in it (security row A12). Exactly this has to be registered
   * with the provider.
   */
  readonly callbackUrl: string;
  readonly store: StateStore;
  readonly transport: Transport;
}

/** One row a provider. */
export interface ProviderRow {
  readonly provider: Provider;
  /** It sends browsers back with a fragment of its own, which they carry along through redirects that have none. */
  readonly addsFragment?: true;
  strategy(setup: Setup): OAuth2Strategy;
  /** Undefined when the profile names nobody. @param profile what the strategy made of the provider's answer */
  identity(profile: unknown): Identity | undefined;
}

export interface ConfiguredProvider extends Pick<Setup, "settings" | "callbackUrl"> {
  readonly row: ProviderRow;
  readonly fetch: ProviderFetch;
  /** For token and profile together. */
  readonly timeoutMs: number;
}

export type Outcome =
  | { readonly kind: "redirect"; readonly url: string }
  | { readonly kind: "profile"; readonly profile: unknown }
  | { readonly kind: "failed"; readonly cause: unknown };

type Handler = (request: Request, response: ServerResponse, next: () => void) => void;

/** Lets Passport run a strategy and tells what came of it. The route decides what to answer. */
export function runStrategy(
  { row, fetch, timeoutMs, ...setup }: ConfiguredProvider,
  store: StateStore,
  request: Request,
  query: Readonly<Record<string, string>>,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const fail = (cause: unknown): void => resolve({ kind: "failed", cause });
    try {
      const transport = { fetch, signal: AbortSignal.timeout(timeoutMs), fail };
      const strategy = row.strategy({ ...setup, store, transport });
      const done = (error: unknown, profile: unknown, challenge: unknown): void => {
        if (error) fail(error);
        else if (profile) resolve({ kind: "profile", profile });
        else fail(new Error("the strategy refused", { cause: challenge }));
      };
      const handle: Handler = passport.authenticate(strategy, { session: false }, done);
      // Only parameters that were checked: given an `error`, a strategy would answer before it looks at the state.
      Object.defineProperty(request, "query", { value: query, configurable: true });
      const answer = answerWithRedirect(request, (url) => resolve({ kind: "redirect", url }));
      handle(request, answer, () => fail(new Error("the strategy passed")));
    } catch (cause) {
      fail(cause);
    }
  });
}

/** Passport writes its redirect to this and it goes nowhere: the real answer also sets a cookie, and may be JSON. */
function answerWithRedirect(request: IncomingMessage, redirect: (url: string) => void): ServerResponse {
  const answer = new ServerResponse(request);
  let url = "";
  // The original would throw for an address that can't be a header's value, where nobody could catch it.
  answer.setHeader = (name, value) => {
    if (name === "Location") url = String(value);
    return answer;
  };
  answer.end = () => {
    redirect(url);
    return answer;
  };
  return answer;
}

/** The `_json` of a Passport profile: the provider's own words. */
export function rawProfile(profile: unknown): Readonly<Record<string, unknown>> {
  return recordOf(recordOf(profile)._json);
}

/** A name or an address worth keeping; null for everything else. */
export function textOrNull(value: unknown): string | null {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" || text.length > 254 ? null : text;
}

/** An id of the provider's, text or number; undefined when there is none. */
export function subjectOf(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined;
}
