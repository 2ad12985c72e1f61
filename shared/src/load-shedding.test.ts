// When a process refuses requests as overloaded.
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import express, { type Response } from "express";
import { pino } from "pino";
import { errorHandler, requestContext } from "./http-context.js";
import { decideOverload, type OverloadLimits, shedLoad } from "./load-shedding.js";
import { listen, type RunningServer } from "./server.js";

const LIMITS = { maxInFlight: 10, maxEventLoopDelayMs: 100, maxWaitMs: 2_000 };
const NO_LIMITS = { maxInFlight: 0, maxEventLoopDelayMs: 0, maxWaitMs: 0 };
const NONE = { oldestMs: 0, answeredPerSecond: 0 };
const LONG = { oldestMs: 1e6, answeredPerSecond: 1 };
const before = (): number => 1e6;
const waiting = (count: number, oldestMs: number, answeredPerSecond: number) => ({
  inFlight: 0,
  delayMs: 0,
  waiting: { oldestMs, answeredPerSecond },
  before: () => count,
});

/** One client has many that take long, and each of others has one. */
const besideOne = (many: number, others: number) => ({
  ...waiting(many + others, 60_000, 0),
  before: (mostOfAnother: number) => Math.min(many, mostOfAnother) + others,
});

describe("decideOverload", () => {
  it.each([
    ["below both limits", LIMITS, { inFlight: 9, delayMs: 100, waiting: NONE, before }, undefined],
    [
      "with as many requests as allowed",
      LIMITS,
      { inFlight: 10, delayMs: 0, waiting: NONE, before },
      "in_flight",
    ],
    [
      "with an event loop that is late",
      LIMITS,
      { inFlight: 0, delayMs: 100.5, waiting: NONE, before },
      "event_loop",
    ],
    ["with more before it than are answered in time", LIMITS, waiting(200, 2_001, 100), "waiting"],
    ["with as many as are answered in time", LIMITS, waiting(199, 2_001, 100), undefined],
    ["with a burst of which nobody has waited long", LIMITS, waiting(1e6, 2_000, 100), undefined],
    ["with few that take long", LIMITS, waiting(99, 60_000, 0), undefined],
    ["with many that take long", LIMITS, waiting(100, 60_000, 0), "waiting"],
    ["with many of one other client", LIMITS, besideOne(1e6, 0), undefined],
    ["with many of one other client, and some of more", LIMITS, besideOne(1e6, 75), "waiting"],
    ["without limits", NO_LIMITS, { inFlight: 1e6, delayMs: 1e6, waiting: LONG, before }, undefined],
  ])("%s", (_case, limits, now, expected) => {
    expect(decideOverload(limits, now)).toBe(expected);
  });
});

describe("a process", () => {
  /** Longer than until it is looked which answers have begun, and which bodies have come. */
  const LOOKED_MS = 500;
  let server: RunningServer;
  const held: Response[] = [];
  const sockets: Socket[] = [];

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const response of held.splice(0)) response.end();
    await server.stop();
  });

  async function start(limits: Partial<OverloadLimits>): Promise<void> {
    const app = express().use(requestContext((path) => path));
    const queued = new Set(["/login"]);
    app.use(shedLoad({ ...NO_LIMITS, ...limits }, { onShed: () => {}, queued, clientOf: () => "a client" }));
    app.all(["/held", "/login"], (_request, response) => void held.push(response));
    app.get("/events", (_request, response) => {
      response.type("text/event-stream").flushHeaders();
      held.push(response);
    });
    app.get("/", (_request, response) => void response.end());
    app.use(errorHandler(pino({ level: "silent" })));
    const where = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
    server = await listen(app, where, { stopTimeoutMs: 50 });
  }

  /** Sends what may be only the beginning of a request. */
  function send(method: string, path: string, length: number, body: string): void {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
    sockets.push(socket.resume());
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`);
  }

  async function hold(
    method: string,
    path: string,
    { count = 1, length = 0, body = "" } = {},
  ): Promise<void> {
    const until = held.length + count;
    for (let sent = 0; sent < count; sent += 1) send(method, path, length, body);
    while (held.length < until) await delay(5);
  }

  const next = async (): Promise<number> => (await fetch(server.url)).status;

  it("takes the next request when one of those in progress is over", async () => {
    await start({ maxInFlight: 1 });
    await hold("GET", "/held");
    expect(await next()).toBe(503);
    held[0]?.end();
    await delay(20);
    expect(await next()).toBe(200);
  });

  it("does not count a stream of events", async () => {
    await start({ maxInFlight: 1 });
    await hold("GET", "/events");
    await delay(LOOKED_MS);
    expect(await next()).toBe(200);
  });

  it("counts a request when its body has come, also where nobody reads it", async () => {
    await start({ maxInFlight: 1 });
    await hold("POST", "/held", { length: 2, body: "{" });
    await delay(LOOKED_MS);
    expect(await next()).toBe(200);
    sockets[0]?.write("}");
    await delay(LOOKED_MS);
    expect(await next()).toBe(503);
  });

  it.each([
    ["refuses", "/held", 503],
    ["takes", "/login/", 200],
  ])("%s the next request of a client that has a hundred of %s waiting", async (_, path, status) => {
    await start({ maxWaitMs: 50 });
    await hold("GET", path, { count: 100 });
    await delay(LOOKED_MS);
    expect(await next()).toBe(status);
  });

  it("counts each request once, however long it waits", async () => {
    await start({ maxWaitMs: 50 });
    await hold("POST", "/held", { count: 40, length: 2, body: "{}" });
    await delay(2 * LOOKED_MS);
    for (let again = 0; again < 5; again += 1, await delay(60)) expect(await next()).toBe(200);
  });
});
