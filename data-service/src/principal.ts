// Who is asking. Made by http/authenticate, believed everywhere behind it.

/** Nobody signed in, or a signed-in user with a live session. */
export type Principal =
  | { readonly kind: "anonymous" }
  | {
      readonly kind: "user";
      /** 24-hex id of the `svc_user` record. */
      readonly userId: string;
      readonly sessionId: string;
      readonly roleId: string | null;
      readonly isRootAdmin: boolean;
    };

export const ANONYMOUS: Principal = { kind: "anonymous" };
