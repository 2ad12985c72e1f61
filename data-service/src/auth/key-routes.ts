// POST /auth/keys/rotate: a new signing key without a restart, for root admins.
import { success } from "@portico/shared/envelope";
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { requireRoot } from "../principal.js";
import { refuseOnceKey } from "../records/write/once.js";
import type { Audit } from "./audit.js";
import { auditFacts } from "./client-facts.js";
import type { RotatingKeyRing } from "./stored-keys.js";

export interface KeyRoutesDeps {
  readonly keys: Pick<RotatingKeyRing, "rotate">;
  readonly audit: Audit;
}

/** Mount it behind `authenticate`. */
export function keyRoutes({ keys, audit }: KeyRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/auth/keys/rotate")
    .post(async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      const { userId } = requireRoot(principalOf(request), "Only root admins may rotate the signing key.");
      const { kid, activeFrom } = await keys.rotate();
      await audit.record({ event: "keys.rotated", userId, details: { kid } }, auditFacts(request));
      response.json({ ...success(200), kid, activeFrom: activeFrom.toISOString() });
    })
    .all(onlyMethods("POST"));
  return router;
}
