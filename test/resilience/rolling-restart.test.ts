// R23, R29: every process is replaced, one after another, under load; sessions go on. And processes start in any order.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { Browser } from "../contract/auth/jar.js";
import { apiOf } from "../support/api.js";
import { freePort } from "../support/free-port.js";
import {
  beginService,
  type RunningService,
  type Stack,
  type StartingService,
  startService,
  startStack,
} from "../support/stack.js";
import { until } from "../support/wait.js";
import { Client, type Outcome } from "./support/client.js";
import { startLoad, tally } from "./support/load.js";
import { isLong, size } from "./support/notes-system.js";
import { startOwnEngine } from "./support/own-engine.js";

const RATE = size(20, 200);
const ROUNDS = size(1, 10);
const MINUTES = 60_000;
/** The bar is five seconds for a machine with nothing else to do; the short form runs beside other tests. */
const READY_WITHIN_MS = size(20_000, 5_000);

describe("a rolling restart of two gateways and two data services under load", () => {
  let stack: Stack;
  let twin: Stack;
  beforeAll(async () => {
    stack = await startStack({ shipped: true });
    twin = await startStack({ shipped: true, twinOf: stack });
  });
  afterAll(async () => {
    await twin.stop();
    await stack.stop();
  });

  it(
    "asks nobody to sign in again, whichever process answers",
    async () => {
      const browser = new Browser(stack);
      await browser.logIn(stack.admin);
      const { accessToken, refreshToken } = browser.cookies;
      const Cookie = `accessToken=${accessToken}; refreshToken=${refreshToken}`;
      const clients = [stack, twin].map(({ appUrl }) => new Client(`${appUrl}/api`, { Cookie }));
      /** As a load balancer does: where one gateway does not answer, the other is asked. */
      const send = async (at: number): Promise<Outcome> => {
        const [first, second] = at % 2 === 0 ? clients : clients.toReversed();
        const outcome = await (first as Client).ask("GET", "/me");
        return typeof outcome.ended === "number" && outcome.ended < 502
          ? outcome
          : (second as Client).ask("GET", "/me");
      };
      const load = startLoad(RATE, send);
      const good = (): number => load.outcomes.filter(({ ended }) => ended === 200).length;
      const served = async (): Promise<void> => {
        const before = good();
        await until(
          async () => good(),
          (now) => now > before + 5,
          30_000,
        );
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const each of [stack, twin]) {
          await each.dataService.stop();
          await each.restartDataService();
          await served();
          await each.gateway.stop();
          await each.restartGateway();
          await served();
        }
      }
      const outcomes = await load.stop();
      if (isLong) console.log("rolling restart", tally(outcomes));
      for (const client of clients) client.close();
      // Nobody was signed out, and nobody went without an answer.
      expect(Object.keys(tally(outcomes)).filter((ended) => !["200", "503"].includes(ended))).toEqual([]);
      const again = await Browser.with(twin, { refreshToken }).get("/me");
      expect(again.status).toBe(200);
    },
    size(2, 20) * MINUTES,
  );
});

describe("a gateway that starts before its data service", () => {
  it(
    "is alive and not ready, says so to clients, and is ready with the data service",
    async () => {
      const model = await startStack();
      const [appPort, dataPort] = [await freePort(), await freePort()];
      const env = {
        APP_URL: `http://localhost:${appPort}`,
        PORT: String(appPort),
        NODE_ENV: "test",
        DEMO: "off",
        DATA_SERVICE_PORT: String(dataPort),
        DATA_SERVICE_URL: `http://127.0.0.1:${dataPort}`,
        DATA_DIR: model.dataDir,
        MONGODB_URL: model.mongodbUrl,
        LOG_LEVEL: "info",
      };
      const running: RunningService[] = [];
      try {
        running.push(await startService("@portico/gateway/main", env));
        const gateway = apiOf(env.APP_URL);
        expect((await gateway.get("/healthz")).status).toBe(200);
        expect((await gateway.get("/readyz")).status).toBe(503);
        const { status, body } = await gateway.get("/api/me");
        expect([status, body.error.code]).toEqual([502, "BAD_GATEWAY"]);
        running.push(await startService("@portico/data-service/main", env));
        expect((await gateway.get("/readyz")).status).toBe(200);
        expect((await gateway.get("/api/me")).status).toBe(401);
      } finally {
        for (const service of running.toReversed()) await service.stop();
        await model.stop();
      }
    },
    2 * MINUTES,
  );
});

describe("a data service that starts before its database", () => {
  let dataDir: string;
  let mongoPort: number;
  let env: Readonly<Record<string, string>>;
  const running: { stop(): Promise<unknown> }[] = [];
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "portico-order-"));
    mongoPort = await freePort();
    const [appPort, dataPort] = [await freePort(), await freePort()];
    env = {
      APP_URL: `http://localhost:${appPort}`,
      PORT: String(appPort),
      DATA_SERVICE_PORT: String(dataPort),
      DATA_SERVICE_URL: `http://127.0.0.1:${dataPort}`,
      DATA_DIR: dataDir,
      MONGODB_URL: `mongodb://127.0.0.1:${mongoPort}/portico?directConnection=true&serverSelectionTimeoutMS=500`,
      NODE_ENV: "test",
      DEMO: "off",
      LOG_LEVEL: "info",
    };
  });
  afterEach(async () => {
    for (const each of running.splice(0).toReversed()) await each.stop();
    await rm(dataDir, { recursive: true });
  });

  /** @returns it, once it has said that it waits */
  const waiting = async (): Promise<StartingService> => {
    const service = beginService("@portico/data-service/main", env);
    running.push(service);
    await until(service.log, (log) =>
      /waiting for the database: No MongoDB answers at 127\.0\.0\.1:\d+ \(.*\): start it/.test(log),
    );
    return service;
  };

  it("waits for it, and is ready soon after it, as is the gateway before both", async () => {
    const gateway = await startService("@portico/gateway/main", env);
    running.push(gateway);
    const starting = await waiting();
    running.push(await startOwnEngine(mongoPort));
    const began = performance.now();
    await starting.ready;
    expect((await apiOf(gateway.url).get("/readyz")).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(READY_WITHIN_MS);
  });

  it("ends at once when it is told to", async () => {
    const { process, ready } = await waiting();
    process.kill("SIGTERM");
    await expect(ready).rejects.toThrow("service ended with 0");
  });
});
