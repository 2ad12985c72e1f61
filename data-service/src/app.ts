// The route table of the data service, top to bottom: the life of a request.
import { errorHandler, notFound, requestContext } from "@portico/shared/http-context";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { authRoutes } from "./auth/routes.js";
import type { Deps } from "./deps.js";
import { meRoutes } from "./me/routes.js";
import { asRefusal } from "./mongo/driver-errors.js";
import { recordRoutes } from "./records/routes.js";
import { schemaHandlers, schemaRoutes } from "./schema/routes.js";

export function makeApp(deps: Deps, health: { stopping: boolean }): Express {
  const { config, logger, records, store } = deps;
  const prefix = config.systemTablePrefix;
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.set("query parser", false);
  app.set("trust proxy", config.trustProxy);

  app.get("/healthz", noSniff, (_request, response) => void response.json({ status: "ok" }));
  app.get("/readyz", noSniff, readiness(store, health));
  app.use(
    requestContext(logger, (path) => `/api${path}`),
    noStore,
  );
  app.use(authRoutes(deps.auth));
  app.use(deps.authenticate);
  app.use(meRoutes(records, { users: `${prefix}user`, roles: `${prefix}role` }));
  app.use(schemaRoutes(records));
  app.use(recordRoutes(records, config.bodyMaxBytes, schemaHandlers(records)));
  app.use(notFound);
  app.use(databaseErrors);
  app.use(errorHandler(logger));
  return app;
}

/** Probes come often and are not logged, so they pass outside of requestContext. */
const noSniff: RequestHandler = (_request, response, next) => {
  response.set("X-Content-Type-Options", "nosniff");
  next();
};

/** Whichever store failed: a database that is away is a 503, a query that ran too long a 504. */
const databaseErrors: ErrorRequestHandler = (error, _request, _response, next) => next(asRefusal(error));

/** Answers are personal unless a route says otherwise. */
const noStore: RequestHandler = (_request, response, next) => {
  response.set("Cache-Control", "no-store");
  next();
};

function readiness(store: Deps["store"], health: { stopping: boolean }): RequestHandler {
  return async (_request, response) => {
    const ready =
      !health.stopping &&
      (await store.db.command({ ping: 1 }).then(
        () => true,
        () => false,
      ));
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready" });
  };
}
