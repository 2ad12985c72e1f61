// E-mail and password -> a session, or one and the same refusal.
import { AppError } from "@portico/shared/app-error";
import type { TokenPair } from "@portico/shared/token-pair";
import { BodyReader } from "./body-reader.js";
import { normalizeEmail } from "./email.js";
import { type ClientFacts, type IssueSessionDeps, issueSession } from "./issue-session.js";
import type { PasswordHasher } from "./password-hasher.js";
import { PASSWORD_MAX_CHARACTERS } from "./password-problem.js";

/** What is needed to judge a sign-in. */
export interface LogInUser {
  readonly id: string;
  /** Null for accounts that sign in by other means. */
  readonly passwordHash: string | null;
  readonly isActive: boolean;
}

export interface LogInDeps extends IssueSessionDeps {
  readonly users: {
    findByEmail(email: string): Promise<LogInUser | undefined>;
    /** Only while `old` is still the stored hash: a password changed meanwhile wins. */
    replacePasswordHash(userId: string, old: string, fresh: string): Promise<void>;
  };
  readonly hasher: PasswordHasher;
}

const EMAIL_MAX_CHARACTERS = 320;

/** @throws AppError VALIDATION_ERROR, INVALID_CREDENTIALS, or SERVICE_UNAVAILABLE when too many sign in at once */
export async function logIn(deps: LogInDeps, body: unknown, client: ClientFacts): Promise<TokenPair> {
  const { email, password, remember } = readLogInBody(body);
  const user = await provedUser(deps, email, password);
  if (user === undefined) throw new AppError("INVALID_CREDENTIALS");
  return issueSession(deps, { userId: user.id, remember, provider: null }, client);
}

function readLogInBody(body: unknown): { email: string; password: string; remember: boolean } {
  const reader = new BodyReader(body, ["email", "password", "remember"]);
  const email = normalizeEmail(reader.text("email", EMAIL_MAX_CHARACTERS));
  const password = reader.text("password", PASSWORD_MAX_CHARACTERS);
  const remember = reader.flag("remember");
  reader.done();
  return { email, password, remember };
}

/** Unknown, password-less and inactive accounts cost as much as a wrong password, or time would tell them apart. */
async function provedUser(deps: LogInDeps, email: string, password: string): Promise<LogInUser | undefined> {
  const user = await deps.users.findByEmail(email);
  if (user === undefined || user.passwordHash === null || !user.isActive) {
    await deps.hasher.verifyNothing(password);
    return undefined;
  }
  if (!(await deps.hasher.verify(user.passwordHash, password))) return undefined;
  // An upgrade that fails must not lock anybody out; the next sign-in tries again.
  await upgradeHash(deps, user.id, user.passwordHash, password).catch(() => undefined);
  return user;
}

async function upgradeHash(
  { users, hasher }: LogInDeps,
  userId: string,
  stored: string,
  password: string,
): Promise<void> {
  if (!hasher.needsRehash(stored)) return;
  await users.replacePasswordHash(userId, stored, await hasher.hash(password));
}
