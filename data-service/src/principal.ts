// Who is asking. Made by http/authenticate and trusted everywhere after that.
import { AppError } from "@portico/shared/app-error";
import { signInNeeded } from "@portico/shared/bearer-token";

interface Anonymous {
  readonly kind: "anonymous";
  /** Of the client, where the request is known. */
  readonly address?: string | undefined;
}

/** A user, as far as rights are concerned: one who asks for something, or one whom others ask about. */
export interface User {
  readonly kind: "user";
  /** 24-hex id of the `svc_user` record. */
  readonly userId: string;
  readonly roleId: string | null;
  readonly isRootAdmin: boolean;
}

/** For whom something is done or judged, however that became known. */
export type Principal = Anonymous | User;

export interface BySession {
  readonly kind: "session";
  readonly id: string;
  /** The web origin the session was made for; null when no browser made it. */
  readonly origin: string | null;
}

export interface ByApiToken {
  readonly kind: "apiToken";
  readonly id: string;
  readonly readOnly: boolean;
}

/** A user who has proved it: by a live session or an API token. */
export interface SignedIn extends User {
  readonly by: BySession | ByApiToken;
}

/** A user with a live session. */
export interface SessionUser extends SignedIn {
  readonly by: BySession;
}

/** Whoever sent a request. */
export type Requester = Anonymous | SignedIn;

/** Does what a root admin would do where nobody asks for it: a schema file says so. No user has this id. */
export const SERVICE: User = { kind: "user", userId: "0".repeat(24), roleId: null, isRootAdmin: true };

export const ANONYMOUS: Anonymous = { kind: "anonymous" };

/** @returns undefined for anonymous callers and API tokens */
export function sessionOf(requester: Requester): BySession | undefined {
  return requester.kind === "user" && requester.by.kind === "session" ? requester.by : undefined;
}

/** True for a read-only API token, whatever its user may do. */
export function mayOnlyRead(requester: Requester): boolean {
  return requester.kind === "user" && requester.by.kind === "apiToken" && requester.by.readOnly;
}

/** @throws AppError 401 for anonymous callers */
export function requireSignedIn<Somebody extends User>(principal: Anonymous | Somebody): Somebody {
  if (principal.kind === "anonymous") throw signInNeeded();
  return principal;
}

/** @throws AppError 401 for anonymous callers; 403 with this sentence for everybody else who is no root admin */
export function requireRoot(principal: Principal, sentence: string): User {
  const user = requireSignedIn(principal);
  if (!user.isRootAdmin) throw new AppError("FORBIDDEN", sentence);
  return user;
}
