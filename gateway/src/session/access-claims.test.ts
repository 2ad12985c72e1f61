// Claims of access tokens, which nobody has verified yet.
import { expect, it } from "@jest/globals";
import { UnsecuredJWT } from "jose";
import { readAccessClaims } from "./access-claims.js";

const tokenWith = (more: Record<string, string>): string =>
  new UnsecuredJWT({ iat: 1, exp: 2, origin: "https://app.example", ...more }).encode();
const CLAIMS = { issuedAtMs: 1_000, expiresAtMs: 2_000, origin: "https://app.example" };

it("are remembered with their token, which comes often", () => {
  const token = tokenWith({});
  expect(readAccessClaims(token)).toEqual(CLAIMS);
  expect(readAccessClaims(token)).toBe(readAccessClaims(token));
});

it("are read anew of a token that is longer than any of ours: thousands of these would take much memory", () => {
  const token = tokenWith({ more: "x".repeat(4_096) });
  expect(readAccessClaims(token)).toEqual(CLAIMS);
  expect(readAccessClaims(token)).not.toBe(readAccessClaims(token));
});
