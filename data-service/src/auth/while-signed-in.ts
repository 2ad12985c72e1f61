// Whatever outlives the session that made it (an API token, a connected provider) is made only while that session lives.
import { throwAway } from "../mongo/driver-errors.js";
import { findAnew, type LiveSession, type SessionCache } from "./session-cache.js";

export interface WhileSignedInDeps {
  readonly sessionCache: Pick<SessionCache, "find" | "forgetSession">;
}

/** The session that makes something, and its user. */
export interface Maker {
  readonly userId: string;
  readonly sessionId: string;
}

/**
 * Asks the database before and again after. Taking an account over first ends its sessions, then clears away what was made
 * for it: something made too late for that finds that its session has ended.
 * @param takeBack undoes what was made
 * @returns undefined when the session has ended; then nothing is left of it
 * @throws AppError 503 that counts as unanswered where that can't be told, or not be undone, of what was made
 */
export async function whileSignedIn<Made extends NonNullable<unknown>>(
  { sessionCache }: WhileSignedInDeps,
  { userId, sessionId }: Maker,
  make: (session: LiveSession) => Promise<Made>,
  takeBack: (made: Made) => Promise<unknown>,
): Promise<Made | undefined> {
  const session = await findAnew(sessionCache, sessionId, userId);
  if (session === undefined) return undefined;
  const made = await make(session);
  if ((await findAnew(sessionCache, sessionId, userId).catch(throwAway)) !== undefined) return made;
  await takeBack(made).catch(throwAway);
  return undefined;
}
