// Answers that wait for their clients: one of these may not have all the places for them.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import express, { type Response } from "express";
import { listen, type RunningServer } from "./server.js";
import { SlowReaders } from "./slow-readers.js";

/** More than all buffers on the way hold. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, "x");

let server: RunningServer;
let slow: Response[];
let begun: Response[];
let cut: Response[];
let closed: Response[];
const sockets: Socket[] = [];

beforeEach(async () => {
  [slow, begun, cut, closed] = [[], [], [], []];
  const slowReaders = new SlowReaders(4, 50);
  const app = express().set("trust proxy", "loopback");
  app.use(({ path }, response) => {
    slowReaders.watch(
      response,
      () => slow.push(response),
      () => cut.push(response),
    );
    begun.push(response);
    response.once("close", () => closed.push(response));
    if (path === "/large") response.end(LARGE);
    else if (path === "/small") response.end("small");
    else response.write("begun");
  });
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** Asks for answers on one connection, and reads nothing. */
async function ask(address: string, ...paths: string[]): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
  sockets.push(socket);
  await once(socket, "connect");
  socket.pause();
  for (const path of paths)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`);
  return socket;
}

async function seen(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}

it("half as many may be for one network", async () => {
  for (const host of [1, 2, 3]) await ask(`2001:db8:0:1::${host}`, "/large");
  await ask("2001:db8:0:2::1", "/large");
  await seen(() => slow.length === 3 && closed.length === 1);
  expect(closed[0]?.req.ip).toMatch(/^2001:db8:0:1::/);
  expect(cut).toEqual(closed);
});

it("one that waits behind another on its connection counts as well", async () => {
  await ask("203.0.113.7", "/large", "/small", "/small");
  await seen(() => closed.length === 3);
  expect(slow).toHaveLength(2);
});

it("an answer that waits for us is none of them", async () => {
  for (let asked = 0; asked < 3; asked += 1) await ask("203.0.113.7", "/in-parts");
  await ask("203.0.113.7", "/large");
  await seen(() => slow.length === 1);
  expect(closed).toEqual([]);
});

it("who has read to the end leaves room for the next", async () => {
  for (let asked = 1; asked <= 3; asked += 1) {
    const socket = await ask("203.0.113.7", "/large");
    await seen(() => slow.length === asked);
    socket.resume();
    await seen(() => begun[asked - 1]?.writableFinished === true);
  }
});
