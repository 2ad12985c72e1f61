// What the log says of traces that can't be sent, and of settings of the SDK that make no sense.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import supertest from "supertest";
import { listen, type RunningServer } from "./server.js";
import { startTracing, type Tracing, traceRequests } from "./tracing.js";

const AGAIN = "info: the collector takes traces again";

const lines: string[] = [];
const sdk = { OTEL_BSP_SCHEDULE_DELAY: "1", OTEL_TRACES_SAMPLER: "nonsense" };
/** How the collector answers to the next spans. */
let status = 400;
let isAnswered: () => void = () => {};
let isTakenAgain: () => void = () => {};
let collector: RunningServer;
let tracing: Tracing;

beforeAll(async () => {
  const answers = express().use((request, response) => {
    response.once("close", () => isAnswered());
    request.resume().once("end", () => void response.status(status).json({}));
  });
  collector = await listen(answers, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  Object.assign(process.env, sdk);
  const write = (line: string): void => {
    const { level, message }: { level: string; message: string } = JSON.parse(line);
    lines.push(`${level}: ${message}`);
    if (lines.at(-1) === AGAIN) isTakenAgain();
  };
  const formatters = { level: (label: string) => ({ level: label }) };
  tracing = await startTracing("test", collector.url, pino({ messageKey: "message", formatters }, { write }));
});

afterAll(async () => {
  await tracing.stop();
  await collector.stop();
});

/** Makes a request, and waits until the collector has answered to its span. */
async function traceOne(): Promise<void> {
  const answered = new Promise<void>((resolve) => {
    isAnswered = resolve;
  });
  const app = express().use(
    traceRequests(() => "/"),
    (_request, response) => void response.end(),
  );
  await supertest(app).get("/");
  await answered;
}

it("a setting that makes no sense is mentioned", () => {
  expect(lines).toContainEqual(
    expect.stringMatching(/^warn: OpenTelemetry: .*OTEL_TRACES_SAMPLER.*nonsense/),
  );
});

it("that the collector takes nothing is said once, and once that it does again", async () => {
  const before = lines.length;
  await traceOne();
  await traceOne();
  status = 200;
  const again = new Promise<void>((resolve) => {
    isTakenAgain = resolve;
  });
  await traceOne();
  await again;
  expect(lines.slice(before)).toEqual(["warn: the collector takes no traces", AGAIN]);
});
