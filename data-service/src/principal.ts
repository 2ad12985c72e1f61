// Who is asking. Made by http/authenticate, trusted everywhere after it.
import { AppError } from "@portico/shared/app-error";
import { signInNeeded } from "@portico/shared/bearer-token";

/** A user with a live session or an API token. */
export interface SignedIn {
  readonly kind: "user";
  /** 24-hex id of the `svc_user` record. */
  readonly userId: string;
  /** Undefined with an API token. */
  readonly sessionId: string | undefined;
  /** The web origin the session was made for; null when no browser made it. */
  readonly origin?: string | null;
  /** The API token that was presented instead of a session's token. */
  readonly apiToken?: { readonly id: string; readonly readOnly: boolean };
  readonly roleId: string | null;
  readonly isRootAdmin: boolean;
}

/** A user with a live session. */
export type SessionUser = SignedIn & { readonly sessionId: string };

export type Principal = { readonly kind: "anonymous" } | SignedIn;

export const ANONYMOUS: Principal = { kind: "anonymous" };

/** Whoever presents a read-only API token, whatever its user may do. */
export function mayOnlyRead(principal: Principal): boolean {
  return principal.kind === "user" && principal.apiToken?.readOnly === true;
}

/** @throws AppError 401 for anonymous callers */
export function requireSignedIn(principal: Principal): SignedIn {
  if (principal.kind === "anonymous") throw signInNeeded();
  return principal;
}

/** @throws AppError 401 for anonymous callers, 403 with the sentence for all others but root admins */
export function requireRoot(principal: Principal, sentence: string): SignedIn {
  const user = requireSignedIn(principal);
  if (!user.isRootAdmin) throw new AppError("FORBIDDEN", sentence);
  return user;
}
