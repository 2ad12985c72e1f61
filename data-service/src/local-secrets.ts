// The three secrets of this service: as given, or (outside production) made once and kept in DATA_DIR/secrets.
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { link, open, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "@portico/shared/env";
import { type Config, parseEncryptionKey, parsePrivateKey } from "./config.js";
import { makeFolder } from "./make-folder.js";

/** Everything this deployment must keep to itself. */
export interface Secrets {
  /** Ed25519: signs access tokens. */
  readonly signingKey: KeyObject;
  /** 32 bytes: the root of refresh-token MACs and encrypted columns. */
  readonly encryptionKey: Buffer;
  /** Proves the gateway on internal calls. */
  readonly serviceSecret: string;
}

/** What is read here; `readConfig` has refused missing ones in production. */
type Given = Pick<Config, "production" | "dataDir" | "authPrivateKey" | "encryptionKey" | "serviceSecret">;

/** One kept secret: its file, how a new one is written, and how the file is read back. */
interface Kept<Value> {
  file: string;
  make(): string;
  parse(text: string): Value | undefined;
}

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
const SERVICE_SECRET: Kept<string> = {
  file: "service-secret",
  make: () => randomBytes(32).toString("base64url"),
  parse: (text) => (text.length >= 32 ? text : undefined),
};

/**
 * Completes the given secrets with kept ones. Processes that start at once end up with the same.
 * @throws ConfigError when the folder can't be written or a file in it is damaged
 */
export async function loadSecrets(given: Given): Promise<Secrets> {
  const folder = join(given.dataDir, "secrets");
  return {
    signingKey: given.authPrivateKey ?? (await keep(folder, SIGNING_KEY, given.production)),
    encryptionKey: given.encryptionKey ?? (await keep(folder, ENCRYPTION_KEY, given.production)),
    serviceSecret: given.serviceSecret ?? (await keep(folder, SERVICE_SECRET, given.production)),
  };
}

async function keep<Value>(folder: string, secret: Kept<Value>, production: boolean): Promise<Value> {
  if (production) throw new ConfigError([`In production no secret is made; ${secret.file} was not given.`]);
  const path = join(folder, secret.file);
  const text = await readOrMake(folder, path, secret).catch((error: unknown) => {
    throw new ConfigError([
      `Can't keep secrets in ${folder} (${errorCode(error)}); make the folder writable or set DATA_DIR.`,
    ]);
  });
  const value = secret.parse(text.trim());
  if (value === undefined) {
    throw new ConfigError([`${path} is damaged; restore it from a backup.`]);
  }
  return value;
}

async function readOrMake(folder: string, path: string, secret: Kept<unknown>): Promise<string> {
  const kept = await readIfPresent(path);
  if (kept !== undefined) return kept;
  await makeFolder(folder, 0o700);
  await publish(path, secret.make());
  await syncFolder(folder);
  return readFile(path, "utf8");
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Links a complete file into place, so that nobody reads half of one and the first of several writers wins. */
async function publish(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(8).toString("hex")}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    await link(draft, path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    await file.close();
    await unlink(draft);
  }
}

/** The name must survive a power cut as well as the bytes: what the key encrypts does. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function errorCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}
