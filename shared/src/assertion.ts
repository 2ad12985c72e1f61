// How the gateway proves itself to the data service: a signed statement that is valid for one call and one minute.
//
// A JWT (RFC 7519) with HS256. Its key is derived from SERVICE_SECRET for this purpose alone, so no other kind of token can
// pass for an assertion, nor an assertion for another kind.
import { hkdfSync } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";

/** The one call an assertion is good for. */
export interface AssertedCall {
  readonly method: string;
  /** As the data service sees it, without query: `/internal/oauth/start`. */
  readonly path: string;
}

/** Signs and checks assertions. */
export interface Assertions {
  sign(call: AssertedCall, now: Date): Promise<string>;
  /** False for everything that was not signed for exactly this call within the last minute. */
  verify(assertion: string, call: AssertedCall, now: Date): Promise<boolean>;
}

const PURPOSE = "portico internal assertion 1";
const ALGORITHM = "HS256";
const TYPE = "portico-assertion+jwt";
const ISSUER = "portico-gateway";
const AUDIENCE = "portico-data-service";
const LIFETIME_SECONDS = 60;
/** Clocks of two machines differ a little. */
const SKEW_SECONDS = 30;
const MAX_CHARACTERS = 1024;

/** @param serviceSecret SERVICE_SECRET, which both services share */
export function makeAssertions(serviceSecret: string): Assertions {
  const key = new Uint8Array(hkdfSync("sha256", serviceSecret, "", PURPOSE, 32));
  return {
    sign({ method, path }, now) {
      const iat = Math.floor(now.getTime() / 1000);
      return new SignJWT({ method, path, iat, exp: iat + LIFETIME_SECONDS })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .sign(key);
    },
    async verify(assertion, call, now) {
      if (assertion.length > MAX_CHARACTERS) return false;
      const verified = await jwtVerify(assertion, key, {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ["iat", "exp"],
        maxTokenAge: LIFETIME_SECONDS,
        clockTolerance: SKEW_SECONDS,
        currentDate: now,
      }).catch(() => undefined);
      return verified?.payload.method === call.method && verified.payload.path === call.path;
    },
  };
}
