// GET /api/auth/{provider}: sends the browser to the provider, once the address to return to is checked.
import type { Provider } from "@portico/shared/oauth";
import type { RequestHandler } from "express";
import { type BeginDeps, begin, requireReturnTarget } from "./begin.js";
import { readOAuthQuery } from "./query.js";

export function startRoute(deps: BeginDeps, provider: Provider): RequestHandler {
  return async (request, response) => {
    const query = readOAuthQuery(request.url, ["redirect", "cookieBridgePrefix"]);
    const given = { redirect: query.get("redirect"), cookieBridgePrefix: query.get("cookieBridgePrefix") };
    const target = requireReturnTarget(given, deps);
    const location = await begin(deps, provider, target, null, request, response);
    response.status(302).set("Location", location).end();
  };
}
