// The route table: from top to bottom, the life of a request.
import { beside } from "@portico/shared/beside";
import { errorHandler, logRequests, notFound, requestContext } from "@portico/shared/http-context";
import { shedLoad } from "@portico/shared/load-shedding";
import type { Logger } from "@portico/shared/logger";
import { isQueryByPost } from "@portico/shared/method-override";
import { matchedRoute, metricsPage, type Registry } from "@portico/shared/metrics";
import { onlyMethods } from "@portico/shared/only-methods";
import { takesNoParameters } from "@portico/shared/takes-no-parameters";
import { trustProxies } from "@portico/shared/trust-proxy";
import { cutUnread } from "@portico/shared/unread-answers";
import { watchRequests } from "@portico/shared/watch-requests";
import express, { type Express, type Request, type RequestHandler, Router } from "express";
import { type Config, pageOriginsOf } from "./config.js";
import { findSessionCookies } from "./cookies/request-cookies.js";
import type { Deps } from "./deps.js";
import { checkRequestLine } from "./http/check-request-line.js";
import { cors } from "./http/cors.js";
import { healthz, readyz } from "./http/health.js";
import { securityHeaders } from "./http/security-headers.js";
import { isFromThisMachine } from "./http/this-machine.js";
import { loginRoute } from "./login/login-route.js";
import { logoutRoute } from "./login/logout-route.js";
import { developmentRoutes } from "./oauth/development/routes.js";
import { oauthRoutes } from "./oauth/routes.js";
import { docsPage } from "./pages/docs-page.js";
import { isNavigation, staticSite } from "./pages/static-site.js";
import { proxyRoute } from "./proxy/proxy-route.js";
import { routeOf } from "./proxy/route-pattern.js";
import { clientOf } from "./session/proved-tokens.js";

type AppDeps = Config & Deps & { readonly pageOrigins: readonly string[] };

/** @param isStopping whether the process is on its way out */
export function makeApp(config: Config, deps: Deps, isStopping: () => boolean): Express {
  const appDeps: AppDeps = { ...config, ...deps, pageOrigins: pageOriginsOf(config) };
  const watch = watchRequests(deps.metrics, config.otlpEndpoint !== undefined, routeOf);
  const app = express();
  app.set("case sensitive routing", true);
  app.set("query parser", false);
  // Answers of our own are never stored; pages and files carry tags of their own.
  app.set("etag", false);
  trustProxies(app, config.trustProxy);
  app.disable("x-powered-by");

  app.use(
    requestContext((path) => path),
    // Also what is refused right behind it; probes come every few seconds.
    logRequests(deps.logger, (request) => PROBES.has(matchedRoute(request) ?? "")),
  );
  app.use(securityHeaders(config.appUrl));
  const forPages = cors(config.allowedOrigins);
  app.use(checkRequestLine(forPages, config.staticDir === undefined ? () => false : isNavigation));

  app.route("/healthz").get(healthz).all(onlyMethods("GET", "HEAD"));
  app.route("/readyz").get(readyz(deps.authClient, isStopping)).all(onlyMethods("GET", "HEAD"));
  if (config.showsMetrics && deps.metrics !== undefined)
    app
      .route("/metrics")
      .all(onlyHere(config))
      .get(metricsPage(deps.metrics))
      .all(onlyMethods("GET", "HEAD"));
  // Behind the probes, which come every few seconds.
  for (const handler of watch.handlers) app.use(handler);

  app.use("/api", forPages, findSessionCookies());
  const whose = (request: Request): string => clientOf(deps.provedClients, request);
  app.use(shedLoad(config, { onShed: watch.onShed, queued: SIGN_INS, clientOf: whose }), cutUnread(config));
  app.use(asQuery, ownRoutes(appDeps), asSent);
  app.use(proxyRoute(appDeps));

  app.use(...staticSite(config.staticDir));
  app.use(notFound);
  app.use(errorHandler(deps.logger));
  return app;
}

/**
 * A developer on this machine needs no second port for them; for everybody else they do not exist. Nor do they for browsers
 * where an app is served, which may have a page of that name.
 */
function onlyHere({ staticDir }: Config): RequestHandler {
  return (request, _response, next) => {
    const isPage = staticDir !== undefined && request.headers.accept?.includes("text/html") === true;
    next(isFromThisMachine(request) && !isPage ? undefined : "route");
  };
}

/** What the port for metrics answers: them and nothing else. */
export function makeMetricsApp(registry: Registry, logger: Logger): Express {
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.use(requestContext((path) => path));
  app.route("/metrics").get(metricsPage(registry)).all(onlyMethods("GET", "HEAD"));
  app.use(notFound, errorHandler(logger));
  return app;
}

const PROBES = new Set(["/healthz", "/readyz"]);

/** These wait in the data service's queue for password hashing. */
const SIGN_INS = new Set(["/api/login", "/api/auth/login"]);

/** The first words of the paths that the gateway answers itself, below `/api`. */
const OWN = new Set(["login", "logout", "auth", "docs"]);

/** No call below these takes parameters in its address; the other OAuth routes have some of their own. */
const BARE = ["/api/login", "/api/logout", "/api/auth/providers", "/api/auth/:provider/link"];

/** Requests that were sent as POST and stand for a QUERY. */
const sentByPost = beside<Request, true>();

/** A POST that stands for a QUERY is one for the gateway's own routes, which have none, and refuse it as the data service's do. */
const asQuery: RequestHandler = (request, _response, next) => {
  if (isQueryByPost(request)) {
    sentByPost.set(request, true);
    request.method = "QUERY";
  }
  next();
};

/** What they leave is passed on as it came. */
const asSent: RequestHandler = (request, _response, next) => {
  if (sentByPost.get(request) === true) request.method = "POST";
  next();
};

/** The gateway's own routes; a call that is only passed on skips all of them at once. */
function ownRoutes(deps: AppDeps): Router {
  const router = Router({ caseSensitive: true });
  router.use((request, _response, next) => {
    const [, , first = ""] = request.path.split("/", 3);
    if (OWN.has(first)) next();
    else next("router");
  });
  router.use(BARE, takesNoParameters);
  router
    .route("/api/login")
    .post(...loginRoute(deps))
    .all(onlyMethods("POST"));
  router.route("/api/logout").post(logoutRoute(deps)).all(onlyMethods("POST"));
  const codes = deps.developmentCodes;
  if (codes !== undefined) router.use(developmentRoutes({ ...deps, codes }));
  return router.use(oauthRoutes(deps), docsPage());
}
