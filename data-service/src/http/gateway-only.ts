// The paths below /api that the gateway answers by itself: whoever asks the data service for them is told where they are.
import { AppError } from "@portico/shared/app-error";
import { contextOf } from "@portico/shared/http-context";
import { Router } from "express";

const PATHS = ["/login", "/logout", "/docs", "/auth/providers"];

/** @param appUrl where the gateway is */
export function gatewayOnly(appUrl: string): Router {
  return Router({ caseSensitive: true }).all(PATHS, (request) => {
    const { publicPath } = contextOf(request);
    throw new AppError("NOT_FOUND", `${publicPath} is answered by the gateway: ask ${appUrl}${publicPath}.`);
  });
}
