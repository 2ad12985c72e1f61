// A deployment without an active root admin gets one at start: exactly one, however many instances start.
import { randomInt } from "node:crypto";
import type { Clock } from "@portico/shared/clock";
import { ConfigError } from "@portico/shared/env";
import type { Logger } from "@portico/shared/logger";
import type { PasswordHasher } from "./password-hasher.js";

export interface FirstAdmin {
  readonly id: string;
  readonly email: string;
  readonly passwordHash: string;
  readonly createdAt: Date;
}

export interface FirstAdminDeps {
  readonly users: {
    /** The best that is true of any of them. */
    rootAdmins(): Promise<"active" | "inactive" | "none">;
    /** The id that every starting instance is to use: the first one to ask decides it. */
    reserveFirstAdminId(): Promise<string>;
    /** False when the id or the e-mail address is taken. */
    insertRootAdmin(admin: FirstAdmin): Promise<boolean>;
  };
  readonly hasher: Pick<PasswordHasher, "hash">;
  readonly clock: Clock;
  /** For problems that stop nobody from starting. */
  readonly logger: Pick<Logger, "error" | "info">;
}

/** Without 0 O 1 l I i o: this password is read off a terminal and typed. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
/** 24 of 31 characters are 118 bits. */
const LENGTH = 24;

const NOT_USED =
  "ADMIN_PASSWORD is not used: it is for the first start, and a root admin is there; a new password: npm run admin";

/**
 * @param wanted ADMIN_EMAIL, normalised, and ADMIN_PASSWORD
 * @returns e-mail and password if the password was generated now, to be shown once; otherwise undefined
 * @throws ConfigError when there is no root admin and none can be made
 */
export async function ensureFirstAdmin(
  { users, hasher, clock, logger }: FirstAdminDeps,
  wanted: { readonly email: string; readonly password: string | undefined },
): Promise<{ email: string; password: string } | undefined> {
  if ((await users.rootAdmins()) === "active") {
    // No warning, and no comparison: whoever leaves it set does nothing wrong, and comparing takes a hash.
    if (wanted.password !== undefined) logger.info(NOT_USED);
    return undefined;
  }
  const { email } = wanted;
  const password = wanted.password ?? generatePassword();
  const made = await users.insertRootAdmin({
    id: await users.reserveFirstAdminId(),
    email,
    passwordHash: await hasher.hash(password),
    createdAt: clock.now(),
  });
  if (made) return wanted.password === undefined ? { email, password } : undefined;
  const there = await users.rootAdmins();
  if (there === "active") return undefined;
  if (there === "inactive") {
    // The service works without a root admin, and a start must not reactivate somebody who was deactivated.
    logger.error(
      `no root admin is active, and ${email} is taken; set isActive of a root admin in the database`,
    );
    return undefined;
  }
  // Promoting whoever owns the address would hand the system to a stranger who signed up with it.
  throw new ConfigError([
    `There is no root admin, and ${email} or the first admin's id belongs to an ordinary user; set isRootAdmin of a user in the database.`,
  ]);
}

/** A password that is shown once, to be typed. */
export function generatePassword(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join("");
}
