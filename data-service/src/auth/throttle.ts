// How often one may try: sign-ins by account and address, refreshes by session, requests by address (contract, section 8).
//
// A try is counted before it is made, and uncounted if it turns out not to be a failure (it succeeded, or the service was
// too busy). So a hundred tries at the same time still get only five. Refused tries are not counted: nobody is locked out
// forever.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import { networkOf } from "@portico/shared/network-of";
import type { AccountDigest } from "./account-digest.js";
import type { Outcomes } from "./outcomes.js";

/** This many within a window that begins with the first. */
export interface Quota {
  readonly limit: number;
  readonly windowMs: number;
  /** A try is found to be a failure or not. While too many are still undecided, the next one need not wait for long. */
  readonly isJudged?: true;
}

/** From failure number `free` on, each failure doubles the wait before the next try. */
export interface GrowingDelay {
  readonly free: number;
  readonly firstMs: number;
  readonly longestMs: number;
  /** After this long without a failure, counting starts again. */
  readonly forgetMs: number;
}

const MINUTE_MS = 60_000;
const WINDOW_MS = 15 * MINUTE_MS;
const PER_ACCOUNT_AND_ADDRESS: Quota = { limit: 5, windowMs: WINDOW_MS, isJudged: true };
const PER_ADDRESS: Quota = { limit: 100, windowMs: WINDOW_MS, isJudged: true };
/**
 * Against guessing from many addresses. The guesser takes every moment that opens, so an owner who waits might wait forever:
 * networks from which the account has recently signed in are exempt (security row G3).
 */
const PER_ACCOUNT: GrowingDelay = {
  free: 10,
  firstMs: 1_000,
  longestMs: WINDOW_MS,
  forgetMs: 24 * 60 * MINUTE_MS,
};
/** How long an account's own network is remembered after a sign-in. */
const KNOWN_FOR_MS = 30 * 24 * 60 * MINUTE_MS;
const PER_SESSION: Quota = { limit: 30, windowMs: MINUTE_MS };

/** What bounds the tries of a key. */
export type Bound = Quota | GrowingDelay;

/** One try, to be counted for this key. */
export interface Try {
  readonly key: string;
  readonly bound: Bound;
}

/** The try at this position was not counted, nor any behind it. */
export interface Refused {
  readonly at: number;
  /** When the next may be made. */
  readonly retryAt: Date;
}

/** Each change of a key is one conditional write, so that the limit holds for all instances together. */
export interface ThrottleStore {
  /** Counts the tries one after the other, up to the first that is refused. Undefined: all were counted. */
  take(tries: readonly Try[], now: Date): Promise<Refused | undefined>;
  /** Several changes at once. */
  settle(outcome: Outcome): Promise<void>;
  /** Whether the key is remembered. */
  knows(key: string, now: Date): Promise<boolean>;
}

/** What is changed once a try has been decided, or has been called off. */
export interface Outcome {
  /** One of the same name changes nothing any more. */
  readonly name: string;
  /** One try less is counted for these. */
  readonly giveBack: readonly string[];
  /** One failure is counted for these. */
  readonly fail?: readonly string[];
  /** All tries are forgotten for these. */
  readonly clear?: readonly string[];
  /** A key to remember for a time. */
  readonly remember?: { readonly key: string; readonly until: Date };
}

/** A sign-in try that was admitted. If nothing more is said, it counts as one that is still undecided. */
export interface SignInTry {
  succeeded(): Promise<void>;
  failed(): Promise<void>;
  /** It was never decided. */
  withdraw(): Promise<void>;
}

export interface Throttle {
  /** @throws AppError TOO_MANY_REQUESTS, alike for accounts that exist and those that do not */
  admitSignIn(email: string, address: string | null): Promise<SignInTry>;
  /** @throws AppError TOO_MANY_REQUESTS */
  admitRefresh(sessionId: string): Promise<Pick<SignInTry, "withdraw">>;
  /** Each start stores a flow for ten minutes (security row A19). @throws AppError TOO_MANY_REQUESTS */
  admitOAuthStart(address: string | null, perMinute: number): Promise<void>;
  /** @throws AppError TOO_MANY_REQUESTS */
  admitRequest(address: string | null, perMinute: number): Promise<void>;
}

export interface ThrottleDeps {
  readonly store: Pick<ThrottleStore, "take" | "knows">;
  readonly outcomes: Pick<Outcomes, "settle">;
  readonly digest: AccountDigest;
  readonly clock: Clock;
}

export function makeThrottle({ store, outcomes, digest, clock }: ThrottleDeps): Throttle {
  const admit = async (key: string, bound: Quota, what: string): Promise<void> => {
    const now = clock.now();
    const refused = await store.take([{ key, bound }], now);
    if (refused !== undefined) throw tooMany(what, refused, now);
  };
  return {
    async admitSignIn(email, address) {
      const now = clock.now();
      const [account, network] = [digest(email), networkOf(address)];
      const ofBoth = `sign-in:${account}:${network}`;
      const ofAddress = `failures:${network}`;
      const ofAccount = `account:${account}`;
      const known = `known:${account}:${network}`;
      const tries: readonly Try[] = [
        // First, so that a network that is refused does not leave a counter for each account that it names.
        { key: ofAddress, bound: PER_ADDRESS },
        { key: ofBoth, bound: PER_ACCOUNT_AND_ADDRESS },
        // Last, so that an address that is refused does not make the owner wait, not even for a moment.
        { key: ofAccount, bound: PER_ACCOUNT },
      ];
      const refused = await store.take(tries, now);
      const taken = tries.slice(0, refused?.at).map(({ key }) => key);
      if (
        refused !== undefined &&
        !(tries[refused.at]?.key === ofAccount && (await store.knows(known, now)))
      ) {
        await outcomes.settle({ giveBack: taken });
        throw tooMany("failed sign-ins", refused, now);
      }
      return {
        async succeeded() {
          await outcomes.settle({
            clear: [ofBoth, ofAccount],
            // The address keeps its failures with other accounts.
            giveBack: [ofAddress],
            remember: { key: known, until: new Date(now.getTime() + KNOWN_FOR_MS) },
          });
        },
        async failed() {
          await outcomes.settle({ giveBack: [], fail: [ofAddress, ofBoth] });
        },
        async withdraw() {
          await outcomes.settle({ giveBack: taken });
        },
      };
    },
    async admitRefresh(sessionId) {
      const key = `refresh:${sessionId}`;
      await admit(key, PER_SESSION, "refreshes");
      return { withdraw: () => outcomes.settle({ giveBack: [key] }) };
    },
    admitOAuthStart: (address, perMinute) =>
      admit(
        `oauth-starts:${networkOf(address)}`,
        { limit: perMinute, windowMs: MINUTE_MS },
        "sign-ins begun",
      ),
    admitRequest: (address, perMinute) =>
      admit(`requests:${networkOf(address)}`, { limit: perMinute, windowMs: MINUTE_MS }, "requests"),
  };
}

function tooMany(what: string, { retryAt }: Refused, now: Date): AppError {
  const seconds = Math.max(1, Math.ceil((retryAt.getTime() - now.getTime()) / 1000));
  return new AppError("TOO_MANY_REQUESTS", {
    message: `Too many ${what}; try again in ${seconds} seconds.`,
    headers: { "Retry-After": String(seconds) },
  });
}
