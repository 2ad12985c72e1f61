// PATCH /me: the user's own columns, and the password for whoever knows the current one (contract, section 3.2).
import { AppError } from "@portico/shared/app-error";
import { endedMeanwhile } from "@portico/shared/bearer-token";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { AuditEvent, AuditLog } from "../auth/audit.js";
import type { ClientFacts } from "../auth/client-facts.js";
import type { LogInUser } from "../auth/log-in.js";
import type { PasswordHasher } from "../auth/password-hasher.js";
import { PASSWORD_MAX_CHARACTERS } from "../auth/password-problem.js";
import { FIRST_EPOCH } from "../auth/session.js";
import { findAnew, type SessionCache } from "../auth/session-cache.js";
import { tellingUncertain } from "../auth/telling-uncertain.js";
import type { Throttle } from "../auth/throttle.js";
import { type Catalog, type Column, type Relation, requireField, type Table } from "../catalog/catalog.js";
import { FOR_ROOT } from "../catalog/system-tables.js";
import type { SignedIn } from "../principal.js";
import { allOf, type Document } from "../query/lower/document.js";
import { actingFor } from "../records/acting-for.js";
import { type CheckedBody, checkBody } from "../records/body/check-body.js";
import { planColumns } from "../records/body/write-plan.js";
import { heldBy } from "../records/delete/leaving.js";
import { findTable, parseId } from "../records/find-table.js";
import type { ActingDeps, RecordDeps } from "../records/record-deps.js";
import type { TableCall } from "../records/request.js";
import { newSessionEpoch } from "../records/user-hooks.js";
import { atVersion, type Expected, notAtVersion } from "../records/version.js";
import { saysUncertain } from "../records/whole/uncertain.js";
import { type RecordChange, runUpdate } from "../records/write/run-update.js";
import { untilUncontended } from "../records/write/write-guard.js";

export interface UpdateMeDeps {
  readonly users: {
    findById(userId: string): Promise<(LogInUser & { readonly email: string }) | undefined>;
  };
  readonly sessions: { addEpoch(sessionId: string, epoch: string): Promise<void> };
  readonly sessionCache: Pick<SessionCache, "find" | "forgetSession">;
  readonly hasher: Pick<PasswordHasher, "verify">;
  readonly throttle: Pick<Throttle, "admitSignIn">;
  readonly audit: AuditLog;
}

/** Who is signed in, and what asks again whether they still are. */
export interface Me extends Pick<TableCall, "caller"> {
  readonly principal: SignedIn;
}

/**
 * Changes the signed-in user's record.
 * @param usersTable name of the users' table
 * @throws AppError VALIDATION_ERROR with every violation, INVALID_CREDENTIALS for a wrong `currentPassword`,
 * FORBIDDEN for a password change with an API token, CONFLICT for one of an account that has no password,
 * PRECONDITION_FAILED at another version than expected
 */
export async function updateMe(
  given: UpdateMeDeps & RecordDeps,
  { principal, caller }: Me,
  usersTable: string,
  body: Json,
  client: ClientFacts,
  expected: Expected,
): Promise<void> {
  const deps = actingFor(given, principal, caller);
  const { table, checked, freeOf } = await deps.catalogs.decide((catalog) => {
    const found = findTable(catalog, usersTable);
    return { table: found, checked: checkOwn(body, found, catalog), freeOf: heldBy(catalog, found) };
  });
  const own: OwnWrite = {
    table,
    id: parseId(table, principal.userId),
    plan: planColumns(checked.body),
    guard: { condition: atVersion(expected), freeOf },
    refusal: () => notAtVersion(table, expected),
  };
  if (checked.currentPassword === undefined) return changeOwn(deps, own);
  const { condition, fields } = await provePassword(deps, principal, table, checked.currentPassword, client);
  const guard = { ...own.guard, condition: allOf([condition, own.guard.condition]) };
  const refusal = expected === undefined ? passwordMoved : own.refusal;
  const { userId } = principal;
  const event: AuditEvent = { event: "password.changed", userId, details: { by: userId } };
  const write = () => changeOwn(deps, { ...own, guard, refusal, extra: fields });
  await tellingUncertain({ audit: deps.audit, client }, () => [event], write, saysUncertain);
  await deps.audit.record(event, client);
}

interface OwnWrite extends RecordChange {
  /** The refusal for when the condition does not hold. */
  readonly refusal: () => AppError;
}

/** Changes the record while it satisfies the condition; if a delete wants the record, waits for what becomes of that. */
async function changeOwn(deps: ActingDeps, { refusal, ...change }: OwnWrite) {
  const { table, id, guard } = change;
  await untilUncontended(deps, table, id, async () => {
    const done = await runUpdate(deps, change);
    const which = { $and: [{ _id: id }, guard.condition] };
    if (done === false && !(await deps.store.hasAny(table, which))) throw refusal();
    return done;
  });
}

function passwordMoved(): AppError {
  return new AppError(
    "CONFLICT",
    "The password was changed, or the account deactivated, by another request meanwhile.",
  );
}

/**
 * Not a guess, so it does not count as one. A session must not set a first password: a stolen one would become the owner.
 */
function nothingToProve(): AppError {
  return new AppError(
    "CONFLICT",
    "Your account has no password that could be changed here; a root admin can set one.",
  );
}

/** What a change of the password relies on. */
interface Proof {
  /** Part of the update's own filter: checked and written in one operation. */
  readonly condition: Document;
  /** Fields written with it. */
  readonly fields: Document;
}

interface OwnChange {
  readonly body: CheckedBody;
  /** Present exactly when the password is to change. */
  readonly currentPassword: string | undefined;
}

function checkOwn(body: Json, table: Table, catalog: Catalog): OwnChange {
  const given: JsonObject = isObject(body) ? body : {};
  const { currentPassword, ...members } = given;
  const refused = Object.keys(members).filter((name) => isForRoot(table, name));
  const violations = [
    ...refused.map((name) => `${name}: can't be changed here`),
    ...passwordViolations(members.password, currentPassword),
  ];
  const rest = Object.fromEntries(Object.entries(members).filter(([name]) => !refused.includes(name)));
  const checked = collecting(violations, () =>
    checkBody(isObject(body) ? rest : body, table, catalog, { mayWrite }, "update"),
  );
  if (checked === undefined) throw new AppError("VALIDATION_ERROR", { message: violations });
  return {
    body: checked,
    currentPassword: typeof currentPassword === "string" ? currentPassword : undefined,
  };
}

function isForRoot(table: Table, name: string): boolean {
  const column = table.columns.get(name);
  // Links that lie in other records may be unknown to the caller.
  const isOwnLink = table.relations.get(name)?.link.on === "self";
  return FOR_ROOT.includes(name) || column?.generated === true || isOwnLink;
}

function mayWrite(member: Column | Relation): boolean {
  return "generated" in member && !member.hidden && !FOR_ROOT.includes(member.name);
}

function passwordViolations(password: Json | undefined, current: Json | undefined): string[] {
  if (password === undefined) {
    return current === undefined ? [] : ["currentPassword: only goes with a new password"];
  }
  if (current === undefined) return ["currentPassword: is required to change the password"];
  const isText =
    typeof current === "string" && current.isWellFormed() && current.length <= 2 * PASSWORD_MAX_CHARACTERS;
  return [
    ...(password === null ? ["password: must not be null"] : []),
    ...(isText ? [] : ["currentPassword: must be the present password"]),
  ];
}

/** Adds what `check` refuses to the violations. @returns its result when it refuses nothing */
function collecting<Result>(violations: string[], check: () => Result): Result | undefined {
  try {
    const result = check();
    return violations.length === 0 ? result : undefined;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "VALIDATION_ERROR") throw error;
    for (const message of error.violations) violations.push(message);
    return undefined;
  }
}

/**
 * Checks the current password, if one is given, as a sign-in is checked, throttling included: a stolen session must not
 * become a place for guessing it.
 * @returns what the change relies on: that the stored hash is still the one that was checked, and that no sessions have
 * been ended since, this one among them
 */
export async function provePassword(
  deps: UpdateMeDeps,
  { userId, by }: SignedIn,
  table: Table,
  password: string,
  client: ClientFacts,
): Promise<Proof> {
  if (by.kind === "apiToken") {
    throw new AppError("FORBIDDEN", "An API token can't change the password; sign in instead.");
  }
  const user = await deps.users.findById(userId);
  if (!user?.isActive) throw endedMeanwhile();
  const hash = user.passwordHash;
  if (hash === null) throw nothingToProve();
  const attempt = await deps.throttle.admitSignIn(user.email, client.address);
  const isRight = await deps.hasher.verify(hash, password).catch(async (error: unknown) => {
    await attempt.withdraw();
    throw error;
  });
  if (!isRight) {
    const details = { attempted: "password change" };
    const told = deps.audit.record({ event: "sign-in.failed", userId, details }, client);
    await Promise.all([attempt.failed(), told]);
    throw new AppError("INVALID_CREDENTIALS", "currentPassword: is wrong.");
  }
  await attempt.succeeded();
  // One that has ended since the request began must not join the next epoch: that would bring it back.
  if ((await findAnew(deps.sessionCache, by.id, userId)) === undefined) throw endedMeanwhile();
  const epoch = newSessionEpoch();
  // Before the change, so that this session stays alive at every moment; by itself it changes nothing.
  await deps.sessions.addEpoch(by.id, epoch.sessionEpoch);
  return {
    condition: {
      [requireField(table, "password")]: { $eq: hash },
      sessionEpoch: { $eq: user.epoch === FIRST_EPOCH ? null : user.epoch },
    },
    fields: epoch,
  };
}
