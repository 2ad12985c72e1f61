// What a session is, and how long one lives.

/** Those of sessions by a provider, whose apps may know what was made in them. */
export type Origins = readonly (string | null)[];

/** One sign-in of one user. Its id is no secret: only a token's MAC or signature proves it. */
export interface Session {
  /** 128 random bits as base64url. */
  readonly id: string;
  /** 24-hex id of the user. */
  readonly userId: string;
  /**
   * The epochs of its user in which it is valid: that of the sign-in, and those of password changes that it took part in.
   */
  readonly epochs: readonly string[];
  /** The web origin the session was made for; null when no browser made it. */
  readonly origin: string | null;
  /** Which refresh token is current: 0 at sign-in, one more with each rotation. */
  readonly generation: number;
  /** When the current generation was made. All times in its tokens derive from this. */
  readonly rotatedAt: Date;
  /**
   * When the previous generation was superseded, by the database's own clock: the command can come there long after it was
   * sent. Missing before the first refresh; in sessions that an earlier version has refreshed it is missing, or of a refresh
   * before that one, so that only the later of the two times counts.
   */
  readonly supersededAt?: Date;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  /** Asked for at sign-in: 7 days instead of 1. */
  readonly remember: boolean;
  /** The OAuth provider that signed the user in; null for a password. */
  readonly provider: string | null;
  /** `seenOn` of the session in which the provider account that opened it was connected; missing where there was none. */
  readonly connectedOn?: Origins;
  readonly userAgent: string | null;
  readonly address: string | null;
}

/**
 * How long log-outs, revoked tokens, deactivations and changed roles may go unnoticed where another instance has made them
 * (contract, section 3.1).
 */
export const KNOWN_FOR_MS = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Without a refresh for this long the session ends. */
const LIFETIME_MS = 1 * DAY_MS;
const REMEMBERED_LIFETIME_MS = 7 * DAY_MS;
/** Refreshing never carries a session beyond this; otherwise a stolen one would live forever. */
const ABSOLUTE_LIFETIME_MS = 30 * DAY_MS;

/** When a session ends that is made or refreshed at `now`: later with each refresh, up to the absolute limit. */
export function sessionExpiry(session: Pick<Session, "createdAt" | "remember">, now: Date): Date {
  const sliding = now.getTime() + (session.remember ? REMEMBERED_LIFETIME_MS : LIFETIME_MS);
  return new Date(Math.min(sliding, session.createdAt.getTime() + ABSOLUTE_LIFETIME_MS));
}

/**
 * A user's epoch is a random text stored beside the password hash. It is replaced in the write that changes the password or
 * sets `isActive: false`, which ends all sessions of the former epoch at once, whatever happens to the process next.
 */
export const FIRST_EPOCH = "";

/**
 * Where providers open sessions for root admins: on the app's own origin; null = on every one (OAUTH_ROOT_ELSEWHERE).
 * Whoever runs the app of another origin sees the sessions that it proxies (security row A22).
 */
export type RootOrigin = string | null;

/** How a session, or that in which something was made, came to be. */
export type Opened = Pick<Session, "provider" | "origin" | "connectedOn">;

/** Of a session that is more than this: what may be kept of it with what was made in it. */
export function openedOf({ provider, origin, connectedOn }: Opened): Opened {
  return { provider, origin, ...(connectedOn !== undefined && { connectedOn }) };
}

/**
 * For which origins providers have opened the session, and those in which its provider account was connected: their apps may
 * know what is made in it, and may have connected an account of their own. None where the user gave the password.
 */
export function seenOn({ provider, origin, connectedOn = [] }: Opened): Origins {
  return provider === null ? [] : [...new Set([origin, ...connectedOn])];
}

/** Whether a session, or an API token that was made in one, may be that of a root admin. */
export function isForRoot(opened: Opened, rootOrigin: RootOrigin): boolean {
  return rootOrigin === null || seenOn(opened).every((origin) => origin === rootOrigin);
}

/** Whether a session is alive at `now` for its user, as whose record says. One who has become root admin may have lost it. */
export function isAlive(
  session: Opened & Pick<Session, "expiresAt" | "epochs">,
  user: { readonly epoch: string; readonly isRootAdmin: boolean },
  now: Date,
  rootOrigin: RootOrigin,
): boolean {
  const isCurrent = session.expiresAt > now && session.epochs.includes(user.epoch);
  return isCurrent && (!user.isRootAdmin || isForRoot(session, rootOrigin));
}

const SESSION_ID = /^[\w-]{21}[AQgw]$/;

/** Whether the text is 16 bytes in canonical base64url: 22 characters, the last with four zero bits. */
export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}
