// POST /auth/keys/rotate: a new signing key without a restart, for root admins.
import { success } from "@portico/shared/envelope";
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { requireRoot } from "../principal.js";
import { saysUncertain } from "../records/whole/uncertain.js";
import { refuseOnceKey } from "../records/write/once.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import { auditFacts } from "./client-facts.js";
import type { RotatingKeyRing } from "./stored-keys.js";
import { tellingUncertain } from "./telling-uncertain.js";

export interface KeyRoutesDeps {
  readonly keys: Pick<RotatingKeyRing, "rotate">;
  readonly audit: AuditLog;
}

/** Mount it behind `authenticate`. */
export function keyRoutes({ keys, audit }: KeyRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/auth/keys/rotate")
    .post(async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      const { userId } = requireRoot(principalOf(request), "Only root admins may rotate the signing key.");
      const client = auditFacts(request);
      const event: AuditEvent = { event: "keys.rotated", userId };
      const { kid, activeFrom } = await tellingUncertain(
        { audit, client },
        () => [event],
        keys.rotate,
        saysUncertain,
      );
      await audit.record({ ...event, details: { kid } }, client);
      response.json({ ...success(200), kid, activeFrom: activeFrom.toISOString() });
    })
    .all(onlyMethods("POST"));
  return router;
}
