// The three secrets of this service: as given, or (outside production) made once and kept in DATA_DIR/secrets.
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { join } from "node:path";
import { ConfigError } from "@portico/shared/env";
import { findSecret, type Kept, keepSecret, SERVICE_SECRET } from "@portico/shared/kept-secret";
import { type Config, parseEncryptionKey, parsePrivateKey } from "./config.js";

/** Everything this deployment must keep to itself. */
export interface Secrets {
  /** Ed25519: signs access tokens. A command, which signs none, has no key. */
  readonly signingKey: KeyObject | undefined;
  /** 32 bytes: the root of refresh-token MACs and encrypted columns. */
  readonly encryptionKey: Buffer;
  /** Proves the gateway's identity on internal calls. */
  readonly serviceSecret: string;
}

/** The settings that are read here; in production `readConfig` has refused missing ones. */
type Given = Pick<Config, "production" | "dataDir" | "authPrivateKey" | "encryptionKey" | "serviceSecret">;

const SIGNING_KEY: Kept<KeyObject> = {
  file: "signing-key.json",
  make: () => JSON.stringify(generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" })),
  parse: parsePrivateKey,
};
const ENCRYPTION_KEY: Kept<Buffer> = {
  file: "encryption-key",
  make: () => randomBytes(32).toString("base64url"),
  parse: parseEncryptionKey,
};

/**
 * Fills in the secrets that are not given with kept ones. Processes that start at once end up with the same.
 * @param isSealed whether the database holds what an encryption key has sealed: no new one would open it
 * @throws ConfigError when the folder can't be written or a file in it is damaged, or that key is lost; then none is made
 */
export async function loadSecrets(
  given: Given,
  isSealed: () => Promise<boolean>,
): Promise<Secrets & { readonly signingKey: KeyObject }> {
  const folder = join(given.dataDir, "secrets");
  // Before the others are made, because it may be missed.
  const encryptionKey = given.encryptionKey ?? (await keepEncryptionKey(folder, given.production, isSealed));
  return {
    signingKey: given.authPrivateKey ?? (await keep(folder, SIGNING_KEY, given.production)),
    encryptionKey,
    serviceSecret: given.serviceSecret ?? (await keep(folder, SERVICE_SECRET, given.production)),
  };
}

/**
 * Those of a command, which makes none: what it has sealed, services must open.
 * @throws ConfigError when the encryption key is not there, or its file is damaged
 */
export async function findSecrets(given: Given): Promise<Secrets> {
  const encryptionKey = await findEncryptionKey(given);
  if (encryptionKey === undefined)
    throw new ConfigError([
      `${join(given.dataDir, "secrets", ENCRYPTION_KEY.file)} is missing, and no ENCRYPTION_KEY is set: give the one that ` +
        "the service has.",
    ]);
  // No gateway calls a command: nobody need know this one.
  const serviceSecret = randomBytes(32).toString("base64url");
  return { signingKey: undefined, encryptionKey, serviceSecret };
}

/** The one that a start would take; undefined where it would have to make one. @throws ConfigError as `loadSecrets` does */
export async function findEncryptionKey({ encryptionKey, dataDir }: Given): Promise<Buffer | undefined> {
  return encryptionKey ?? findSecret(join(dataDir, "secrets"), ENCRYPTION_KEY);
}

async function keepEncryptionKey(
  folder: string,
  production: boolean,
  isSealed: () => Promise<boolean>,
): Promise<Buffer> {
  // Asked before the file is looked for: a process that starts beside this one keeps its key before it seals with it.
  if (!(await isSealed())) return keep(folder, ENCRYPTION_KEY, production);
  const kept = await findSecret(folder, ENCRYPTION_KEY);
  if (kept !== undefined) return kept;
  throw new ConfigError([
    `The signing keys in the database can't be decrypted; ${join(folder, ENCRYPTION_KEY.file)} is missing, and no ` +
      "ENCRYPTION_KEY is set: put back the one that they were made with.",
  ]);
}

function keep<Value>(folder: string, secret: Kept<Value>, production: boolean): Promise<Value> {
  if (production) throw new ConfigError([`In production no secret is made; ${secret.file} was not given.`]);
  return keepSecret(folder, secret);
}
