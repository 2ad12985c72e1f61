// Bridge code and flow cookie -> the session, or the connected account. The code is spent by one write.
import type { Redeem, RedeemAnswer, RedeemRefusal } from "@portico/shared/internal-api";
import type { OAuthError } from "@portico/shared/oauth";
import { secretHash } from "@portico/shared/secret-hash";
import type { Audit } from "../auth/audit.js";
import type { RecordOnceAMinute } from "../auth/audit-once-a-minute.js";
import { type ClientFacts, type IssueSessionDeps, issueSession } from "../auth/issue-session.js";
import { networkOf } from "../auth/network-of.js";
import { type WhileSignedInDeps, whileSignedIn } from "../auth/while-signed-in.js";
import type { IdentityUsers, LinkedAccounts } from "./accounts.js";
import type { BridgeCode } from "./sign-in.js";

export interface RedeemDeps extends IssueSessionDeps, WhileSignedInDeps {
  readonly codes: {
    /** One write: undefined, and nothing spent, unless all of it matches. */
    take(wanted: CodeWish): Promise<BridgeCode | undefined>;
    /** Without spending it. */
    find(codeHash: string, now: Date): Promise<BridgeCode | undefined>;
  };
  readonly accounts: Pick<LinkedAccounts, "find" | "link" | "takeBack">;
  readonly identityUsers: Pick<IdentityUsers, "find">;
  readonly audit: Audit;
  /** For refusals, which cost a client nothing: anybody can make up codes. */
  readonly auditOnceAMinute: RecordOnceAMinute;
}

export interface CodeWish {
  readonly codeHash: string;
  readonly flowCookieHashes: readonly string[];
  /** False lets a sign-in's code without its cookie pass where the flow returns to another origin. */
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
  if (code === undefined) return refuse(deps, codeHash, wish, client, now);
  const forOrigin = { ...client, origin: new URL(code.redirect).origin };
  const { linkSessionId: sessionId } = code;
  return sessionId === null
    ? openSession(deps, code, forOrigin)
    : connect(deps, code, sessionId, forOrigin);
}

/** Says why, which spends nothing: the owner of the code can still come with the right cookie. */
async function refuse(
  deps: RedeemDeps,
  codeHash: string,
  { redirect }: Redeem,
  client: ClientFacts,
  now: Date,
): Promise<RedeemAnswer> {
  const code = await deps.codes.find(codeHash, now);
  const reason = refusalReason(code, redirect);
  const event = reason === "unknown" ? "bridge.replay" : "oauth.refused";
  const userId = code === undefined ? {} : { userId: code.userId };
  const same = `${networkOf(client.address)} ${reason} ${code?.userId}`;
  await deps.auditOnceAMinute(same, { event, ...userId, details: { reason } }, client);
  return { kind: "refused", reason };
}

function refusalReason(code: BridgeCode | undefined, redirect: string | null): RedeemRefusal {
  if (code === undefined) return "unknown";
  return redirect !== null && redirect !== code.redirect ? "other_redirect" : "flow_cookie_missing";
}

async function openSession(deps: RedeemDeps, code: BridgeCode, client: ClientFacts): Promise<RedeemAnswer> {
  const { userId, redirect, identity } = code;
  const user = await deps.identityUsers.find(userId);
  if (!user?.isActive) return failed(deps, code, "account_disabled", client);
  const { provider } = identity;
  const tokens = await issueSession(deps, { userId, remember: true, provider }, client);
  await deps.audit.record({ event: "oauth.sign-in", userId, details: { provider } }, client);
  return { kind: "session", redirect, flowCookieHash: code.flowCookieHash, tokens };
}

async function connect(
  deps: RedeemDeps,
  code: BridgeCode,
  sessionId: string,
  client: ClientFacts,
): Promise<RedeemAnswer> {
  const { userId, redirect, identity } = code;
  if (!(await deps.identityUsers.find(userId))?.isActive) {
    return failed(deps, code, "account_disabled", client);
  }
  const outcome = await whileSignedIn(
    deps,
    { userId, sessionId },
    () => attach(deps, code),
    async (done) => {
      if (done === "connected") await deps.accounts.takeBack(identity, userId);
    },
  );
  if (outcome === undefined) return failed(deps, code, "session_ended", client);
  if (outcome === "in use") return failed(deps, code, "account_in_use", client);
  if (outcome === "connected") {
    const details = { provider: identity.provider };
    await deps.audit.record({ event: "oauth.link", userId, details }, client);
  }
  return { kind: "linked", redirect, flowCookieHash: code.flowCookieHash };
}

async function attach(
  { accounts, identityUsers, clock }: RedeemDeps,
  { identity, userId }: BridgeCode,
): Promise<"connected" | "as before" | "in use"> {
  const account = await accounts.find(identity);
  if (account?.userId === userId) return "as before";
  const other = account === undefined ? undefined : await identityUsers.find(account.userId);
  // A lost race means that somebody else has just taken it.
  const isFree =
    other === undefined && (await accounts.link(identity, userId, account?.userId, clock.now()));
  return isFree ? "connected" : "in use";
}

async function failed(
  { audit }: RedeemDeps,
  { redirect, userId, identity }: BridgeCode,
  error: OAuthError,
  client: ClientFacts,
): Promise<RedeemAnswer> {
  await audit.record(
    { event: "oauth.refused", userId, details: { provider: identity.provider, error } },
    client,
  );
  return { kind: "error", redirect, error };
}
