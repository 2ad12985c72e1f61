// Claims of access tokens, which nobody has verified yet.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
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

it("keep no header in memory that their token came in", () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const heldNow = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heldNow();
  for (let number = 0; number < 1_000; number += 1) {
    const header = Buffer.from(`${"x".repeat(30_000)} ${tokenWith({ number: String(number) })}`).toString();
    readAccessClaims(header.slice(30_001));
  }
  expect(heldNow() - before).toBeLessThan(10 * 1024 * 1024);
});
