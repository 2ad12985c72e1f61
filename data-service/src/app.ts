// The route table of the data service, top to bottom: the life of a request.
import { bearerToken } from "@portico/shared/bearer-token";
import { errorHandler, logRequests, requestContext } from "@portico/shared/http-context";
import { shedLoad } from "@portico/shared/load-shedding";
import { matchedRoute, metricsPage } from "@portico/shared/metrics";
import { noSuchProvider } from "@portico/shared/no-such-provider";
import { onlyMethods } from "@portico/shared/only-methods";
import { takesNoParameters } from "@portico/shared/takes-no-parameters";
import { trustProxies } from "@portico/shared/trust-proxy";
import { cutUnread } from "@portico/shared/unread-answers";
import { watchRequests } from "@portico/shared/watch-requests";
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  Router,
} from "express";
import { apiTokenRoutes } from "./auth/api-token-routes.js";
import { keyRoutes } from "./auth/key-routes.js";
import { authRoutes } from "./auth/routes.js";
import { userHandlers } from "./auth/user-handlers.js";
import { tableNameProblem } from "./catalog/names.js";
import { systemTableNames } from "./catalog/system-tables.js";
import { changesRoutes } from "./changes/routes.js";
import type { Deps } from "./deps.js";
import { fileRoutes } from "./files/routes.js";
import { atOrigin } from "./http/at-origin.js";
import { auditRefusals } from "./http/audit-refusals.js";
import { currentPrincipal } from "./http/authenticate.js";
import { requireFreeSpace, requireSpaceToDelete } from "./http/free-space.js";
import { gatewayOnly } from "./http/gateway-only.js";
import { methodOverride } from "./http/method-override.js";
import { nothingThere } from "./http/nothing-there.js";
import { readyz } from "./http/readyz.js";
import { requestLimit } from "./http/request-limit.js";
import type { OwnHandlers } from "./http/table-handlers.js";
import { internalRoutes } from "./identity/internal-routes.js";
import { oauthAccountRoutes } from "./identity/routes.js";
import { meRoutes } from "./me/routes.js";
import { metadataRoutes } from "./metadata/routes.js";
import { asRefusal, isUnconfirmed } from "./mongo/driver-errors.js";
import { permissionRoutes } from "./records/permission-routes.js";
import { recordRoutes } from "./records/routes.js";
import { maybeWritten } from "./records/whole/uncertain.js";
import { refuseOnceKey } from "./records/write/once.js";
import { adviceRoute } from "./schema/advice-route.js";
import { schemaHandlers, schemaRoutes } from "./schema/routes.js";
import { importRoutes } from "./transfer/routes.js";

export function makeApp(deps: Deps, health: { stopping: boolean }): Express {
  const { auth, config, logger, metrics, records, store } = deps;
  const prefix = config.systemTablePrefix;
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.set("query parser", false);
  trustProxies(app, config.trustProxy);

  app.use(requestContext((path) => (OPERATORS.test(path) ? path : `/api${path}`)));
  // They come every few seconds, so they are neither measured nor logged.
  const alive: RequestHandler = (_request, response) => void response.json({ status: "ok" });
  app.route("/healthz").get(alive).all(onlyMethods("GET", "HEAD"));
  app.route("/readyz").get(readyz(store, health)).all(onlyMethods("GET", "HEAD"));
  app.route("/metrics").get(metricsPage(metrics.registry)).all(onlyMethods("GET", "HEAD"));
  const isTraced = config.otlpEndpoint !== undefined;
  const watch = watchRequests(metrics.registry, isTraced, (request) => matchedRoute(request) ?? "none");
  for (const handler of watch.handlers) app.use(handler);
  app.use(logRequests(logger));
  const clientOf = ({ headers: { authorization = "" }, ip }: Request): string =>
    auth.provedClients.clientOf(bearerToken(authorization), ip);
  app.use(shedLoad(config, { onShed: watch.onShed, queued: SIGN_INS, clientOf }), cutUnread(config));
  if (config.rateLimitPerMinute > 0) app.use(requestLimit(auth.throttle, config.rateLimitPerMinute));
  app.use(methodOverride, atOrigin);
  app.use(internalRoutes(deps.identity));
  app.use(gatewayOnly(config.appUrl));
  app.use(BARE, takesNoParameters);
  app.use(authRoutes(auth));
  app.use(deps.authenticate);
  app.use(refuseIdleKey);
  const names = systemTableNames(prefix);
  // Explaining writes nothing.
  const explaining = permissionRoutes(deps.permissions, config.bodyMaxBytes, names.permissions);
  app.use(unlessUsersTable(prefix, [explaining]));
  if (deps.freeSpace !== undefined) app.use(requireFreeSpace(deps.freeSpace));
  const present = (request: Request) => currentPrincipal(auth, request);
  const imports = importRoutes(records, config);
  app.use(
    unlessUsersTable(prefix, [
      ...[apiTokenRoutes(auth), keyRoutes(auth), Router(EXACT).use("/auth", noSuchProvider)],
      meRoutes({ ...records, ...auth }, names.users, config.bodyMaxBytes),
      metadataRoutes(records, config.appUrl),
      ...[schemaRoutes(records, config.bodyMaxBytes), adviceRoute(records, names.tables)],
      oauthAccountRoutes(deps.identity),
      ...[imports, fileRoutes(deps.files)],
    ]),
  );
  app.use(imports);
  app.use(changesRoutes({ ...records, present }));
  const ofUsers = userHandlers({ ...records, audit: auth.audit }, names.users, names.roles);
  const own = [schemaHandlers(records), ofUsers];
  if (records.requireSpace !== undefined) app.use(requireSpaceToDelete(records.requireSpace));
  app.use(recordRoutes(records, config.bodyMaxBytes, together(own)));
  app.use(nothingThere(prefix));
  app.use(auditRefusals({ ...records, audit: auth.audit }));
  app.use(databaseErrors);
  app.use(errorHandler(logger));
  return app;
}

/** Paths for operators, which no gateway shows. */
const OPERATORS = /^\/(?:healthz|readyz|metrics)\/?$/;

const EXACT = { caseSensitive: true };

/** Accepting the key would look like a promise that the change can safely be sent again. */
const refuseIdleKey: RequestHandler = ({ method, headers }, _response, next) => {
  if (method === "PATCH" || method === "DELETE") refuseOnceKey(headers["idempotency-key"]);
  next();
};

/** These wait for a password to be hashed, in a queue with limits of its own. */
const SIGN_INS = new Set(["/auth/login"]);

/** No call below these takes a parameter in its address. */
const BARE = ["/auth", "/.well-known", "/me/sessions", "/me/oauth-accounts"];

/** Routes whose paths no user's table can have: requests for records skip all of them at once. */
function unlessUsersTable(prefix: string, roads: readonly Router[]): Router {
  const router = Router(EXACT);
  router.use((request, _response, next) => {
    const [, first = ""] = request.path.split("/", 2);
    if (tableNameProblem(first, prefix) === undefined) next("router");
    else next();
  });
  return router.use(...roads);
}

/** Merges the handlers of several tables. */
function together(all: readonly OwnHandlers[]): OwnHandlers {
  return {
    collection: Object.assign({}, ...all.map(({ collection }) => collection)),
    member: Object.assign({}, ...all.map(({ member }) => member)),
    remove: Object.assign({}, ...all.map(({ remove }) => remove)),
  };
}

/**
 * For every store: a database that is away is a 503, a query that ran too long a 504. A write that is made and not confirmed,
 * and that nobody has taken back or looked after by now, may stay.
 */
const databaseErrors: ErrorRequestHandler = (error, _request, _response, next) =>
  next(isUnconfirmed(error) ? maybeWritten(error) : asRefusal(error));
