// Session and presented generation -> what a refresh does. Decides; accept-refresh.ts and refresh.ts act.
import type { Session } from "./session.js";

/**
 * For two tabs at once, or an answer that was lost: the previous token stays valid for this long (contract, section 3.1).
 */
export const GRACE_MS = 30_000;

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
  const superseded = Math.max(session.rotatedAt.getTime(), session.supersededAt?.getTime() ?? 0);
  const inGrace = now.getTime() - superseded <= GRACE_MS;
  return behind === 1 && inGrace ? "repeat" : "revoke";
}
