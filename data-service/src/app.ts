// The route table of the data service, top to bottom: the life of a request.
import { errorHandler, notFound, requestContext } from "@portico/shared/http-context";
import express, { type Express, type RequestHandler } from "express";
import { authRoutes } from "./auth/routes.js";
import type { Deps } from "./deps.js";
import { meRoutes } from "./me/routes.js";
import { recordRoutes } from "./records/routes.js";
import { schemaHandlers } from "./schema/routes.js";

export function makeApp(deps: Deps, health: { stopping: boolean }): Express {
  const { config, logger, records, store } = deps;
  const prefix = config.systemTablePrefix;
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.set("query parser", false);
  app.set("trust proxy", config.trustProxy);

  app.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  app.get("/readyz", readiness(store, health));
  app.use(
    requestContext(logger, (path) => `/api${path}`),
    noStore,
  );
  app.use(authRoutes(deps.auth));
  app.use(deps.authenticate);
  app.use(meRoutes(records, { users: `${prefix}user`, roles: `${prefix}role` }));
  app.use(recordRoutes(records, config.bodyMaxBytes, schemaHandlers(records)));
  app.use(notFound);
  app.use(errorHandler(logger));
  return app;
}

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
