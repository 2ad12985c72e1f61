// The OAuth routes of every configured provider, and the bridge. One that is not configured has no routes: 404.
import { success } from "@portico/shared/envelope";
import { noSuchProvider } from "@portico/shared/no-such-provider";
import { PROVIDERS } from "@portico/shared/oauth";
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { requireNavigation } from "../http/navigation.js";
import { type CallbackDeps, callbackRoute } from "./callback-route.js";
import { type LinkDeps, linkRoute } from "./link-route.js";
import { type SetCookiesDeps, setCookiesRoute } from "./set-cookies-route.js";
import { startRoute } from "./start-route.js";

export type OAuthRoutesDeps = LinkDeps & CallbackDeps & SetCookiesDeps;

/** Mount it before the proxy. Only `link` reads the Authorization header. */
export function oauthRoutes(deps: OAuthRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  const { providers } = deps.oauth;
  router
    .route("/api/auth/providers")
    .get((_request, response) => {
      response.json(
        success(
          200,
          providers.map((provider) => ({ provider })),
        ),
      );
    })
    .all(onlyMethods("GET", "HEAD"));
  for (const provider of providers) {
    router.route(`/api/auth/${provider}`).all(requireNavigation, startRoute(deps, provider));
    router.route(`/api/auth/${provider}/callback`).all(requireNavigation, callbackRoute(deps, provider));
    router
      .route(`/api/auth/${provider}/link`)
      .post(...linkRoute(deps, provider))
      .all(onlyMethods("POST"));
  }
  const absent = PROVIDERS.filter((provider) => !providers.includes(provider));
  router.all(
    absent.flatMap((each) => [`/api/auth/${each}`, `/api/auth/${each}/callback`, `/api/auth/${each}/link`]),
    noSuchProvider,
  );
  router.route("/api/auth/set-cookies").all(requireNavigation, setCookiesRoute(deps));
  return router;
}
