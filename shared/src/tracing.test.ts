// What spans tell of answers that did not come to their end.
import { get } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import express, { type RequestHandler } from "express";
import { pino } from "pino";
import { listen, type RunningServer } from "./server.js";
import { startTracing, traceRequests } from "./tracing.js";

const WHERE = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
const ERROR = 2;

interface Span {
  readonly name: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: { readonly intValue?: number } }[];
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
}

/** Answers that begin and go on for ever, by their paths. */
const ENDLESS: Readonly<Record<string, RequestHandler>> = {
  "/nothing": () => {},
  "/part": (_request, response) => void response.write("part"),
  "/events": (_request, response) => void response.type("text/event-stream").write("data: 1\n\n"),
};

const spans: Span[] = [];
let collector: RunningServer;

beforeAll(async () => {
  const take: RequestHandler = async (request, response) => {
    const { resourceSpans }: Export = JSON.parse(await text(request));
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    response.json({});
  };
  collector = await listen(express().use(take), WHERE);
  const tracing = await startTracing("test", collector.url, pino({ enabled: false }));
  for (const path of Object.keys(ENDLESS)) await leave(path);
  await tracing.stop();
});

afterAll(() => collector.stop());

/** Asks, and leaves once the answer has begun, as far as it does. */
async function leave(path: string): Promise<void> {
  const app = express().use(traceRequests((request) => request.path));
  const closed = new Promise((resolve) => {
    app.use((request, response, next) => {
      response.once("close", resolve);
      ENDLESS[path]?.(request, response, next);
      if (!response.headersSent) asking.destroy();
    });
  });
  const server = await listen(app, WHERE);
  const asking = get(server.url + path);
  asking.on("error", () => {});
  asking.on("response", (answer) => {
    answer.on("error", () => {});
    answer.once("data", () => asking.destroy());
  });
  await closed;
  await server.stop();
}

it.each([
  ["before it had begun has no status, and has failed", "/nothing", undefined, ERROR],
  ["half-way has the status that was sent, and has failed", "/part", 200, ERROR],
  ["and was a stream of events has the status that was sent, and has not failed", "/events", 200, 0],
])("the span of an answer that its client left %s", (_what, path, status, code) => {
  const span = spans.find(({ name }) => name === `GET ${path}`);
  const told = span?.attributes.find(({ key }) => key === "http.response.status_code");
  expect([told?.value.intValue, span?.status.code]).toEqual([status, code]);
});
