// E-mail and password -> a session, or one and the same refusal.
import { AppError } from "@portico/shared/app-error";
import type { TokenPair } from "@portico/shared/token-pair";
import { normalizeEmail } from "../catalog/email-address.js";
import type { AccountDigest } from "./account-digest.js";
import type { Audit } from "./audit.js";
import { BodyReader } from "./body-reader.js";
import type { ClientFacts } from "./client-facts.js";
import { type IssueSessionDeps, issueSession } from "./issue-session.js";
import type { PasswordHasher } from "./password-hasher.js";
import { PASSWORD_MAX_CHARACTERS } from "./password-problem.js";
import type { Throttle } from "./throttle.js";

/** What is needed to check a sign-in. */
export interface LogInUser {
  readonly id: string;
  /** Null for accounts that sign in by other means. */
  readonly passwordHash: string | null;
  readonly isActive: boolean;
  /** See auth/session. */
  readonly epoch: string;
}

export interface LogInDeps extends IssueSessionDeps {
  readonly users: IssueSessionDeps["users"] & {
    findByEmail(email: string): Promise<LogInUser | undefined>;
    /** Only while `old` is still the stored hash: a password that was changed meanwhile wins. */
    replacePasswordHash(userId: string, old: string, fresh: string): Promise<void>;
  };
  readonly hasher: PasswordHasher;
  readonly throttle: Pick<Throttle, "admitSignIn">;
  readonly digest: AccountDigest;
  readonly audit: Audit;
}

const EMAIL_MAX_CHARACTERS = 320;

/**
 * @throws AppError VALIDATION_ERROR, INVALID_CREDENTIALS, TOO_MANY_REQUESTS after too many failures, or
 * SERVICE_UNAVAILABLE when too many sign in at once
 */
export async function logIn(deps: LogInDeps, body: unknown, client: ClientFacts): Promise<TokenPair> {
  const { email, password, remember } = readLogInBody(body);
  const user = await admit(deps, email, password, client);
  const tokens = await issueSession(
    deps,
    { userId: user.id, remember, provider: null, epoch: user.epoch },
    client,
  );
  await deps.audit.record({ event: "sign-in", userId: user.id, details: { provider: "password" } }, client);
  return tokens;
}

/**
 * Whose address and password these are; counts the try, and tells of one that fails. The limit is checked before the hash: a
 * flood of guesses must not cost a flood of hashing.
 * @throws AppError INVALID_CREDENTIALS, TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
async function admit(
  deps: LogInDeps,
  email: string,
  password: string,
  client: ClientFacts,
): Promise<LogInUser> {
  const attempt = await deps.throttle.admitSignIn(email, client.address);
  const found = await judgePassword(deps, email, password).catch(async (error: unknown) => {
    await attempt.withdraw();
    throw error;
  });
  if (found.proved) {
    await attempt.succeeded();
    // A failed upgrade must not lock anybody out; the next sign-in tries again.
    await upgradeHash(deps, found.user, password).catch(() => undefined);
    return found.user;
  }
  const told = deps.audit.record(failure(found.user, deps.digest(email)), client);
  await Promise.all([attempt.failed(), told]);
  throw new AppError("INVALID_CREDENTIALS");
}

/** For an address that nobody owns only the digest is kept: it may be a stranger's, or a mistyped password. */
function failure(user: LogInUser | undefined, account: string): Parameters<Audit["record"]>[0] {
  if (user !== undefined) return { event: "sign-in.failed", userId: user.id };
  return { event: "sign-in.failed", details: { account } };
}

function readLogInBody(body: unknown): { email: string; password: string; remember: boolean } {
  const reader = new BodyReader(body, ["email", "password", "remember"]);
  const email = normalizeEmail(reader.text("email", EMAIL_MAX_CHARACTERS));
  const password = reader.text("password", PASSWORD_MAX_CHARACTERS);
  const remember = reader.flag("remember");
  reader.done();
  return { email, password, remember };
}

/** One who can sign in by a password. */
type WithPassword = LogInUser & { readonly passwordHash: string };

type Proof =
  | { readonly proved: true; readonly user: WithPassword }
  | { readonly proved: false; readonly user: LogInUser | undefined };

/** Unknown, password-less and inactive accounts take as long as a wrong password, or the time would tell them apart. */
async function judgePassword({ users, hasher }: LogInDeps, email: string, password: string): Promise<Proof> {
  const user = await users.findByEmail(email);
  const passwordHash = user?.passwordHash ?? null;
  if (user === undefined || passwordHash === null || !user.isActive) {
    await hasher.verifyNothing(password);
    return { proved: false, user };
  }
  const isRight = await hasher.verify(passwordHash, password);
  return isRight ? { proved: true, user: { ...user, passwordHash } } : { proved: false, user };
}

async function upgradeHash(
  { users, hasher }: LogInDeps,
  { id, passwordHash }: WithPassword,
  password: string,
): Promise<void> {
  if (!hasher.needsRehash(passwordHash)) return;
  await users.replacePasswordHash(id, passwordHash, await hasher.hash(password));
}
