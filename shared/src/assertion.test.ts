// Assertions: good for one call, for a minute, by whoever has the secret.
import { describe, expect, it } from "@jest/globals";
import { SignJWT } from "jose";
import { makeAssertions } from "./assertion.js";

const SECRET = "a secret of thirty-two characters";
const CALL = { method: "POST", path: "/internal/oauth/start" };
const NOW = new Date("2026-11-21T12:00:00.000Z");
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

describe("an assertion", () => {
  it("is good for its call", async () => {
    const assertions = makeAssertions(SECRET);
    expect(await assertions.verify(await assertions.sign(CALL, NOW), CALL, NOW)).toBe(true);
  });

  it.each([
    ["another path", { ...CALL, path: "/internal/oauth/redeem" }],
    ["the path with a query", { ...CALL, path: `${CALL.path}?x=1` }],
    ["another method", { ...CALL, method: "GET" }],
  ])("is refused for %s", async (_name, call) => {
    const assertions = makeAssertions(SECRET);
    expect(await assertions.verify(await assertions.sign(CALL, NOW), call, NOW)).toBe(false);
  });

  it.each([
    ["within its minute", 59, true],
    ["two minutes later", 120, false],
    ["two minutes before it was made", -120, false],
  ])("%s is believed: %s", async (_name, seconds, believed) => {
    const assertions = makeAssertions(SECRET);
    expect(await assertions.verify(await assertions.sign(CALL, NOW), CALL, later(seconds))).toBe(believed);
  });

  it("of another secret is refused, and so is the secret itself as a key", async () => {
    const mine = makeAssertions(SECRET);
    expect(await mine.verify(await makeAssertions(`${SECRET}!`).sign(CALL, NOW), CALL, NOW)).toBe(false);
    const direct = await new SignJWT({ ...CALL })
      .setProtectedHeader({ alg: "HS256", typ: "portico-assertion+jwt" })
      .setIssuer("portico-gateway")
      .setAudience("portico-data-service")
      .setIssuedAt(NOW)
      .setExpirationTime(later(60))
      .sign(Buffer.from(SECRET));
    expect(await mine.verify(direct, CALL, NOW)).toBe(false);
  });

  it.each(["", "x", "a.b.c", "x".repeat(5000)])("is not %j", async (text) => {
    expect(await makeAssertions(SECRET).verify(text, CALL, NOW)).toBe(false);
  });
});
