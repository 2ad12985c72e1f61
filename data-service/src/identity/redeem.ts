// Bridge code and flow cookie -> the user and the session, or the connected account. The code is used up by one write.
import type { LinkWish, Redeem, RedeemAnswer, RedeemRefusal } from "@portico/shared/internal-api";
import { networkOf } from "@portico/shared/network-of";
import type { Identity, OAuthError, Provider } from "@portico/shared/oauth";
import { secretHash } from "@portico/shared/secret-hash";
import type { AuditEvent, AuditLog } from "../auth/audit.js";
import type { RecordOnceAMinute } from "../auth/audit-once-a-minute.js";
import type { ClientFacts } from "../auth/client-facts.js";
import { type IssueSessionDeps, startSession } from "../auth/issue-session.js";
import { isForRoot, type Opened, seenOn } from "../auth/session.js";
import { tellingUncertain } from "../auth/telling-uncertain.js";
import { tokenPair } from "../auth/token-pair.js";
import { type WhileSignedInDeps, whileSignedIn } from "../auth/while-signed-in.js";
import { normalizeEmail } from "../catalog/email-address.js";
import { mayStillBeDone } from "../records/whole/uncertain.js";
import type { IdentityUser } from "./accounts.js";
import { type FindUserDeps, type FoundUser, findUser, type Newcomer, type OnTheWay } from "./find-user.js";
import type { BridgeCode } from "./sign-in.js";

export interface RedeemDeps extends IssueSessionDeps, WhileSignedInDeps, FindUserDeps {
  readonly sessions: IssueSessionDeps["sessions"] & { remove(sessionId: string): Promise<unknown> };
  readonly codes: {
    /** One write: undefined, with nothing used up, unless all of this matches. */
    take(wanted: CodeWish): Promise<BridgeCode | undefined>;
    /** Finds it without using it up. */
    find(codeHash: string, now: Date): Promise<BridgeCode | undefined>;
  };
  readonly audit: AuditLog;
  /** For refusals, which cost a client nothing: anybody can make up codes. */
  readonly auditOnceAMinute: RecordOnceAMinute;
}

export interface CodeWish {
  readonly codeHash: string;
  readonly flowCookieHashes: readonly string[];
  /** False lets a sign-in's code pass without its cookie if the flow returns to another origin. */
  readonly requireFlowCookie: boolean;
  /** The return address it must have; null when the request names none. */
  readonly redirect: string | null;
  readonly now: Date;
}

export async function redeem(deps: RedeemDeps, wish: Redeem, client: ClientFacts): Promise<RedeemAnswer> {
  const { requireFlowCookie, redirect } = wish;
  const codeHash = secretHash(wish.code);
  const flowCookieHashes = wish.flowCookies.map(secretHash);
  const now = deps.clock.now();
  const code = await deps.codes.take({ codeHash, flowCookieHashes, requireFlowCookie, redirect, now });
  if (code === undefined) {
    // Finds out why, without using anything up: the owner of the code can still come with the right cookie.
    const known = await deps.codes.find(codeHash, now);
    return refuse(deps, refusalReason(known, redirect), known, client);
  }
  const forOrigin = { ...client, origin: new URL(code.redirect).origin };
  const { linkSessionId: sessionId, userId } = code;
  return sessionId === null || userId === null
    ? openSession(deps, code, forOrigin)
    : connect(deps, code, { userId, sessionId }, forOrigin);
}

async function refuse(
  deps: RedeemDeps,
  reason: RedeemRefusal,
  code: BridgeCode | undefined,
  client: ClientFacts,
): Promise<RedeemAnswer> {
  const event = reason === "unknown" ? "bridge.replay" : "oauth.refused";
  await recordRefusal(deps, event, code?.userId ?? null, { reason }, client);
  return { kind: "refused", reason };
}

/** Once a minute for one network, reason and user: whoever has a link can follow it in a loop. */
async function recordRefusal(
  { auditOnceAMinute }: RedeemDeps,
  event: "bridge.replay" | "oauth.refused",
  userId: string | null,
  details: Readonly<Record<string, string>>,
  client: ClientFacts,
): Promise<void> {
  const same = [networkOf(client.address), ...Object.values(details), userId].join(" ");
  await auditOnceAMinute(same, { event, ...(userId !== null && { userId }), details }, client);
}

function refusalReason(code: BridgeCode | undefined, redirect: string | null): RedeemRefusal {
  if (code === undefined) return "unknown";
  return redirect !== null && redirect !== code.redirect ? "other_redirect" : "flow_cookie_missing";
}

async function openSession(
  deps: RedeemDeps,
  code: BridgeCode,
  client: ClientFacts & { readonly origin: string },
): Promise<RedeemAnswer> {
  const { redirect, identity } = code;
  const { provider } = identity;
  const { origin } = client;
  const calledOff = await refuseCalledOff(deps, code, client);
  if (calledOff !== undefined) return calledOff;
  const found = await findTelling(deps, { identity, origin }, client);
  if (found.kind === "refused")
    return failed(deps, { ...code, userId: found.userId ?? code.userId }, found.error, client);
  await recordFound(deps, found, provider, client);
  const { userId, connectedOn = [] } = found;
  const user = await deps.identityUsers.find(userId);
  if (!user?.isActive) return failed(deps, { ...code, userId }, "account_disabled", client);
  if (user.isRootAdmin && !isForRoot({ provider, origin, connectedOn }, deps.rootOrigin))
    return failed(deps, { ...code, userId }, "root_admin_elsewhere", client);
  const { epoch } = user;
  const session = await startSession(deps, { userId, remember: true, provider, connectedOn, epoch }, client);
  // When an account is taken over, it loses first its providers, then its sessions: a session that is made too late to be
  // ended finds its provider gone.
  if ((await deps.accounts.find(identity))?.userId !== userId) {
    await deps.sessions.remove(session.id);
    return refuse(deps, "unknown", { ...code, userId }, client);
  }
  await deps.audit.record({ event: "oauth.sign-in", userId, details: { provider } }, client);
  const tokens = await tokenPair(deps.tokens, session);
  return { kind: "session", redirect, flowCookieHash: code.flowCookieHash, tokens };
}

/** Finds the user, and tells the audit log what would not be known any more if the rest failed. */
async function findTelling(deps: RedeemDeps, newcomer: Newcomer, client: ClientFacts): Promise<FoundUser> {
  const { provider } = newcomer.identity;
  const eventOf = (userId: string, more = {}): AuditEvent => {
    return { event: "oauth.link", userId, details: { provider, ...more } };
  };
  let linkedTo: string | undefined;
  const onTheWay: OnTheWay = {
    tookOver: (userId) => deps.audit.record(eventOf(userId, { ended: EVERY_WAY_IN }), client),
    linking(userId) {
      linkedTo = userId;
    },
  };
  return tellingUncertain(
    { audit: deps.audit, client },
    () => (linkedTo === undefined ? [] : [eventOf(linkedTo)]),
    () => findUser(deps, newcomer, onTheWay),
    (error) => linkedTo !== undefined && mayStillBeDone(error),
  );
}

/** Whoever disconnects a provider, or deletes a user, calls off the sign-ins that are under way. */
async function refuseCalledOff(
  deps: RedeemDeps,
  code: BridgeCode,
  client: ClientFacts,
): Promise<RedeemAnswer | undefined> {
  const { userId, ownerId = userId, identity } = code;
  if (ownerId === null) return undefined;
  if ((await deps.identityUsers.find(ownerId)) === undefined)
    return failed(deps, { ...code, userId: ownerId }, "account_disabled", client);
  if (userId === null) return undefined;
  if ((await deps.accounts.find(identity))?.userId === userId) return undefined;
  return refuse(deps, "unknown", code, client);
}

/** What a user loses whose address somebody else has proved (see mongo/take-over). */
const EVERY_WAY_IN = "password, providers, sessions, API tokens";

/** Says in the audit what became of somebody who was not known by this provider before, unless that is told already. */
async function recordFound(
  { audit }: RedeemDeps,
  { userId, how, roleId }: Extract<FoundUser, { kind: "user" }>,
  provider: Provider,
  client: ClientFacts,
): Promise<void> {
  if (how === "use" || how === "take over") return;
  const event = how === "create" ? "user.created" : "oauth.link";
  const given = roleId === undefined ? {} : { role: roleId };
  await audit.record({ event, userId, details: { provider, ...given } }, client);
}

async function connect(
  deps: RedeemDeps,
  code: BridgeCode,
  { userId, sessionId }: LinkWish,
  client: ClientFacts,
): Promise<RedeemAnswer> {
  const { redirect, identity } = code;
  const user = await deps.identityUsers.find(userId);
  if (!user?.isActive) return failed(deps, code, "account_disabled", client);
  const event: AuditEvent = { event: "oauth.link", userId, details: { provider: identity.provider } };
  const outcome = await attachSignedIn(deps, identity, { userId, sessionId }, event, client);
  if (outcome === undefined) return failed(deps, code, "session_ended", client);
  if (outcome === "in use") return failed(deps, code, "account_in_use", client);
  // At once: whoever comes back after a failure finds it connected as before, and tells nothing.
  if (outcome === "connected") await deps.audit.record(event, client);
  await proveAddress(deps, user, identity);
  return { kind: "linked", redirect, flowCookieHash: code.flowCookieHash };
}

/** The session that connects it and the browser's cookie have shown that the provider's account is the user's own. */
async function proveAddress(
  { identityUsers }: RedeemDeps,
  { id, emailUnproven }: IdentityUser,
  { email, emailVerified }: Identity,
): Promise<void> {
  if (emailUnproven && emailVerified && email !== null)
    await identityUsers.proveAddress(id, normalizeEmail(email));
}

type Attached = "connected" | "as before" | "in use";

/** @param event told as uncertain where nobody knows whether it happened */
async function attachSignedIn(
  deps: RedeemDeps,
  identity: Identity,
  { userId, sessionId }: LinkWish,
  event: AuditEvent,
  client: ClientFacts,
): Promise<Attached | undefined> {
  let isSent = false;
  const sending = (): void => {
    isSent = true;
  };
  const make = (session: Opened) => attach(deps, identity, userId, session, sending);
  const takeBack = async (done: Attached): Promise<void> => {
    if (done === "connected") await deps.accounts.takeBack(identity, userId);
  };
  return tellingUncertain(
    { audit: deps.audit, client },
    () => [event],
    () => whileSignedIn(deps, { userId, sessionId }, make, takeBack),
    (error) => isSent && mayStillBeDone(error),
  );
}

/** What has been pending for longer was left by a process that died. */
const BEING_MADE_MS = 10_000;

/** @param sending called before it is connected */
async function attach(
  { accounts, identityUsers, clock }: RedeemDeps,
  identity: Identity,
  userId: string,
  session: Opened,
  sending: () => void,
): Promise<Attached> {
  const account = await accounts.find(identity);
  if (account?.userId === userId) return "as before";
  const now = clock.now();
  if (account?.isPending === true && now.getTime() - account.createdAt.getTime() < BEING_MADE_MS)
    return "in use";
  const other = account === undefined ? undefined : await identityUsers.find(account.userId);
  if (other !== undefined) return "in use";
  const by = { createdAt: now, origin: session.origin, connectedOn: seenOn(session) };
  sending();
  // A lost race means that somebody else has just taken it.
  const isFree = await accounts.link(identity, userId, account?.userId, by);
  return isFree ? "connected" : "in use";
}

async function failed(
  deps: RedeemDeps,
  { redirect, userId, identity }: BridgeCode,
  error: OAuthError,
  client: ClientFacts,
): Promise<RedeemAnswer> {
  await recordRefusal(deps, "oauth.refused", userId, { provider: identity.provider, error }, client);
  return { kind: "error", redirect, error };
}
