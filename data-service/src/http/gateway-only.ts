// Paths that are not the data service's: those below /api that the gateway answers by itself, and all that begin with /api,
// which only the gateway's do. Whoever asks for them is told where to ask.
import { AppError } from "@portico/shared/app-error";
import { contextOf } from "@portico/shared/http-context";
import { Router } from "express";

const PATHS = ["/login", "/logout", "/docs", "/auth/providers"];

/** @param appUrl where the gateway is */
export function gatewayOnly(appUrl: string): Router {
  const router = Router({ caseSensitive: true });
  router.all(PATHS, (request) => {
    const { publicPath } = contextOf(request);
    throw new AppError("NOT_FOUND", `${publicPath} is answered by the gateway: ask ${appUrl}${publicPath}.`);
  });
  return router.use("/api", () => {
    throw new AppError("NOT_FOUND", 'There is one "/api" too many in this path; leave it out.');
  });
}
