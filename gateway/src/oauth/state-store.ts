// Passport's state store without a session: it keeps nothing itself, and belongs to one request.
//
// Passport looks at how many parameters these functions declare: five for `store` and four for `verify` mean "with
// PKCE and meta". Its published types know fewer, hence the optional ones here. A strategy without a store would use
// no state at all (security row A23).
import type { Request } from "express";

type Callback = (error: unknown, result?: unknown, state?: unknown) => void;

export interface StateStore {
  store(request: Request, verifier?: unknown, state?: unknown, meta?: unknown, done?: unknown): void;
  verify(request: Request, provided?: unknown, meta?: unknown, done?: unknown): void;
}

/** For the way to the provider. @param begin stores the flow and returns its state */
export function startStore(begin: (codeVerifier: string) => Promise<string>): StateStore {
  return {
    store(_request, verifier, _state, _meta, done) {
      if (!isCallback(done)) throw new TypeError("the strategy calls its store in another way");
      if (typeof verifier !== "string") return done(new TypeError("the strategy uses no PKCE"));
      begin(verifier).then((state) => done(null, state), done);
    },
    verify(_request, _provided, _meta, done) {
      if (isCallback(done)) done(null, false);
    },
  };
}

/** For the way back, when the state has already been checked and used up. */
export function returnStore(taken: { readonly state: string; readonly codeVerifier: string }): StateStore {
  return {
    store(_request, _verifier, _state, _meta, done) {
      // Without a code a strategy would start again.
      if (isCallback(done)) done(new TypeError("nothing begins here"));
    },
    verify(_request, provided, _meta, done) {
      if (isCallback(done)) done(null, provided === taken.state ? taken.codeVerifier : false, taken.state);
    },
  };
}

function isCallback(value: unknown): value is Callback {
  return typeof value === "function";
}
