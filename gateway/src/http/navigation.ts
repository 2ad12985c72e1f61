// Only the navigation of a browser's page may continue a sign-in: no HEAD, no prefetch, no frame, no script.
import { AppError } from "@portico/shared/app-error";
import { methodNotAllowed } from "@portico/shared/only-methods";
import type { RequestHandler } from "express";
import { isSpeculative } from "./speculative.js";

/** @throws AppError METHOD_NOT_ALLOWED or BAD_REQUEST; nothing is spent by what is refused here (security row A6) */
export const requireNavigation: RequestHandler = (request, _response, next) => {
  if (request.method !== "GET") throw methodNotAllowed(request.method, ["GET"]);
  if (isSpeculative(request.headers)) {
    throw new AppError("BAD_REQUEST", "This address is not for prefetching.");
  }
  const { "sec-fetch-dest": dest = "document", "sec-fetch-mode": mode } = request.headers;
  // A page's service worker sends its navigations on as "empty", and its frames; no script can ask in that mode.
  if (dest !== "document" && !(dest === "empty" && mode === "navigate")) {
    throw new AppError(
      "BAD_REQUEST",
      `This address is for navigation, not for a request of type ${JSON.stringify(dest)}.`,
    );
  }
  next();
};
