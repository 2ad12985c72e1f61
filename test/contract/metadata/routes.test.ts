// No route without its description, and no description without its route.
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { makeApp as makeDataApp } from "@portico/data-service/app";
import { readConfig as readDataConfig } from "@portico/data-service/config";
import { type Deps, makeDeps as makeDataDeps } from "@portico/data-service/deps";
import { makeApp as makeGatewayApp } from "@portico/gateway/app";
import { readConfig as readGatewayConfig } from "@portico/gateway/config";
import { makeDeps as makeGatewayDeps } from "@portico/gateway/deps";
import { type Api, asAdmin } from "../../support/api.js";
import { freshDatabase, type Stack, startStack } from "../../support/stack.js";
import type { Row } from "../records/make.js";

jest.setTimeout(120_000);

const SETTINGS = { APP_URL: "http://localhost:3000", LOG_LEVEL: "silent", OAUTH_DEV_PROVIDER: "on" };
/** Probes, the gateway's own calls, and the stand-in for providers' sites: no part of the API. */
const OTHERS = /^\/(?:healthz|readyz|metrics|internal\/.*|auth\/dev\/.*)$/;

let stack: Stack;
let admin: Api;
let document: Row;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  document = (await admin.get("/openapi.json")).body;
});
afterAll(() => stack?.stop());

/** What Express keeps of a route or a router. */
interface Layer {
  readonly handle?: (() => void) & { readonly stack?: readonly Layer[] };
  readonly route?: {
    readonly path: string | readonly string[];
    readonly methods: Readonly<Record<string, boolean>>;
  };
}

/** The layers of an app. Its types leave out what its router's layers hold. */
function layersOf(app: object): readonly Layer[] {
  const { router } = app as { readonly router: { readonly stack: readonly Layer[] } };
  return router.stack;
}

/** `get /me` of every route of an app, nested routers included; `all` where a route takes its methods apart itself. */
function routesIn(layers: readonly Layer[]): string[] {
  return layers.flatMap(({ route, handle }) => {
    if (route === undefined) return routesIn(handle?.stack ?? []);
    const methods = Object.keys(route.methods).filter((method) => method !== "_all");
    const named = methods.length === 0 ? ["all"] : methods;
    return [route.path].flat().flatMap((path) => named.map((method) => `${method} ${path}`));
  });
}

/** Routes that the document does not have; a provider of its name counts as any. */
function undescribed(routes: readonly string[]): string[] {
  const described = Object.entries<Row>(document.paths).flatMap(([path, item]) =>
    [...Object.keys(item), "all"].map((method) => `${method} ${path.replaceAll(/\{\w+\}/g, ":")}`),
  );
  // Every table is one route, and many paths of the document.
  const known = new Set([
    ...described,
    "all /:",
    "all /:/:",
    ...["post /:/import", "get /:/changes", "head /:/changes", "get /:/:/history", "post /:/:/restore"],
  ]);
  const missing = routes.filter((route) => {
    const [method = "", path = ""] = route.replace(" /api/", " /").split(" ");
    const template = path
      .replaceAll(/:\w+/g, ":")
      .replace(/^\/auth\/(?:google|facebook|github)(?=\/|$)/, "/auth/:");
    return !OTHERS.test(path) && !known.has(`${method} ${template}`);
  });
  return missing;
}

describe("the data service", () => {
  let deps: Deps;
  beforeAll(async () => {
    const url = freshDatabase();
    deps = await makeDataDeps(readDataConfig({ ...SETTINGS, DATA_DIR: stack.dataDir, MONGODB_URL: url }));
  });
  afterAll(() => deps?.store.close());

  it("has no route that the document does not describe", () => {
    const routes = routesIn(layersOf(makeDataApp(deps, { stopping: false })));
    expect(routes).toEqual(expect.arrayContaining(["get /me", "all /:table/:id", "post /auth/login"]));
    expect(undescribed(routes)).toEqual([]);
  });
});

describe("the gateway", () => {
  it("has no route that the document does not describe", async () => {
    const config = readGatewayConfig({ ...SETTINGS, DATA_DIR: stack.dataDir });
    const deps = await makeGatewayDeps(config);
    const routes = routesIn(layersOf(makeGatewayApp(config, deps, () => false)));
    deps.forward.close();
    expect(routes).toEqual(expect.arrayContaining(["post /api/login", "all /api/auth/google/callback"]));
    expect(undescribed(routes)).toEqual([]);
  });
});

it("every operation of the document is served at its address", async () => {
  const wanted = Object.entries<Row>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((key) => ({ path, method: key.replace("x-", "").toUpperCase() })),
  );
  const missing: string[] = [];
  for (const { path, method } of wanted) {
    const address = path
      .replace("{provider}", "google")
      .replace("{file}", "docs.js")
      .replaceAll(/\{\w+\}/g, "1");
    const { headers } = await admin.send("OPTIONS", address);
    if (!(headers.get("allow") ?? "").split(", ").includes(method)) missing.push(`${method} ${path}`);
  }
  expect(missing).toEqual([]);
});
