// The route of a request as metrics and traces name it: one of a few patterns, whatever the client wrote.
import { matchedRoute } from "@portico/shared/metrics";
import type { Request } from "express";

/** First words below `/api` that name no table. */
const NO_TABLES = ["auth", "me", "metadata", "assets", "internal", ".well-known"];

const BY_DEPTH = ["/api", "/api/{table}", "/api/{table}/{id}", "/api/{table}/{id}/{part}"];

/**
 * The data service's own metrics say what became of a call; here only the shape of its address counts.
 * @param path as the client wrote it, without its query
 */
export function routePattern(path: string): string {
  const [top = "", ...rest] = path.split("/").filter((segment) => segment !== "");
  if (top === "assets") return "/assets/…";
  if (top !== "api") return "pages";
  const first = NO_TABLES.find((word) => word === rest[0]);
  if (first !== undefined) return rest.length === 1 ? `/api/${first}` : `/api/${first}/…`;
  return BY_DEPTH[rest.length] ?? "/api/…";
}

/** The gateway's own route, or the shape of what is forwarded. */
export function routeOf(request: Request): string {
  const [path = ""] = request.originalUrl.split("?");
  return matchedRoute(request) ?? routePattern(path);
}
