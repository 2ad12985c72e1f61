// Parallel requests share one call.
import { describe, expect, it } from "@jest/globals";
import type { RefreshResult } from "../upstream/auth-client.js";
import { shareCalls } from "./share-calls.js";

const CALLER = { correlationId: "c", address: undefined, userAgent: undefined };

/** A refresh whose answers the test gives by hand. */
function manualRefresh() {
  const calls: { token: string; resolve: (result: RefreshResult) => void; reject: (error: Error) => void }[] =
    [];
  const refresh = (token: string): Promise<RefreshResult> =>
    new Promise((resolve, reject) => calls.push({ token, resolve, reject }));
  return { calls, refresh: shareCalls(refresh) };
}

describe("shareCalls", () => {
  it("asks once for callers who come together, and again for those who come later", async () => {
    const { calls, refresh } = manualRefresh();
    const together = Promise.all([refresh("a", CALLER), refresh("a", CALLER)]);
    expect(calls).toHaveLength(1);
    calls[0]?.resolve({ kind: "refused" });
    expect(await together).toEqual([{ kind: "refused" }, { kind: "refused" }]);
    void refresh("a", CALLER);
    expect(calls).toHaveLength(2);
  });

  it("keeps different tokens apart", () => {
    const { calls, refresh } = manualRefresh();
    void refresh("a", CALLER);
    void refresh("b", CALLER);
    expect(calls.map((call) => call.token)).toEqual(["a", "b"]);
  });

  it("gives a failure to everybody who waited, and forgets it", async () => {
    const { calls, refresh } = manualRefresh();
    const together = Promise.allSettled([refresh("a", CALLER), refresh("a", CALLER)]);
    calls[0]?.reject(new Error("down"));
    expect((await together).map((each) => each.status)).toEqual(["rejected", "rejected"]);
    void refresh("a", CALLER);
    expect(calls).toHaveLength(2);
  });
});
