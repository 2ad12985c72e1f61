// Decides, from the credentials of a request, how it continues: use, renew, anonymous, or reject. Pure.
import { isServed } from "@portico/shared/session-page";
import { isSpellingOf, type Spelling } from "../cookies/session-cookies.js";
import { type AccessClaims, readAccessClaims } from "./access-claims.js";
import type { Credentials } from "./credentials.js";
import { isServedBearer } from "./served-session.js";

export type SessionDecision =
  /** The header is the caller's own business: forwarded as it is, cookies ignored. */
  | { readonly kind: "bearer"; readonly authorization: string }
  | Use
  | Renew
  | { readonly kind: "anonymous" }
  /** Two Authorization headers contradict each other. */
  | { readonly kind: "reject" }
  /** A Bearer token of a session that does not count here. */
  | { readonly kind: "unserved" };

/** The access token as it is. */
export interface Use extends Carried {
  readonly kind: "use";
  readonly accessToken: string;
  /** The web origin the session was made for; undefined = APP_URL's. */
  readonly origin: string | undefined;
}

/** Another access token first. Only that reveals the session's origin, by which the spelling of its cookies is then judged. */
export interface Renew extends Carried {
  readonly kind: "renew";
  readonly refreshToken: string;
  /** What the access token is still good for, should the renewal have to wait. */
  readonly until: Use | undefined;
}

/** What the cookies hold beside the access token. */
export interface Carried {
  readonly refreshToken: string | undefined;
  readonly spelling: Spelling;
}

const EXPIRY_MARGIN_MS = 30_000;

export interface ServedPages {
  /** The origin of sessions that name none. */
  readonly appUrl: string;
  /** The app's own origin and ALLOWED_ORIGINS. */
  readonly pageOrigins: readonly string[];
}

/** Contract 3.2 (Bearer) and 3.3 (cookies). */
export function decideSession(
  credentials: Credentials,
  { appUrl, pageOrigins }: ServedPages,
  now: Date,
): SessionDecision {
  const [authorization, ...others] = credentials.authorization;
  if (others.length > 0) return { kind: "reject" };
  if (authorization !== undefined)
    return isServedBearer(authorization, pageOrigins)
      ? { kind: "bearer", authorization }
      : { kind: "unserved" };
  if (credentials.cookies.kind !== "present") return { kind: "anonymous" };
  const { accessToken, refreshToken, spelling } = credentials.cookies;
  const claims = accessToken === undefined ? undefined : readAccessClaims(accessToken);
  if (claims !== undefined && !isSpellingOf(spelling, claims.origin ?? appUrl)) return { kind: "anonymous" };
  // One whose origin is not served is as good as none: its refresh is refused as well, and that clears the cookies.
  const isValid =
    claims !== undefined && isServed(claims.origin, pageOrigins) && claims.expiresAtMs > now.getTime();
  if (accessToken === undefined || !isValid)
    return refreshToken === undefined
      ? { kind: "anonymous" }
      : { kind: "renew", refreshToken, spelling, until: undefined };
  const use: Use = { kind: "use", accessToken, origin: claims.origin, refreshToken, spelling };
  if (refreshToken === undefined || !expiresSoon(claims, now)) return use;
  return { kind: "renew", refreshToken, spelling, until: use };
}

function expiresSoon(claims: AccessClaims, now: Date): boolean {
  return claims.expiresAtMs - now.getTime() <= expiryMargin(claims);
}

/**
 * 30 s, but never more than half the token's life: otherwise every single request would refresh a token that lives less
 * than 60 s.
 */
function expiryMargin({ issuedAtMs, expiresAtMs }: AccessClaims): number {
  if (issuedAtMs === undefined) return EXPIRY_MARGIN_MS;
  return Math.min(EXPIRY_MARGIN_MS, Math.max(0, expiresAtMs - issuedAtMs) / 2);
}
