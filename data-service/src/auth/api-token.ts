// API tokens: what one is, and its text. The text is shown once; only its SHA-256 is kept.
import { hash, randomBytes } from "node:crypto";
import type { Opened } from "./session.js";

/**
 * A long-lived credential that a user made for a program. It bears how the session it was made in was opened:
 * whoever saw that session may know the token as well. `provider` and `origin` are null for tokens from before this was noted.
 */
export interface ApiToken extends Opened {
  /** 24-hex id. */
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** May only call methods that change nothing. */
  readonly readOnly: boolean;
  readonly createdAt: Date;
  /** Null = never. */
  readonly expiresAt: Date | null;
  /** Exact to a minute; null = not yet. */
  readonly lastUsedAt: Date | null;
}

/** A prefix by which people, and scanners for leaked secrets, recognise one. */
const PREFIX = "svc_pat_";
const BYTES = 32;
const FORM = /^svc_pat_[\w-]{43}$/;

export function makeApiTokenText(): string {
  return PREFIX + randomBytes(BYTES).toString("base64url");
}

/** Whether a Bearer credential looks like an API token; only the store knows whether it is one. */
export function looksLikeApiToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/**
 * The digest under which a token is stored and found; undefined for what can't be a token. 256 random bits need no slow
 * hash.
 */
export function hashOfApiToken(text: string): string | undefined {
  return FORM.test(text) ? hash("sha256", text, "hex") : undefined;
}
