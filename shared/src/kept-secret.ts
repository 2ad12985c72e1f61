// A secret that no setting gives: made once and kept in a file that only this user can read; processes that start at once get
// the same one.
import { randomBytes } from "node:crypto";
import { link, open, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "./env.js";
import { makeFolder } from "./make-folder.js";
import { syncFolder } from "./sync-folder.js";

/** A kept secret: its file, how a new one is made, and how the file is read back. */
export interface Kept<Value> {
  readonly file: string;
  make(): string;
  /** Undefined when the text is damaged. */
  parse(text: string): Value | undefined;
}

/** Proves the gateway to the data service; both services may be the first to need it. */
export const SERVICE_SECRET: Kept<string> = {
  file: "service-secret",
  make: () => randomBytes(32).toString("base64url"),
  parse: (text) => (text.length >= SERVICE_SECRET_MIN ? text : undefined),
};

/** Characters a SERVICE_SECRET must have. */
export const SERVICE_SECRET_MIN = 32;

/**
 * Reads the secret from the folder, or makes it there.
 * @throws ConfigError when the folder can't be written or the file in it is damaged
 */
export async function keepSecret<Value>(folder: string, secret: Kept<Value>): Promise<Value> {
  const path = join(folder, secret.file);
  const text = await readOrMake(folder, path, secret).catch((error: unknown) => {
    throw notKept(folder, error);
  });
  return parsed(path, text, secret);
}

/**
 * Reads the secret from the folder.
 * @returns undefined when it is not there
 * @throws ConfigError when the file can't be read or is damaged
 */
export async function findSecret<Value>(folder: string, secret: Kept<Value>): Promise<Value | undefined> {
  const path = join(folder, secret.file);
  const text = await readIfPresent(path).catch((error: unknown) => {
    throw notKept(folder, error);
  });
  return text === undefined ? undefined : parsed(path, text, secret);
}

function notKept(folder: string, error: unknown): ConfigError {
  return new ConfigError([
    `Can't keep secrets in ${folder} (${errorCode(error)}); make the folder writable or set DATA_DIR.`,
  ]);
}

function parsed<Value>(path: string, text: string, secret: Kept<Value>): Value {
  const value = secret.parse(text.trim());
  if (value === undefined) throw new ConfigError([`${path} is damaged; restore it from a backup.`]);
  return value;
}

async function readOrMake(folder: string, path: string, secret: Kept<unknown>): Promise<string> {
  const kept = await readIfPresent(path);
  if (kept !== undefined) return kept;
  await makeFolder(folder, 0o700);
  await publish(path, secret.make());
  // The name must survive a power cut as well as the bytes: what the key encrypts does.
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

/** Links a complete file into place, so that nobody reads half a file and the first of several writers wins. */
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

function errorCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}
