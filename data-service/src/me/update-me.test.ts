// What a change of one's own password says of an account that is deleted meanwhile. All else is in test/contract/auth/me.
import { describe, expect, it } from "@jest/globals";
import { ENDED_MEANWHILE } from "@portico/shared/bearer-token";
import { memoryAudit, openThrottle } from "../auth/auth-fixture.js";
import type { SignedIn } from "../principal.js";
import { table } from "../query/library-fixture.js";
import { provePassword } from "./update-me.js";

const ANN: SignedIn = {
  kind: "user",
  userId: "64b000000000000000000001",
  roleId: null,
  isRootAdmin: false,
  by: { kind: "session", id: "s1", origin: null },
};

describe("a change of the password", () => {
  it("by somebody who is deleted meanwhile is 401, but by no token that a gateway should renew", async () => {
    const deps = {
      users: { findById: async () => undefined },
      sessions: { addEpoch: async () => {} },
      sessionCache: { find: async () => undefined, forgetSession: () => {} },
      hasher: { verify: async () => true },
      throttle: openThrottle,
      audit: memoryAudit().audit,
    };
    const client = { origin: null, userAgent: null, address: null };
    const proof = provePassword(deps, ANN, table("authors"), "her password", client);
    await expect(proof).rejects.toMatchObject({ code: "INVALID_TOKEN", headers: ENDED_MEANWHILE });
  });
});
