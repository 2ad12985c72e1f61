// What the log says of requests that were refused, and of those that have failed.
import { describe, expect, it } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import supertest from "supertest";
import { AppError, unavailable } from "./app-error.js";
import { errorHandler, logRequests, requestContext } from "./http-context.js";

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
