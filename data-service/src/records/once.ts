// Idempotency-Key: a create that is sent again, because its answer was lost, does nothing twice.
//
// The ids of the new records are noted under the key before they are written. Whoever sends the key again after a crash
// writes under the same ids what is not there yet; nobody can tell whether the first answer was lost or never given.
import { createHash } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import { ObjectId } from "bson";
import type { Stored } from "../catalog/column-types.js";
import { type Json, nestsDeeperThan } from "../json.js";
import type { Principal } from "../principal.js";

/** How long a key is kept: 24 hours (contract, section 5). */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** A request that has not ended after this long is taken for one whose process is gone. */
const LEASE_MS = 30_000;
/** How long a repeat waits for the first request to end. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;

/** What a request says about being sent again. */
export interface OnceKey {
  /** Names the key of this caller; a digest. */
  readonly id: string;
  /** A digest of what is asked. */
  readonly asked: string;
}

export interface OnceEntry extends OnceKey {
  /** The request that works under the key. */
  readonly owner: string;
  readonly leaseUntil: Date;
  readonly expiresAt: Date;
  /** Ids of the records, once they are chosen. */
  readonly ids?: readonly Stored[];
  readonly done?: boolean;
}

export interface OnceStore {
  /** False when the key is known. */
  insert(entry: OnceEntry): Promise<boolean>;
  find(id: string): Promise<OnceEntry | undefined>;
  /** Changes the entry as long as this owner has it; false when it has not. */
  change(id: string, owner: string, change: Partial<Omit<OnceEntry, "id" | "asked">>): Promise<boolean>;
  remove(id: string, owner: string): Promise<void>;
}

export interface OnceDeps {
  readonly store: OnceStore;
  readonly clock: Clock;
}

/** How a create goes on. */
export interface Turn {
  /** Ids that were chosen by a request whose end nobody saw: some of the records may be there. */
  readonly ids: readonly Stored[] | undefined;
  /** Notes the ids before anything is written. */
  choose(ids: readonly Stored[]): Promise<void>;
}

/** What is nested deeper can't be written as text without end of the stack. */
const MOST_LEVELS = 200;
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Reads the header.
 * @param asked all that makes the request what it is
 * @returns undefined without the header
 * @throws AppError 400
 */
export function onceKey(
  header: string | undefined,
  principal: Principal,
  asked: readonly Json[],
): OnceKey | undefined {
  if (header === undefined) return undefined;
  if (!KEY.test(header))
    throw new AppError("BAD_REQUEST", "Idempotency-Key must be 1 to 255 visible characters, such as a UUID.");
  if (nestsDeeperThan(asked, MOST_LEVELS))
    throw new AppError("VALIDATION_ERROR", {
      message: [`body: must not have more than ${MOST_LEVELS} levels`],
    });
  const digest = digestOf(asked);
  // Visitors can't be told apart: another request is another key, and nobody is shown what somebody else has made.
  const scope = principal.kind === "user" ? principal.userId : `anonymous ${digest}`;
  return { id: digestOf([scope, header]), asked: digest };
}

function digestOf(parts: readonly Json[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/**
 * Runs a create once for all requests with the key.
 * @param run writes the records; a refusal of it gives the key back
 * @returns the ids of the records that the first of the requests has made
 * @throws AppError 409 when the key stands for another request, or for one that takes its time
 */
export async function once(
  { store, clock }: OnceDeps,
  key: OnceKey,
  run: (turn: Turn) => Promise<readonly Stored[]>,
): Promise<readonly Stored[]> {
  const owner = new ObjectId().toHexString();
  const begun = await begin({ store, clock }, key, owner);
  if (begun.done === true) return begun.ids ?? [];
  const choose = async (ids: readonly Stored[]): Promise<void> => {
    if (!(await store.change(key.id, owner, { ids }))) throw stillRunning();
  };
  try {
    const ids = await run({ ids: begun.ids, choose });
    await store.change(key.id, owner, { ids, done: true });
    return ids;
  } catch (error) {
    await letGo(store, key, owner, error);
    throw error;
  }
}

/** What was refused has changed nothing, and may be sent again; of anything else nobody knows how far it came. */
async function letGo(store: OnceStore, { id }: OnceKey, owner: string, error: unknown): Promise<void> {
  const isRefused = error instanceof AppError && error.status < 500;
  // If this fails as well, the lease ends by itself.
  const gone = isRefused ? store.remove(id, owner) : store.change(id, owner, { leaseUntil: new Date(0) });
  await Promise.resolve(gone).catch(() => undefined);
}

/** The entry that this request works under, or one that is done. */
async function begin({ store, clock }: OnceDeps, key: OnceKey, owner: string): Promise<OnceEntry> {
  const began = performance.now();
  for (;;) {
    const now = clock.now();
    const leaseUntil = new Date(now.getTime() + LEASE_MS);
    const entry = { ...key, owner, leaseUntil, expiresAt: new Date(now.getTime() + KEPT_MS) };
    if (await store.insert(entry)) return entry;
    const found = await store.find(key.id);
    if (found === undefined) continue;
    if (found.expiresAt <= now) await store.remove(key.id, found.owner);
    else if (found.asked !== key.asked) throw otherRequest();
    else if (found.done === true) return found;
    else if (found.leaseUntil <= now) {
      if (await store.change(key.id, found.owner, { owner, leaseUntil })) return { ...found, owner };
    } else if (performance.now() - began > PATIENCE_MS) throw stillRunning();
    else await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function otherRequest(): AppError {
  return new AppError("CONFLICT", "This Idempotency-Key came with another request before; use a new one.");
}

function stillRunning(): AppError {
  return new AppError("CONFLICT", {
    message: "A request with this Idempotency-Key is still being worked on; try again shortly.",
    headers: { "Retry-After": "2" },
  });
}
