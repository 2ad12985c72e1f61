// Passwords -> argon2id PHC strings and back, a few at a time, in threads of their own.
import { parseOptions } from "@node-rs/argon2";
import { unavailable } from "@portico/shared/app-error";
import { Piscina } from "piscina";
import { makeTurns } from "../turns.js";
import type { HashTask } from "./hash-thread.js";

/** argon2id is the library's default algorithm. OWASP's first choice of parameters; 16-byte salt, 32-byte hash. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 };
const ARGON2ID = 2;

/** A password that nobody has: checking it costs as much as a real one, and nobody knows what it is the hash of. */
const NOBODYS = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$bm8gc2FsdCBuZWVkZWQu$XEE7zBFQCCmfCDPWUZDu1RQGOO+hvGYNfZzpKm1LXTo`;

/** Threads; they give way to everything else. */
const MAX_RUNNING = 3;
/**
 * With more than that, nobody would wait for the answer; where processors are busy with other things, fewer take as long.
 */
const MAX_WAITING = 128;
const MAX_WAIT_MS = 3_000;
/**
 * How many of these may be new passwords: whoever sets one counts as waiting (see shared/load-shedding), whoever signs in
 * does not.
 */
const MAX_HASHING = 50;
const RETRY_AFTER_SECONDS = 2;
/** An idle thread ends after this and frees its memory. */
const IDLE_MS = 30_000;

/** Hashes and checks passwords. Every call may be refused with SERVICE_UNAVAILABLE when too many are waiting. */
export interface PasswordHasher {
  hash(password: string): Promise<string>;
  verify(stored: string, password: string): Promise<boolean>;
  /** As slow as `verify`, always false: refusing an account that can't sign in must not be any quicker. */
  verifyNothing(password: string): Promise<false>;
  /** Whether the stored hash is weaker than what `hash` makes now. */
  needsRehash(stored: string): boolean;
}

export function makePasswordHasher(): PasswordHasher {
  const refusal = () => unavailable("Too many sign-ins at once; try again in a moment.", RETRY_AFTER_SECONDS);
  const limits = { atOnce: MAX_RUNNING, mostWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS };
  const inTurn = makeTurns({ ...limits, refusal });
  const amongHashing = makeTurns({ atOnce: MAX_HASHING, mostWaiting: 0, refusal });
  const threads = new Piscina<HashTask, string | boolean>({
    filename: new URL("./hash-thread.js", import.meta.url).href,
    minThreads: 0,
    maxThreads: MAX_RUNNING,
    idleTimeout: IDLE_MS,
  });
  const verify = async (stored: string, password: string): Promise<boolean> =>
    (await inTurn(() => threads.run({ kind: "verify", stored, password }))) === true;
  const verifyNothing = async (password: string): Promise<false> =>
    (await verify(NOBODYS, password)) && false;
  return {
    hash: async (password) => {
      const task: HashTask = { kind: "hash", password, cost: COST };
      return String(await amongHashing(() => inTurn(() => threads.run(task))));
    },
    verify: async (stored, password) => {
      if (!isArgon2(stored)) return verifyNothing(password);
      if (await verify(stored, password)) return true;
      // Else a quick refusal tells that there is an account, whose hash is old. It is wrong even if there is no turn for this.
      return needsRehash(stored) && verifyNothing(password).catch(() => false);
    },
    verifyNothing,
    needsRehash,
  };
}

function isArgon2(stored: string): boolean {
  try {
    parseOptions(stored);
    return true;
  } catch {
    return false;
  }
}

function needsRehash(stored: string): boolean {
  const { algorithm, memoryCost, timeCost, parallelism } = parseOptions(stored);
  const weaker = memoryCost < COST.memoryCost || timeCost < COST.timeCost || parallelism < COST.parallelism;
  return weaker || algorithm !== ARGON2ID;
}
