// Session and presented generation -> what a refresh does. Decides; accept-refresh.ts and refresh.ts act.
import type { Session } from "./session.js";

/**
 * For two tabs at once, or an answer that was lost: the previous token stays valid for this long (contract, section 3.1).
 */
export const GRACE_MS = 30_000;

/**
 * A rotation comes to the database no later than this after it was sent. Where the database's clock is further ahead, the
 * previous token must not be good for as long.
 */
const MOST_LATE_MS = 120_000;

/**
 * - `rotate`: the current token; replace it
 * - `repeat`: the previous one within the grace window; answer the current pair again
 * - `revoke`: a token that was replaced; somebody holds a copy
 * - `refuse`: nothing to refresh
 */
export type Rotation = "rotate" | "repeat" | "revoke" | "refuse";

export function decideRotation(
  session: Pick<Session, "generation" | "rotatedAt" | "supersededAt" | "expiresAt"> | undefined,
  presented: number,
  now: Date,
): Rotation {
  if (session === undefined || session.expiresAt <= now) return "refuse";
  const behind = session.generation - presented;
  // A genuine token from the future: the database was restored from a backup. Nobody has done anything wrong.
  if (behind < 0) return "refuse";
  if (behind === 0) return "rotate";
  const sent = session.rotatedAt.getTime();
  const noted = Math.min(session.supersededAt?.getTime() ?? sent, sent + MOST_LATE_MS);
  const superseded = Math.max(sent, noted);
  const inGrace = now.getTime() - superseded <= GRACE_MS;
  return behind === 1 && inGrace ? "repeat" : "revoke";
}
