// Tokens as the data service would make them; the gateway verifies no signature, and neither do these.
import { createHash } from "node:crypto";
import type { Behaviour } from "./upstream.js";
import { json } from "./upstream.js";

export interface TokenOptions {
  /** Seconds from now; negative for the past. */
  readonly expiresIn?: number;
  readonly lifetime?: number;
  readonly origin?: string;
  readonly name?: string;
}

/** An access token with these times and this origin. */
export function accessToken(options: TokenOptions = {}): string {
  const { expiresIn = 900, lifetime = 900, origin, name = "ann" } = options;
  const exp = Math.floor(Date.now() / 1000) + expiresIn;
  const claims = { sub: name, iat: exp - lifetime, exp, ...(origin === undefined ? {} : { origin }) };
  const signed = `${encode({ alg: "EdDSA", typ: "at+jwt", kid: "k" })}.${encode(claims)}`;
  // As long as a signature, and another for each token.
  return `${signed}.${createHash("sha512").update(signed).digest("base64url")}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** The body of a login or refresh answer. */
export function session(access: string, refreshToken: string): Record<string, unknown> {
  const now = Date.now();
  return {
    statusCode: 200,
    message: "Success",
    accessToken: access,
    refreshToken,
    expTime: now + 900_000,
    refreshExpTime: now + 86_400_000,
    loginProvider: null,
  };
}

/** Answers like a login or refresh that went well. */
export function grants(access: string, refreshToken: string): Behaviour {
  return (...call) => json(200, session(access, refreshToken))(...call);
}

/** The data service's error body. */
export function refusal(status: number, code: string, message: string | string[]): Behaviour {
  const text = [message].flat().join("; ");
  const error = {
    code,
    message: text,
    timestamp: "2026-01-01T00:00:00.000Z",
    path: "/inside",
    method: "POST",
  };
  return json(status, { success: false, statusCode: status, message, error });
}
