// Answers that are sent as their text is made, which may be slow.
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import { listen, type RunningServer } from "@portico/shared/server";
import express from "express";
import { respondWithText } from "./respond.js";

/** Gives the answers what they wait for after their first piece. */
let goOn: (last: () => string) => void;
let held: Promise<() => string>;
let patience: { moreMs: number; anyMs: number };
let firstPiece: string;
let server: RunningServer;

beforeEach(async () => {
  firstPiece = "first, ";
  held = new Promise((resolve) => {
    goOn = resolve;
  });
  const app = express();
  app.use(requestContext((path) => path));
  app.get("/", (_request, response) => respondWithText(response, text(), undefined, patience));
  app.use(errorHandler(makeLogger("test", "silent")));
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
});

afterEach(() => server.stop());

async function* text(): AsyncGenerator<string> {
  if (firstPiece !== "") yield firstPiece;
  const last = await held;
  yield last();
}

const failing = (): never => {
  throw new Error("the database is away");
};

it("the head goes first where the text is long in coming", async () => {
  patience = { moreMs: 20, anyMs: 60_000 };
  const response = await fetch(server.url);
  goOn(() => "last");
  expect([response.status, await response.text()]).toEqual([200, "first, last"]);
});

it("a failure behind the head breaks the connection", async () => {
  patience = { moreMs: 20, anyMs: 60_000 };
  const response = await fetch(server.url);
  goOn(failing);
  await expect(response.text()).rejects.toThrow();
});

it("a failure before the head is told", async () => {
  patience = { moreMs: 60_000, anyMs: 60_000 };
  goOn(failing);
  expect((await fetch(server.url)).status).toBe(500);
});

it("a failure before the first piece is told, however late it is", async () => {
  patience = { moreMs: 20, anyMs: 60_000 };
  firstPiece = "";
  const answer = fetch(server.url);
  await setTimeout(200);
  goOn(failing);
  expect((await answer).status).toBe(500);
});

it("the head goes before any text where that is longer in coming than the gateway waits", async () => {
  patience = { moreMs: 60_000, anyMs: 20 };
  firstPiece = "";
  const response = await fetch(server.url);
  goOn(() => "last");
  expect([response.status, await response.text()]).toEqual([200, "last"]);
});

it("a short text that comes in time is sent with its length", async () => {
  patience = { moreMs: 60_000, anyMs: 60_000 };
  goOn(() => "last");
  expect((await fetch(server.url)).headers.get("content-length")).toBe("11");
});
