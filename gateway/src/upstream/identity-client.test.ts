// Calls in the gateway's own name: whose fault a refusal is.
import { describe, expect, it } from "@jest/globals";
import { makeIdentityClient } from "./identity-client.js";

const CALLER = { correlationId: "c", address: undefined, userAgent: undefined };
const REDEEM = { code: "x", flowCookies: [], requireFlowCookie: true, redirect: null };

/** It puts its id of the request on every answer. */
const DATA_SERVICE = { "X-Correlation-ID": "c" };

function refusedWith(code: string, date = new Date(), by: Record<string, string> = DATA_SERVICE) {
  return makeIdentityClient({
    dataServiceUrl: "http://127.0.0.1:1",
    pageOrigins: [],
    timeoutMs: 1_000,
    assertions: { sign: async () => "a.b.c" },
    clock: { now: () => new Date() },
    fetch: async () =>
      Response.json(
        { message: "no", error: { code } },
        { status: 401, headers: { Date: date.toUTCString(), ...by } },
      ),
  });
}

describe("a refusal of the data service", () => {
  it("of the gateway itself is a fault of the deployment, and tells the log which", async () => {
    const client = refusedWith("UNAUTHORIZED");
    const calls = [() => client.borrowAccessToken("svc_rt_1", CALLER), () => client.redeem(REDEEM, CALLER)];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({
        code: "BAD_GATEWAY",
        cause: { message: expect.stringContaining("SERVICE_SECRET") },
      });
  });

  it("of what a clock that is far off has signed is a 401", async () => {
    const late = new Date(Date.now() - 5 * 60_000);
    await expect(refusedWith("UNAUTHORIZED", late).redeem(REDEEM, CALLER)).rejects.toMatchObject({
      code: "UNAUTHORIZED",
      message: expect.stringContaining("clocks"),
    });
  });

  it("of a client's token is passed on", async () => {
    await expect(refusedWith("INVALID_TOKEN").redeem(REDEEM, CALLER)).rejects.toMatchObject({
      code: "INVALID_TOKEN",
    });
  });

  it("is only what has its correlation id: something in between may use the same words", async () => {
    await expect(refusedWith("INVALID_TOKEN", new Date(), {}).redeem(REDEEM, CALLER)).rejects.toMatchObject({
      code: "BAD_GATEWAY",
    });
  });
});
