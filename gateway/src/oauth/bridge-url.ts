// Checked return target -> the address of the cookie bridge, and the return address with an error. Pure.
import type { OAuthError } from "@portico/shared/oauth";
import type { ReturnTarget } from "./return-target.js";

/** What the bridge's address carries. Never a token. */
export type BridgeMessage = { readonly code: string } | { readonly error: OAuthError };

/** @throws Error when the finished address is not on the target's origin and path: then an earlier check was wrong */
export function bridgeUrl({ origin, bridgePrefix, redirect }: ReturnTarget, message: BridgeMessage): string {
  const path = `${bridgePrefix}/auth/set-cookies`;
  const parameters = new URLSearchParams({ ...message, redirect });
  const text = `${origin}${path}?${parameters}`;
  const parsed = new URL(text);
  if (parsed.origin !== origin || parsed.pathname !== path || parsed.hash !== "" || parsed.href !== text) {
    throw new Error("the bridge address is not where it should be");
  }
  return text;
}

/** Adds `error=…` to the query and leaves the rest of it as it is, byte for byte. */
export function withError(redirect: string, error: OAuthError): string {
  const url = new URL(redirect);
  url.search = `${url.search === "" ? "?" : `${url.search}&`}error=${error}`;
  return url.href;
}
