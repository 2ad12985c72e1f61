// Who is asking. Made by http/authenticate, believed everywhere behind it.

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

export type Principal = { readonly kind: "anonymous" } | SignedIn;

export const ANONYMOUS: Principal = { kind: "anonymous" };
