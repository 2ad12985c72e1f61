// Answers that nobody takes: one reader may not have all that is held for them.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { requestContext } from "@portico/shared/http-context";
import { listen, type RunningServer } from "@portico/shared/server";
import express, { type Express, type Response } from "express";
import { respondWithList } from "./respond.js";
import { SlowAnswers } from "./slow-answers.js";

/** More than all buffers on the way hold. */
const RECORDS = 64;
const RECORD = { text: "x".repeat(1024 * 1024) };

let app: Express;
let server: RunningServer;
const sockets: Socket[] = [];
const begun: { readonly ip: string | undefined; readonly response: Response }[] = [];

beforeEach(async () => {
  const slowAnswers = new SlowAnswers(400, 50);
  app = express().set("trust proxy", "loopback");
  app.use(requestContext((path) => path));
  app.get("/begun", ({ ip }, response) => {
    slowAnswers.watch(response, () => 100);
    response.write("begun");
    begun.push({ ip, response });
  });
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  begun.splice(0);
  await server.stop();
});

async function* records() {
  for (let at = 0; at < RECORDS; at += 1) yield [RECORD];
}

function ask(path: string, address: string): Socket {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
  sockets.push(socket);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: ${address}\r\n\r\n`);
  return socket;
}

it("half of it may be for one network", async () => {
  const addresses = ["203.0.113.7", "203.0.113.7", "203.0.113.7", "203.0.113.8"];
  const answers = addresses.map((address) => ask("/begun", address).resume());
  const ends = answers.map((socket) => once(socket, "close"));
  await Promise.race(ends);
  const cut = begun.filter(({ response }) => response.destroyed);
  expect(cut.map(({ ip }) => ip)).toEqual(["203.0.113.7"]);
  for (const { response } of begun) response.end();
  await Promise.all(ends);
});

it("is not cut where it is a list that takes long to make, and its client reads", async () => {
  app.get("/list", async (_request, response) => {
    async function* slowly() {
      for (let at = 0; at < 5; at += 1) {
        yield [RECORD];
        await delay(600);
      }
    }
    await respondWithList(response, slowly(), undefined, () => 1024 ** 3);
  });
  const answer = ask("/list", "203.0.113.7").setEncoding("utf8");
  let text = "";
  for await (const piece of answer) text += piece;
  expect(text.slice(-20)).toMatch(/\]\}\s+0\s+$/);
});

it("is cut where it is a list that holds too much by itself, and its client does not read", async () => {
  const isFinished = new Promise<boolean>((resolve) => {
    app.get("/list", async (_request, response) => {
      await respondWithList(response, records(), undefined, () => 1024 ** 3);
      resolve(response.writableFinished);
    });
  });
  ask("/list", "203.0.113.7").pause();
  expect(await isFinished).toBe(false);
});
