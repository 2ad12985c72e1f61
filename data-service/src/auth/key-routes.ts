// POST /auth/keys/rotate: a new signing key without a restart, for root admins.
import { AppError } from "@portico/shared/app-error";
import { success } from "@portico/shared/envelope";
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { signedInUserOf } from "../http/authenticate.js";
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
      const { userId, isRootAdmin } = signedInUserOf(request);
      if (!isRootAdmin) throw new AppError("FORBIDDEN", "Only root admins may rotate the signing key.");
      const { kid, activeFrom } = await keys.rotate();
      await audit.record({ event: "keys.rotated", userId, details: { kid } }, auditFacts(request));
      response.json({ ...success(200), kid, activeFrom: activeFrom.toISOString() });
    })
    .all(onlyMethods("POST"));
  return router;
}
