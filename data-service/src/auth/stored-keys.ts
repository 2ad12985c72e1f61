// The key ring that all instances share through the database, and its rotation without a restart.
//
// A new key is published at once and begins to sign ACTIVATION_MS later, when every instance knows it. A token's own time
// decides which key signs it, so instances agree without talking to each other.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type AppError, unavailable } from "@portico/shared/app-error";
import { type Clock, steadyTime } from "@portico/shared/clock";
import { ConfigError } from "@portico/shared/env";
import { throwUnanswered } from "../records/whole/uncertain.js";
import type { KeySealer } from "./key-sealer.js";
import { believedAt, inTurn, type KeyRing, keyAt, overlapMs, type RingKey, ringKey } from "./keys.js";

/** A key as it is stored. */
export interface StoredKey {
  readonly kid: string;
  readonly activeFrom: Date;
  /** Public JWK member `x`. */
  readonly x: string;
  /** The private key, encrypted; undefined when its turn is long over. */
  readonly sealed: string | undefined;
}

export interface StoredKeysDeps {
  readonly store: {
    all(): Promise<StoredKey[]>;
    /** Keeps a text for good, unless one is kept already. @returns the one that is kept */
    claim(sealed: string): Promise<string>;
    /** @returns the text that is kept, if there is one */
    claimed(): Promise<string | undefined>;
    /** Adds the key; one that already has this name stays as it is. @returns whether it was added */
    add(key: StoredKey): Promise<boolean>;
    /** Forgets the private halves of these keys but keeps their names: a key never gets a second turn. */
    forgetPrivate(kids: readonly string[]): Promise<void>;
  };
  readonly sealer: KeySealer;
  readonly clock: Clock;
  readonly ttlSeconds: number;
}

/** A ring that can change. */
export interface RotatingKeyRing extends KeyRing {
  /**
   * Adds a new key.
   * @returns its name and when it begins to sign
   * @throws AppError 503 `uncertain` where nobody knows whether it is there
   */
  rotate(): Promise<{ readonly kid: string; readonly activeFrom: Date }>;
}

/** How old an instance's knowledge of the keys may be. */
const MAX_AGE_MS = 5_000;
/** Longer than that, so that no instance meets a token whose key it could not know yet. */
const ACTIVATION_MS = 10_000;
/**
 * How long others may keep our public keys: whoever asks the last instance to learn of a new key asks again before that
 * key signs.
 */
export const JWKS_MAX_AGE_SECONDS = (ACTIVATION_MS - MAX_AGE_MS) / 1000;
/** A token with an unknown key makes us look again, but a flood of such tokens no more often than this. */
const LOOK_AGAIN_MS = 1_000;

/**
 * Opens the ring. The given key begins it; if the ring does not know the given key, that is a rotation.
 * @param given AUTH_PRIVATE_KEY, or the key kept in DATA_DIR
 * @param rotated told the name of the given key if it was a rotation
 * @throws ConfigError when a key in the database can't be decrypted; nothing is written then
 */
export async function openStoredKeys(
  deps: StoredKeysDeps,
  given: KeyObject,
  rotated: (kid: string) => Promise<void>,
): Promise<RotatingKeyRing> {
  await requireOpening(deps);
  await claim(deps);
  const kid = await addGiven(deps, given);
  if (kid !== undefined) await rotated(kid);
  const turns = await load(deps, given);
  // Keys that were exchanged by AUTH_PRIVATE_KEY are rotated by nobody.
  await forgetOver(deps, turns);
  requireSigner(keyAt(turns, deps.clock.now()));
  return ringOf(deps, given, turns);
}

/**
 * The ring as it is, for a command: it signs nothing, and no key of its own may come to sign for the services.
 * @throws ConfigError when a key in the database can't be decrypted
 */
export async function readStoredKeys(deps: StoredKeysDeps): Promise<RotatingKeyRing> {
  await requireOpening(deps);
  return ringOf(deps, undefined, await load(deps, undefined));
}

function ringOf(
  deps: StoredKeysDeps,
  given: KeyObject | undefined,
  found: readonly RingKey[],
): RotatingKeyRing {
  const { store, sealer, clock, ttlSeconds } = deps;
  const overlap = overlapMs(ttlSeconds);
  let turns = found;
  const time = steadyTime(clock);
  let lookedAt = time();
  /** Why the last look failed, if it did. */
  let failure: { readonly cause: unknown } | undefined;
  let looking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    try {
      turns = await load(deps, given);
      failure = undefined;
    } catch (cause) {
      failure = { cause };
      throw cause;
    } finally {
      // After a failure as well: while the database is away, not every request should wait for it.
      lookedAt = time();
      looking = undefined;
    }
  };
  const refresh = async (maxAgeMs: number): Promise<void> => {
    if (looking === undefined && time() - lookedAt < maxAgeMs) return;
    looking ??= look();
    await looking;
  };
  const believed = (kid: string, now: Date) => believedAt(turns, now, overlap).find((key) => key.kid === kid);

  return {
    async signingAt(issuedAtSeconds) {
      await refresh(MAX_AGE_MS);
      return requireSigner(keyAt(turns, new Date(issuedAtSeconds * 1000)));
    },
    async verifying(kid, now) {
      const isKnown = believed(kid, now) !== undefined;
      // Sometimes for a known key, too: it may have been replaced and its time run out.
      await refresh(isKnown ? MAX_AGE_MS : LOOK_AGAIN_MS).catch(() => undefined);
      const key = believed(kid, now)?.publicKey;
      if (key === undefined && failure !== undefined) throw unreadable(failure.cause);
      return key;
    },
    async jwks(now) {
      // Known keys are better than no answer.
      await refresh(LOOK_AGAIN_MS).catch(() => undefined);
      return { keys: believedAt(turns, now, overlap).map(({ jwk }) => jwk) };
    },
    async rotate() {
      await refresh(0);
      await forgetOver(deps, turns);
      const now = clock.now();
      const key = await ringKey(newPrivateKey(), atWholeSecond(now.getTime() + ACTIVATION_MS));
      await store.add(await sealed(sealer, key)).catch(throwUnanswered);
      // It is there, and whoever was refused now would make another: the next request looks again.
      await refresh(0).catch(() => undefined);
      return { kid: key.kid, activeFrom: key.activeFrom };
    },
  };
}

/**
 * This checks even keys that are given anyway: what this process encrypts must match what is there. A wrong secret opens
 * none of them. Earlier versions let the secret be replaced, so some keys may be sealed with a former one.
 */
async function requireOpening({ store, sealer }: StoredKeysDeps): Promise<void> {
  const texts = (await store.all()).flatMap(({ sealed: text }) => text ?? []);
  const opened = await Promise.all(texts.map((text) => sealer.open(text)));
  if (texts.length > 0 && opened.every((text) => text === undefined)) throw otherSecret();
}

/** Of two first starts with different secrets neither finds keys of the other: one has won. */
async function claim({ store, sealer }: StoredKeysDeps): Promise<void> {
  const kept = await store.claim(await sealer.seal("of the first start"));
  if ((await sealer.open(kept)) === undefined) throw otherSecret();
}

/** Does the database hold anything that an ENCRYPTION_KEY has sealed, as a start that was killed may have left it? */
export async function holdsSealedKeys(
  store: Pick<StoredKeysDeps["store"], "all" | "claimed">,
): Promise<boolean> {
  if ((await store.all()).some(({ sealed: text }) => text !== undefined)) return true;
  return (await store.claimed()) !== undefined;
}

/**
 * Was the database first started with another secret? So it may have been where no key is lost: by a start that was killed before
 * it had one, or where an earlier version has forgotten the keys.
 * @param sealer undefined where there is no secret at all
 */
export async function isClaimLost(
  store: Pick<StoredKeysDeps["store"], "claimed">,
  sealer: Pick<KeySealer, "open"> | undefined,
): Promise<boolean> {
  const kept = await store.claimed();
  return kept !== undefined && (await sealer?.open(kept)) === undefined;
}

/**
 * The names of keys that are sealed with another secret.
 * @param sealer undefined where there is no secret at all
 */
export async function lostKeys(
  store: Pick<StoredKeysDeps["store"], "all">,
  sealer: Pick<KeySealer, "open"> | undefined,
): Promise<string[]> {
  const keys = await store.all();
  const isLost = await Promise.all(
    keys.map(async ({ sealed: text }) => text !== undefined && (await sealer?.open(text)) === undefined),
  );
  return keys.flatMap(({ kid }, at) => (isLost[at] ? [kid] : []));
}

/** @returns the name of the given key if it was a rotation */
async function addGiven(
  { store, sealer, clock }: StoredKeysDeps,
  given: KeyObject,
): Promise<string | undefined> {
  const known = await store.all();
  const isFirst = known.length === 0;
  const activeFrom = isFirst ? new Date(0) : atWholeSecond(clock.now().getTime() + ACTIVATION_MS);
  const key = await ringKey(given, activeFrom);
  if (known.some(({ kid }) => kid === key.kid)) return undefined;
  const isAdded = await store.add(await sealed(sealer, key));
  return isAdded && !isFirst ? key.kid : undefined;
}

async function sealed(sealer: KeySealer, key: RingKey): Promise<StoredKey> {
  const { kid, activeFrom, jwk, privateKey } = key;
  const text = JSON.stringify(privateKey?.export({ format: "jwk" }));
  return { kid, activeFrom, x: jwk.x ?? "", sealed: await sealer.seal(text) };
}

async function load(
  { store, sealer }: StoredKeysDeps,
  given: KeyObject | undefined,
): Promise<readonly RingKey[]> {
  const own = given && (await ringKey(given, new Date(0)));
  const keys = (await store.all()).map(async ({ kid, activeFrom, x, sealed: text }): Promise<RingKey> => {
    if (kid === own?.kid) return { ...own, activeFrom };
    const opened = text === undefined ? undefined : await sealer.open(text);
    const half =
      opened === undefined
        ? createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
        : createPrivateKey({ key: JSON.parse(opened), format: "jwk" });
    return ringKey(half, activeFrom);
  });
  return inTurn(await Promise.all(keys));
}

/** Forgets the private halves of keys whose time is over. */
async function forgetOver({ store, clock, ttlSeconds }: StoredKeysDeps, turns: readonly RingKey[]) {
  const alive = new Set(believedAt(turns, clock.now(), overlapMs(ttlSeconds)));
  const over = turns.filter((key) => !alive.has(key)).map(({ kid }) => kid);
  if (over.length > 0) await store.forgetPrivate(over);
}

function requireSigner(key: RingKey | undefined): { kid: string; key: KeyObject } {
  if (key?.privateKey !== undefined) return { kid: key.kid, key: key.privateKey };
  throw otherSecret();
}

function otherSecret(): ConfigError {
  return new ConfigError([
    "The signing keys in the database can't be decrypted; start with the ENCRYPTION_KEY they were made with " +
      "(where none is set it lies in DATA_DIR, as secrets/encryption-key).",
  ]);
}

/** A token must not be called invalid because nobody could look. */
function unreadable(cause: unknown): AppError {
  return unavailable("The signing keys can not be read right now; try again shortly.", 2, cause);
}

function newPrivateKey(): KeyObject {
  return generateKeyPairSync("ed25519").privateKey;
}

/** Tokens count in whole seconds. */
function atWholeSecond(milliseconds: number): Date {
  return new Date(Math.ceil(milliseconds / 1000) * 1000);
}
