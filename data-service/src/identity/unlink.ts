// Takes a provider account away from a user, unless it is the last way to sign in.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Audit } from "../auth/audit.js";
import type { ClientFacts } from "../auth/issue-session.js";
import type { IdentityUsers, LinkedAccounts } from "./accounts.js";

export interface UnlinkDeps {
  readonly accounts: Pick<LinkedAccounts, "markLeaving" | "unmarkLeaving" | "remove">;
  readonly identityUsers: Pick<IdentityUsers, "find">;
  readonly clock: Clock;
  readonly audit: Audit;
}

/**
 * First marks, then counts what stays: of two requests that take away the last two accounts at once, each sees the other's
 * mark, and both are refused.
 * @throws AppError NOT_FOUND, or CONFLICT for the last way to sign in
 */
export async function unlink(
  { accounts, identityUsers, clock, audit }: UnlinkDeps,
  userId: string,
  accountId: string,
  client: ClientFacts,
): Promise<void> {
  const others = await accounts.markLeaving(accountId, userId, clock.now());
  if (others === undefined) throw new AppError("NOT_FOUND", "You have no such connected account.");
  if (others === 0 && !(await identityUsers.find(userId))?.hasPassword) {
    await accounts.unmarkLeaving(accountId);
    throw new AppError(
      "CONFLICT",
      "This is your last way to sign in; connect another provider first, or ask a root admin for a password.",
    );
  }
  await accounts.remove(accountId);
  await audit.record({ event: "oauth.unlink", userId, details: { accountId } }, client);
}
