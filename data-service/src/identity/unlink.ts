// Takes a provider account away from a user, unless it is the last way to sign in, and ends the sessions that it may have opened.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Provider } from "@portico/shared/oauth";
import type { AuditEvent, AuditLog } from "../auth/audit.js";
import type { ClientFacts } from "../auth/client-facts.js";
import type { RootOrigin } from "../auth/session.js";
import { tellingUncertain } from "../auth/telling-uncertain.js";
import type { AdminStore } from "../mongo/admin-store.js";
import type { Lock } from "../mongo/lock.js";
import type { SessionUser } from "../principal.js";
import { mayStillBeDone } from "../records/whole/uncertain.js";
import { untilStill } from "../until-still.js";
import type { IdentityUsers, LinkedAccounts } from "./accounts.js";

export interface UnlinkDeps {
  readonly accounts: Pick<LinkedAccounts, "markLeaving" | "unmarkLeaving" | "remove">;
  readonly identityUsers: Pick<IdentityUsers, "find">;
  readonly sessions: {
    /** Ends those that the provider has opened for the user, but for this one. */
    removeOfProvider(userId: string, provider: Provider, but: string): Promise<void>;
  };
  /** Forgets what is cached about a user. */
  readonly forgetUser: (userId: string) => void;
  readonly rootOrigin: RootOrigin;
  readonly clock: Clock;
  readonly audit: AuditLog;
  /** Whoever takes away a root admin's password meanwhile would count the provider among the ways in that stay. */
  readonly adminLock: Lock;
  /** For root admins: the lock alone does not hold one that stands still. */
  readonly putTurn: AdminStore["putTurn"];
}

/** Each time another request has taken this one for dead. */
const ATTEMPTS = 8;

/**
 * The sessions go first: should this end half-way, the account is still there to be disconnected. They go once more after it, as
 * it may have opened others meanwhile.
 * A session does not tell which account of its provider has opened it: with one, those of all of them end, but for the one
 * that asks. A session that is made too late for that finds its account gone (see redeem).
 * @throws AppError NOT_FOUND, CONFLICT for the last way to sign in, or 503 `uncertain`
 */
export async function unlink(
  deps: UnlinkDeps,
  { userId, by }: Pick<SessionUser, "userId" | "by">,
  accountId: string,
  client: ClientFacts,
): Promise<void> {
  const gaveUp = () => {
    throw new AppError("CONFLICT", "Your accounts are being changed by other requests; try again.");
  };
  const endSessions = (provider: Provider) =>
    deps.sessions.removeOfProvider(userId, provider, by.id).finally(() => deps.forgetUser(userId));
  const eventOf = (provider: Provider): AuditEvent => {
    const details = { provider, accountId, ended: "other sessions by this provider" };
    return { event: "oauth.unlink", userId, details };
  };
  const telling = { audit: deps.audit, client };
  const removeFrom = (provider: Provider, marked: Date) =>
    tellingUncertain(
      telling,
      () => [eventOf(provider)],
      () =>
        deps.accounts.remove(accountId, marked).catch(async (error: unknown) => {
          // It may be gone, and then it can't be asked for again.
          if (mayStillBeDone(error)) await endSessions(provider).catch(() => undefined);
          throw error;
        }),
    );
  const remove = (turn?: string) =>
    untilStill(() => judgeAndRemove(deps, { userId, accountId, turn, endSessions, removeFrom }), {
      attempts: ATTEMPTS,
      gaveUp,
    });
  const user = await deps.identityUsers.find(userId);
  const provider = await (user?.isRootAdmin ? deps.adminLock(remove) : remove());
  const event = eventOf(provider);
  // The account is gone, whatever becomes of the sessions.
  await tellingUncertain(
    telling,
    () => [event],
    () => endSessions(provider),
    () => true,
  );
  await deps.audit.record(event, client);
}

interface Leaving {
  readonly userId: string;
  readonly accountId: string;
  /** Of a root admin. */
  readonly turn: string | undefined;
  readonly endSessions: (provider: Provider) => Promise<void>;
  /** Removes the account, unless the mark of that time was taken off. */
  readonly removeFrom: (provider: Provider, marked: Date) => Promise<boolean>;
}

/**
 * First marks, then counts what stays: of two requests that take away the last two accounts at once, each sees the other's
 * mark, and both are refused.
 * @returns the provider, or false when its mark was taken off before the removal: others have counted the account among those
 * that stay
 */
async function judgeAndRemove(
  { accounts, identityUsers, putTurn, rootOrigin, clock }: UnlinkDeps,
  { userId, accountId, turn, endSessions, removeFrom }: Leaving,
): Promise<Provider | false> {
  const since = clock.now();
  const marked = await accounts.markLeaving(accountId, userId, since, turn === undefined ? null : rootOrigin);
  if (marked === undefined) throw new AppError("NOT_FOUND", "You have no such connected account.");
  // Whoever counted the account before the mark takes no password away after this; whoever does so later takes the mark off.
  if (turn !== undefined) await putTurn(userId, turn);
  if (marked.staying === 0 && !(await identityUsers.find(userId))?.hasPassword) {
    await accounts.unmarkLeaving(accountId, since);
    throw new AppError(
      "CONFLICT",
      "This is your last way to sign in; connect another provider first, or ask a root admin for a password.",
    );
  }
  await endSessions(marked.provider);
  return (await removeFrom(marked.provider, since)) && marked.provider;
}
