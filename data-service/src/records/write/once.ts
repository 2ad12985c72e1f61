// Idempotency-Key: a create that is sent again, because its answer was lost, does nothing the second time.
//
// The write that ends the key says that all records are there. Whoever sends the key again after a crash takes back what
// all requests before have left (see unfinished) and starts afresh: one in between may not have been able to.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Json } from "@portico/shared/json";
import { ObjectId } from "bson";
import type { Stored } from "../../catalog/stored.js";
import type { KeyedDigest } from "../../keyed-digest.js";
import type { OnceOwner } from "../../mongo/unfinished-store.js";
import type { Principal } from "../../principal.js";
import { until } from "../../until.js";

/** How long a key is kept: 24 hours (contract, section 5). */
const KEPT_MS = 24 * 60 * 60 * 1000;
/**
 * How long its entry stays. By it the notes that a dead process has left are judged, whether all records were made: so even
 * if no data service runs for days, the next one must find it. It need not stay for longer: the first look forgets the notes
 * of what is whole, also in tables that are deleted and may come back.
 */
const GOES_AFTER_MS = 7 * KEPT_MS;
/** If a request has not ended after this long, its process counts as dead. */
export const ONCE_LEASE_MS = 30_000;
/** How long a repeat waits for the first request to end. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;
const LOOK_AT_MOST_MS = 400;

/** What an Idempotency-Key says, and of which request. */
export interface OnceKey {
  /** Names the key of this caller; a digest. */
  readonly id: string;
  /** A digest of what is asked. */
  readonly asked: string;
}

/** With the id of the table that the request names, as another one may come to have the name. */
export interface TableOnceKey extends OnceKey {
  readonly table: string;
}

export interface OnceEntry extends OnceKey {
  /** Entries of former versions have none. */
  readonly table?: string;
  /** The request that works under the key. */
  readonly owner: string;
  readonly leaseUntil: Date;
  /** When the key is free again; entries of former versions have only `expiresAt`. */
  readonly until?: Date;
  /** When the entry is removed. */
  readonly expiresAt: Date;
  /** The ids of the records, when the request is done. */
  readonly ids?: readonly Stored[];
  readonly done?: boolean;
}

export interface OnceStore {
  /** False when the key is known. */
  insert(entry: OnceEntry): Promise<boolean>;
  find(id: string): Promise<OnceEntry | undefined>;
  /** Changes the entry as long as this owner has it; false when it has not. */
  change(
    id: string,
    owner: string,
    change: Partial<Omit<OnceEntry, "id" | "asked" | "table">>,
  ): Promise<boolean>;
  /** Makes another one the owner of an entry that is not done; false when it is, or has another owner. */
  takeOver(id: string, owner: string, next: Pick<OnceEntry, "owner" | "leaseUntil">): Promise<boolean>;
  /** Nobody works any more under a key that is not done. */
  lapse(): Promise<void>;
  remove(id: string, owner: string): Promise<void>;
}

export interface OnceDeps {
  readonly store: OnceStore;
  readonly clock: Clock;
  /** Keyed, because a body may hold a password or a value that is stored encrypted. */
  readonly digest: KeyedDigest;
}

/** A request that works under a key. */
export interface Turn<Result> {
  readonly once: OnceOwner;
  /** Closes the key with the result: on disk when this resolves. @returns false when somebody else works under it */
  finish(result: Result): Promise<boolean>;
}

/** What requests have left behind that died half-way (see unfinished). */
export interface LeftBehind {
  /** Takes it back, of all requests with this key. */
  takeBackOf(key: string): Promise<void>;
  /** Forgets what this one has left, if its entry says that it is whole. */
  forgetWhole(request: OnceOwner): Promise<void>;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Such requests can't be told apart by a digest of their body: a key would promise a protection that it does not give.
 * @throws AppError 400
 */
export function refuseOnceKey(header: string | readonly string[] | undefined): void {
  if (header !== undefined)
    throw new AppError("BAD_REQUEST", "Idempotency-Key: is for new records in JSON; leave it out here.");
}

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
  digest: KeyedDigest,
): OnceKey | undefined {
  if (header === undefined) return undefined;
  if (!KEY.test(header))
    throw new AppError("BAD_REQUEST", "Idempotency-Key must be 1 to 255 visible characters, such as a UUID.");
  const askedFor = digest(JSON.stringify(asked));
  // Visitors can't be told apart: their key is only good for the same request, so that nobody is shown what somebody
  // else has made.
  const scope = principal.kind === "user" ? principal.userId : `anonymous ${askedFor}`;
  return { id: digest(JSON.stringify([scope, header])), asked: askedFor };
}

/**
 * Runs a create once for all requests with the key.
 * @param run writes the records and closes the key; if it refuses, the key is free again
 * @returns the ids of the records that the first of the requests has made, and whether another one was the first
 * @throws AppError 409 when the key stands for another request, or for one that takes its time
 */
export async function once(
  deps: OnceDeps,
  key: TableOnceKey,
  left: LeftBehind,
  run: (turn: Turn<readonly Stored[]>) => Promise<readonly Stored[]>,
): Promise<{ readonly result: readonly Stored[]; readonly isRepeat: boolean }> {
  const { store } = deps;
  const owner = new ObjectId().toHexString();
  const { entry, isTakenOver } = await begin(deps, key, owner, left);
  if (entry.done === true) return { result: entry.ids ?? [], isRepeat: true };
  try {
    if (isTakenOver) await left.takeBackOf(key.id);
    const result = await run({
      once: { key: key.id, owner },
      finish: (ids) => store.change(key.id, owner, { ids, done: true }),
    });
    return { result, isRepeat: false };
  } catch (error) {
    await letGo(store, key, owner, error);
    throw error;
  }
}

/** A refused request has changed nothing, and may be sent again; how far any other came is unknown. */
async function letGo(store: OnceStore, { id }: OnceKey, owner: string, error: unknown): Promise<void> {
  // If this fails as well, the lease ends by itself.
  const gone = isClientError(error)
    ? store.remove(id, owner)
    : store.change(id, owner, { leaseUntil: new Date(0) });
  await Promise.resolve(gone).catch(() => undefined);
}

interface Begun {
  /** The one that this request works under, or one that is done. */
  readonly entry: OnceEntry;
  /** Others worked under it before. */
  readonly isTakenOver: boolean;
}

async function begin(deps: OnceDeps, key: TableOnceKey, owner: string, left: LeftBehind): Promise<Begun> {
  const tooLate = () => {
    throw stillRunning();
  };
  const patience = { patienceMs: PATIENCE_MS, everyMs: LOOK_MS, atMostMs: LOOK_AT_MOST_MS, tooLate };
  return until(() => tryToBegin(deps, key, owner, left), patience);
}

/** @returns false while another request works under the key */
async function tryToBegin(
  deps: OnceDeps,
  key: TableOnceKey,
  owner: string,
  left: LeftBehind,
): Promise<Begun | false> {
  const { store, clock } = deps;
  const now = clock.now();
  const leaseUntil = new Date(now.getTime() + ONCE_LEASE_MS);
  // No lease ends this late, unless the clock was set back after it was given: see mongo/lock.
  const neverYet = new Date(now.getTime() + 2 * ONCE_LEASE_MS);
  const keptUntil = new Date(now.getTime() + KEPT_MS);
  const expiresAt = new Date(now.getTime() + GOES_AFTER_MS);
  const entry = { ...key, owner, leaseUntil, until: keptUntil, expiresAt };
  if (await store.insert(entry)) return { entry, isTakenOver: false };
  const found = await store.find(key.id);
  if (found !== undefined && (found.until ?? found.expiresAt) > now) {
    if (found.asked !== key.asked || (found.table ?? key.table) !== key.table) throw otherRequest();
    if (found.done === true) return { entry: found, isTakenOver: false };
    if (found.leaseUntil > now && found.leaseUntil <= neverYet) return false;
    if (await store.takeOver(key.id, found.owner, { owner, leaseUntil }))
      return { entry: { ...found, owner }, isTakenOver: true };
  } else if (found !== undefined) {
    // Once the entry is gone, nothing tells of what its request has left whether it is whole. What is not is for the repair.
    await left.forgetWhole({ key: key.id, owner: found.owner });
    await store.remove(key.id, found.owner);
  }
  // The entry that was in the way is gone, or has another owner by now.
  return tryToBegin(deps, key, owner, left);
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
