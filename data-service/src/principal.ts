// Who is asking. Made by http/authenticate, believed everywhere behind it.

/** A user with a live session. */
export interface SignedIn {
  readonly kind: "user";
  /** 24-hex id of the `svc_user` record. */
  readonly userId: string;
  readonly sessionId: string;
  readonly roleId: string | null;
  readonly isRootAdmin: boolean;
}

export type Principal = { readonly kind: "anonymous" } | SignedIn;

export const ANONYMOUS: Principal = { kind: "anonymous" };
