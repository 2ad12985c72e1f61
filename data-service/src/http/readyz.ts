// /readyz: whether this instance can serve, for whoever operates it.
import { unavailable } from "@portico/shared/app-error";
import type { RequestHandler } from "express";
import type { Store } from "../mongo/connect.js";

const RETRY_AFTER_SECONDS = 5;

/** Overload does not make an instance less ready, or all of them would leave at once. @param health looked at each time */
export function readyz(
  store: Pick<Store, "isReady">,
  health: { readonly stopping: boolean },
): RequestHandler {
  return async (_request, response) => {
    if (health.stopping) throw unavailable("The data service is stopping.", RETRY_AFTER_SECONDS);
    if (!(await store.isReady())) throw unavailable("The database does not answer.", RETRY_AFTER_SECONDS);
    response.json({ status: "ready" });
  };
}
