// The three secrets of this service: as given, or (outside production) made once and kept in DATA_DIR/secrets.
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { join } from "node:path";
import { ConfigError } from "@portico/shared/env";
import { type Kept, keepSecret, SERVICE_SECRET } from "@portico/shared/kept-secret";
import { type Config, parseEncryptionKey, parsePrivateKey } from "./config.js";

/** Everything this deployment must keep to itself. */
export interface Secrets {
  /** Ed25519: signs access tokens. */
  readonly signingKey: KeyObject;
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

function keep<Value>(folder: string, secret: Kept<Value>, production: boolean): Promise<Value> {
  if (production) throw new ConfigError([`In production no secret is made; ${secret.file} was not given.`]);
  return keepSecret(folder, secret);
}
