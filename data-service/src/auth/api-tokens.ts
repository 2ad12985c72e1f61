// Making, listing and revoking one's own API tokens (contract, section 3.2).
import { AppError } from "@portico/shared/app-error";
import { endedMeanwhile } from "@portico/shared/bearer-token";
import type { Clock } from "@portico/shared/clock";
import type { JsonObject } from "@portico/shared/json";
import { hexId } from "../catalog/hex-id.js";
import { parseDay, parseInstant } from "../catalog/iso-date.js";
import { throwAway } from "../mongo/driver-errors.js";
import { mayStillBeDone } from "../records/whole/uncertain.js";
import { type ApiToken, hashOfApiToken, makeApiTokenText } from "./api-token.js";
import type { ApiTokenCache } from "./api-token-cache.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import { BodyReader } from "./body-reader.js";
import type { ClientFacts } from "./client-facts.js";
import { openedOf } from "./session.js";
import type { LiveSession } from "./session-cache.js";
import { tellingUncertain } from "./telling-uncertain.js";
import { type Maker, type WhileSignedInDeps, whileSignedIn } from "./while-signed-in.js";

export interface ApiTokensDeps extends WhileSignedInDeps {
  readonly apiTokens: {
    insert(token: Omit<ApiToken, "id">, hash: string): Promise<ApiToken>;
    listOf(userId: string): Promise<ApiToken[]>;
    countOf(userId: string): Promise<number>;
    findOf(userId: string, id: string): Promise<ApiToken | undefined>;
    /** @returns whether the user had such a token */
    removeOf(userId: string, id: string): Promise<boolean>;
  };
  readonly apiTokenCache: Pick<ApiTokenCache, "forgetAll">;
  readonly audit: AuditLog;
  readonly clock: Clock;
}

const NAME_MAX_CHARACTERS = 100;
/** Every token is listed and kept until it is revoked, and nobody has this many programs. */
const MOST_OF_ONE_USER = 100;
const NEVER = "never";

/**
 * The body may have arrived long after the session was checked, so it is checked again.
 * @returns the token as the API shows it, with its text: the only time anybody sees that
 * @throws AppError 401 when the session has ended meanwhile, 409 when the user has too many, 503 `uncertain`
 */
export async function makeApiToken(
  deps: ApiTokensDeps,
  maker: Maker,
  body: unknown,
  client: ClientFacts,
): Promise<JsonObject> {
  const { userId } = maker;
  const now = deps.clock.now();
  const wish = readBody(body, now);
  if ((await deps.apiTokens.countOf(userId)) >= MOST_OF_ONE_USER) throw tooMany();
  const text = makeApiTokenText();
  const hash = hashOfApiToken(text) ?? "";
  const facts = { name: wish.name, readOnly: String(wish.readOnly) };
  const event: AuditEvent = { event: "token.made", userId, details: facts };
  let isSent = false;
  const make = async (session: LiveSession): Promise<ApiToken> => {
    isSent = true;
    const made = { userId, ...wish, ...openedOf(session), createdAt: now, lastUsedAt: null };
    const stored = await deps.apiTokens.insert(made, hash);
    // Of those that are made at the same moment, the last one sees all that stay. The others may see it, and go as well.
    if ((await deps.apiTokens.countOf(userId).catch(throwAway)) <= MOST_OF_ONE_USER) return stored;
    await deps.apiTokens.removeOf(userId, stored.id).catch(throwAway);
    throw new AppError(
      "CONFLICT",
      `With the others of this moment it would be more than ${MOST_OF_ONE_USER} API tokens; ask again, one by one.`,
    );
  };
  const token = await tellingUncertain(
    { audit: deps.audit, client },
    () => [event],
    () => whileSignedIn(deps, maker, make, ({ id }) => deps.apiTokens.removeOf(userId, id)),
    (error) => isSent && mayStillBeDone(error),
  );
  if (token === undefined) throw endedMeanwhile();
  await deps.audit.record({ ...event, details: { tokenId: token.id, ...facts } }, client);
  return { ...shown(token), token: text };
}

export async function listApiTokens({ apiTokens }: ApiTokensDeps, userId: string): Promise<JsonObject[]> {
  return (await apiTokens.listOf(userId)).map(shown);
}

/** @throws AppError 404, also for other people's tokens */
export async function readApiToken(deps: ApiTokensDeps, userId: string, id: string): Promise<JsonObject> {
  const token = await deps.apiTokens.findOf(userId, requireTokenId(id));
  if (token === undefined) throw noSuchToken();
  return shown(token);
}

/** @throws AppError 404, also for other people's tokens */
export async function revokeApiToken(
  { apiTokens, apiTokenCache, audit }: ApiTokensDeps,
  userId: string,
  given: string,
  client: ClientFacts,
): Promise<void> {
  const id = requireTokenId(given);
  const event: AuditEvent = { event: "token.revoked", userId, details: { tokenId: id } };
  const remove = () => apiTokens.removeOf(userId, id).finally(() => apiTokenCache.forgetAll());
  const isRevoked = await tellingUncertain({ audit, client }, () => [event], remove);
  if (!isRevoked) throw noSuchToken();
  await audit.record(event, client);
}

function requireTokenId(given: string): string {
  const id = hexId(given);
  if (id === undefined) throw noSuchToken();
  return id;
}

function readBody(body: unknown, now: Date): Pick<ApiToken, "name" | "expiresAt" | "readOnly"> {
  const reader = new BodyReader(body, ["name", "expiresAt", "readOnly"]);
  const name = reader.text("name", NAME_MAX_CHARACTERS);
  const expiry = reader.text("expiresAt", NAME_MAX_CHARACTERS);
  const readOnly = reader.flag("readOnly");
  // A date alone would not say whether the token still works on that day.
  const expiresAt = parseDay(expiry) === undefined ? parseInstant(expiry) : undefined;
  if (expiry !== "" && expiry !== NEVER && !(expiresAt !== undefined && expiresAt > now)) {
    reader.wrong("expiresAt", `must be a future ISO 8601 time such as 2030-01-31T00:00:00Z, or "${NEVER}"`);
  }
  reader.done();
  return { name, expiresAt: expiresAt ?? null, readOnly };
}

function shown({ id, name, readOnly, origin, createdAt, expiresAt, lastUsedAt }: ApiToken): JsonObject {
  return {
    id,
    name,
    readOnly,
    origin,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? NEVER,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}

function tooMany(): AppError {
  return new AppError("CONFLICT", `You have ${MOST_OF_ONE_USER} API tokens; remove one of them first.`);
}

function noSuchToken(): AppError {
  return new AppError("NOT_FOUND", "You have no such API token.");
}
