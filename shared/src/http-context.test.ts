// What the log says of requests that were refused, and of those that have failed.
import { once } from "node:events";
import { get } from "node:http";
import { describe, expect, it } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import supertest from "supertest";
import { AppError, unavailable } from "./app-error.js";
import { errorHandler, logRequests, requestContext } from "./http-context.js";
import { listen } from "./server.js";

/** @returns the messages of the log by their levels, when a request has been answered with this */
async function logged(thrown: unknown): Promise<string[]> {
  const lines: string[] = [];
  const write = (line: string): void => {
    const { level, message }: { level: string; message: string } = JSON.parse(line);
    lines.push(`${level}: ${message}`);
  };
  const formatters = { level: (label: string) => ({ level: label }) };
  const logger = pino({ messageKey: "message", formatters }, { write });
  const app = express().use(
    requestContext((path) => path),
    logRequests(logger),
  );
  app.use(() => {
    throw thrown;
  });
  app.use(errorHandler(logger));
  await supertest(app).get("/");
  return lines;
}

describe("the log of a request", () => {
  it.each<[string, Error]>([
    ["of overload", unavailable("The service is overloaded.", 2)],
    ["of a client's mistake", new AppError("NOT_FOUND", { cause: new Error("why") })],
  ])("that was refused is its line alone: %s", async (_why, refusal) => {
    expect(await logged(refusal)).toEqual(["info: request"]);
  });

  it.each<[string, Error, string]>([
    ["with a cause", unavailable("The database is away.", 2, new Error("why")), "The database is away."],
    ["by our fault", new AppError("INTERNAL_ERROR", "It failed."), "It failed."],
    ["unforeseen", new Error("oops"), "Something went wrong on our side."],
  ])("that has failed names the error before: %s", async (_why, error, message) => {
    expect(await logged(error)).toEqual([`error: ${message}`, "info: request"]);
  });
});

describe("the log of a request that was cut off", () => {
  it.each([
    ["no status where none was sent", false, undefined],
    ["the status that was sent", true, 200],
  ])("has %s", async (_what, sendsHead, status) => {
    const app = express().use(requestContext((path) => path));
    const line = new Promise<string>((resolve) => {
      app.use(logRequests(pino({ messageKey: "message" }, { write: resolve })));
    });
    const asked = new Promise<void>((resolve) => {
      app.use((_request, response) => {
        if (sendsHead) response.writeHead(200).flushHeaders();
        resolve();
      });
    });
    const server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
    const request = get(server.url);
    request.on("error", () => {});
    await (sendsHead ? once(request, "response") : asked);
    request.destroy();
    const logged = JSON.parse(await line);
    await server.stop();
    expect([logged.message, logged.status]).toEqual(["request cut off", status]);
  });
});
