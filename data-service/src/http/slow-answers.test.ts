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

let slowAnswers: SlowAnswers;
let app: Express;
let server: RunningServer;
const sockets: Socket[] = [];
const begun: { readonly ip: string | undefined; readonly response: Response; readonly end: () => number }[] =
  [];

beforeEach(async () => {
  slowAnswers = new SlowAnswers(400, 50);
  app = express().set("trust proxy", "loopback");
  app.use(requestContext((path) => path));
  app.get("/begun", ({ ip }, response) => {
    const end = slowAnswers.watch(response, () => 100);
    response.write("begun");
    begun.push({ ip, response, end });
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

/** Begins one more, and waits until it is slow. @returns whether it was cut */
async function isCut(): Promise<boolean> {
  ask("/begun", "203.0.113.7").resume();
  const { length } = begun;
  while (begun.length === length) await delay(5);
  await delay(80);
  return begun[length]?.response.destroyed === true;
}

it("what a client has taken is held no longer, and is given back once", async () => {
  expect([await isCut(), await isCut()]).toEqual([false, false]);
  const [first] = begun;
  expect([first?.end(), first?.end()]).toEqual([0, 0]);
  expect([await isCut(), await isCut()]).toEqual([false, true]);
});

it("what is held of an answer is given back at its end", async () => {
  expect([await isCut(), await isCut()]).toEqual([false, false]);
  begun[0]?.response.end();
  await delay(80);
  expect([await isCut(), await isCut()]).toEqual([false, true]);
});

it("an answer that is taken in time leaves nothing behind, and most of its time for the next piece", async () => {
  await isCut();
  const response = begun[0]?.response;
  if (response === undefined) throw new Error("none has begun");
  const before = response.listenerCount("close");
  const leftMs = slowAnswers.watch(response, () => 100, 10_000)();
  expect(leftMs).toBeGreaterThan(5_000);
  expect(leftMs).toBeLessThanOrEqual(10_000);
  expect(response.listenerCount("close")).toBe(before);
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
