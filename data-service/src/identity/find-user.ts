// Identity -> the user it signs in: found, linked or made, and exactly one however many requests come at once.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import type { Identity, OAuthError } from "@portico/shared/oauth";
import { isForRoot, type Origins, type RootOrigin } from "../auth/session.js";
import { emailProblem, normalizeEmail } from "../catalog/email-address.js";
import type { IdentityUsers, LinkedAccount, LinkedAccounts } from "./accounts.js";
import { type AccountDecision, type AccountFacts, decideAccount } from "./decide-account.js";

/** To see whose an identity is: it has no way to write. */
export interface ForeseeDeps {
  readonly accounts: Pick<LinkedAccounts, "find">;
  readonly identityUsers: Pick<IdentityUsers, "find" | "findByEmail">;
  /** OAUTH_SIGNUP */
  readonly oauthSignup: boolean;
  readonly rootOrigin: RootOrigin;
}

export interface FindUserDeps extends ForeseeDeps {
  readonly accounts: LinkedAccounts;
  readonly identityUsers: IdentityUsers;
  /** Forgets what is cached about a user and their API tokens. */
  readonly forgetUser: (userId: string) => void;
  readonly clock: Clock;
  /** OAUTH_SIGNUP_ROLE */
  readonly oauthSignupRole: string | undefined;
  readonly logger: Pick<Logger, "warn">;
}

export type FoundUser =
  | {
      readonly kind: "user";
      readonly userId: string;
      readonly how: "use" | "link" | "take over" | "create";
      /** See accounts: none for an account that is connected by this very sign-in. */
      readonly connectedOn?: Origins;
      /** Of a user who was made with one. */
      readonly roleId?: string;
    }
  /** `userId`: see decide-account. */
  | { readonly kind: "refused"; readonly error: OAuthError; readonly userId?: string };

/** Somebody who comes back from a provider. */
export interface Newcomer {
  readonly identity: Identity;
  /** Where the browser returns to. */
  readonly origin: string;
}

/** Told on the way, for what is known only then if the rest fails. */
export interface OnTheWay {
  /** A user has lost every way in: that stays so, whatever becomes of the rest. */
  tookOver(userId: string): Promise<void>;
  /** The account is being linked to a user; undefined: it was not. */
  linking(userId: string | undefined): void;
}

/** Each round sees what the faster request did, so two are almost always enough. */
const MAX_ROUNDS = 8;

/** Finds, links or makes the user. */
export async function findUser(
  deps: FindUserDeps,
  newcomer: Newcomer,
  onTheWay: OnTheWay,
): Promise<FoundUser> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = await attempt(deps, newcomer, onTheWay);
    if (found !== undefined) return found;
  }
  // Others keep changing the same accounts.
  return { kind: "refused", error: "provider_unavailable" };
}

/** What `findUser` would do at this moment. */
export async function foresee(deps: ForeseeDeps, newcomer: Newcomer): Promise<AccountDecision> {
  return decideAccount((await look(deps, newcomer)).facts);
}

/** Undefined when somebody else was faster. */
async function attempt(
  deps: FindUserDeps,
  newcomer: Newcomer,
  onTheWay: OnTheWay,
): Promise<FoundUser | undefined> {
  const { identity } = newcomer;
  const { account, facts } = await look(deps, newcomer);
  const decision = decideAccount(facts);
  switch (decision.kind) {
    case "refuse":
      return { ...decision, kind: "refused" };
    case "use":
      return use(deps, identity, decision, account);
    case "link":
      return link(deps, identity, decision, account, onTheWay);
    case "create":
      return create(deps, identity, decision.email, account);
  }
}

/**
 * The owner of the address first: a first sign-in writes the account's row before its user, so whoever sees that user also
 * sees the row, and does not mistake its own other half for a stranger.
 */
async function look(
  { accounts, identityUsers, oauthSignup, rootOrigin }: ForeseeDeps,
  { identity, origin }: Newcomer,
): Promise<{ account: LinkedAccount | undefined; facts: AccountFacts }> {
  const email = usableEmail(identity.email);
  const owner = email === undefined ? undefined : await identityUsers.findByEmail(email);
  const account = await accounts.find(identity);
  const linked = account === undefined ? undefined : await identityUsers.find(account.userId);
  const { emailVerified, provider } = identity;
  // A row whose user is gone is written anew.
  const connectedOn = linked === undefined ? [] : (account?.connectedOn ?? []);
  const mayBeRoot = isForRoot({ provider, origin, connectedOn }, rootOrigin);
  const known = { linked, owner, email, emailVerified };
  return { account, facts: { ...known, mayCreate: oauthSignup, isForRoot: mayBeRoot } };
}

function usableEmail(text: string | null): string | undefined {
  const email = text === null ? "" : normalizeEmail(text);
  return emailProblem(email) === undefined ? email : undefined;
}

/** Undefined when the account is another user's by now. */
async function use(
  deps: FindUserDeps,
  identity: Identity,
  { userId, proves }: Extract<AccountDecision, { kind: "use" }>,
  account: LinkedAccount | undefined,
): Promise<FoundUser | undefined> {
  const { accounts, identityUsers } = deps;
  const outcome = account?.isPending ? await accounts.confirm(identity, userId) : "as before";
  if (outcome === "another's") return undefined;
  if (proves !== undefined) await identityUsers.proveAddress(userId, proves);
  // Whoever made the user got no further than that, and has told nobody.
  if (outcome === "confirmed") return created(userId, (await identityUsers.find(userId))?.roleId);
  return { kind: "user", userId, how: "use", ...(account && { connectedOn: account.connectedOn }) };
}

function created(userId: string, roleId: string | undefined): FoundUser {
  return { kind: "user", userId, how: "create", ...(roleId !== undefined && { roleId }) };
}

async function link(
  { accounts, identityUsers, forgetUser, clock }: FindUserDeps,
  identity: Identity,
  { userId, email, takeOver }: Extract<AccountDecision, { kind: "link" }>,
  account: LinkedAccount | undefined,
  onTheWay: OnTheWay,
): Promise<FoundUser | undefined> {
  // First: if the process dies in between, the next sign-in finds the address still unproved and goes on; and nobody is
  // connected to a user whose address turns out to be another one.
  const isTheirs = takeOver
    ? await identityUsers.takeOver(userId, email)
    : await identityUsers.keepAddress(userId, email);
  if (takeOver) forgetUser(userId);
  if (!isTheirs) return undefined;
  if (takeOver) await onTheWay.tookOver(userId);
  else onTheWay.linking(userId);
  const bySignIn = { createdAt: clock.now(), origin: null, connectedOn: [] };
  if (await accounts.link(identity, userId, account?.userId, bySignIn))
    return { kind: "user", userId, how: takeOver ? "take over" : "link" };
  onTheWay.linking(undefined);
  return undefined;
}

/**
 * The account's row is written first, with the id that its user will have: of many first sign-ins one writes the row, and
 * all make the same user. A process that dies in between leaves a row that the next sign-in completes.
 */
async function create(
  deps: FindUserDeps,
  identity: Identity,
  email: string,
  account: LinkedAccount | undefined,
): Promise<FoundUser | undefined> {
  const { accounts, identityUsers, clock } = deps;
  const userId = account?.isPending ? account.userId : identityUsers.newId();
  const createdAt = clock.now();
  const isReserved =
    account?.isPending || (await accounts.reserve(identity, userId, account?.userId, createdAt));
  if (!isReserved) return undefined;
  const { emailVerified, name } = identity;
  const roleId = await roleOfNewcomers(deps);
  const user = { id: userId, email, emailVerified, name, roleId, createdAt };
  const inserted = await identityUsers.insert(user);
  if (inserted === "taken") return undefined;
  const outcome = await accounts.confirm(identity, userId);
  if (outcome === "confirmed") return created(userId, roleId);
  // Another request of the same person was faster.
  if (outcome === "as before") return { kind: "user", userId, how: "use", connectedOn: [] };
  // Taken for dead, it came too late: the account was connected to another user, and nobody could sign in as this one.
  if (inserted === "made") await identityUsers.takeBack(user);
  return undefined;
}

/** Roles are data: one that does not exist, or not yet, gives the newcomer no rights and stops nobody. */
async function roleOfNewcomers({ identityUsers, oauthSignupRole: role, logger }: FindUserDeps) {
  if (role === undefined) return undefined;
  const roleId = await identityUsers.findRole(role);
  if (roleId === undefined)
    logger.warn({ role }, "OAUTH_SIGNUP_ROLE names no role; a user is made without one");
  return roleId;
}
