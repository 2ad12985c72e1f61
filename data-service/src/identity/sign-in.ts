// Somebody is back from a provider -> a bridge code, or why there is none. Nothing else is written yet (see redeem).
import { randomBytes } from "node:crypto";
import type { Clock } from "@portico/shared/clock";
import type { SignIn, SignInAnswer } from "@portico/shared/internal-api";
import type { Identity } from "@portico/shared/oauth";
import { secretHash } from "@portico/shared/secret-hash";
import type { Audit } from "../auth/audit.js";
import type { ClientFacts } from "../auth/client-facts.js";
import type { AccountDecision } from "./decide-account.js";
import { type ForeseeDeps, foresee } from "./find-user.js";

/** Long enough for a redirect, too short for a leaked address (security row A4). */
const CODE_MS = 60_000;

/** What a bridge code stands for. */
export interface BridgeCode {
  readonly codeHash: string;
  readonly flowCookieHash: string;
  readonly redirect: string;
  readonly isOwnOrigin: boolean;
  /**
   * The user to whom the identity is to be connected; of a sign-in, the user whom it signed in when the code was made, and
   * null for somebody whom it is yet to be linked to, or who is yet to be made.
   */
  readonly userId: string | null;
  /** Whom a sign-in was to be linked to, as the owner of the address, when the code was made. */
  readonly ownerId?: string;
  readonly identity: Identity;
  /** The session that connects the identity; null for a sign-in. */
  readonly linkSessionId: string | null;
  readonly expiresAt: Date;
}

export interface SignInDeps extends ForeseeDeps {
  readonly codes: { insert(code: BridgeCode, now: Date): Promise<void> };
  readonly clock: Clock;
  readonly audit: Audit;
}

/**
 * Users are linked, taken over or made later, when the browser that began has proved itself by its cookie, and so are
 * providers connected. Otherwise an attacker could begin, let a victim finish at the provider, and then own a way into the
 * victim's next account; and a sign-in that is never finished could cost somebody a password.
 */
export async function signIn(
  deps: SignInDeps,
  { flow, identity }: SignIn,
  client: ClientFacts,
): Promise<SignInAnswer> {
  if (flow.link !== null) {
    const { userId, sessionId } = flow.link;
    return { code: await mint(deps, flow, identity, { userId, linkSessionId: sessionId }) };
  }
  const decision = await foresee(deps, { identity, origin: new URL(flow.redirect).origin });
  if (decision.kind === "refuse") {
    const { error, userId } = decision;
    const details = { provider: identity.provider, error };
    await deps.audit.record(
      { event: "oauth.refused", ...(userId !== undefined && { userId }), details },
      client,
    );
    return { error };
  }
  return { code: await mint(deps, flow, identity, { ...foreseenUser(decision), linkSessionId: null }) };
}

/** Whom the code would sign in if it were redeemed now, where that is somebody who is there already. */
function foreseenUser(decision: AccountDecision): Pick<BridgeCode, "userId" | "ownerId"> {
  if (decision.kind === "use") return { userId: decision.userId };
  return { userId: null, ...(decision.kind === "link" && { ownerId: decision.userId }) };
}

async function mint(
  { codes, clock }: SignInDeps,
  { redirect, flowCookieHash, isOwnOrigin }: SignIn["flow"],
  identity: Identity,
  whose: Pick<BridgeCode, "userId" | "ownerId" | "linkSessionId">,
): Promise<string> {
  const code = randomBytes(32).toString("base64url");
  const now = clock.now();
  const expiresAt = new Date(now.getTime() + CODE_MS);
  await codes.insert(
    {
      codeHash: secretHash(code),
      flowCookieHash,
      redirect,
      isOwnOrigin,
      identity,
      ...whose,
      expiresAt,
    },
    now,
  );
  return code;
}
