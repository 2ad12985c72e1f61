// A client that sends several requests at once: none of them stays in flight when it leaves, and there may not be many.
import { once } from "node:events";
import { mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import express, { type Response } from "express";
import { listen } from "./server.js";

it("answers that wait behind another are closed with their connection, each once", async () => {
  const REQUESTS = 20;
  const asked: Response[] = [];
  const closed: Response[] = [];
  const app = express();
  const allAsked = new Promise<void>((resolve) => {
    app.use((_request, response) => {
      response.on("close", () => closed.push(response));
      // The first one never ends, so that no other one's turn comes.
      if (asked.push(response) > 1) response.end();
      if (asked.length === REQUESTS) resolve();
    });
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(REQUESTS));
  await allAsked;
  const left = once(asked[0] ?? socket, "close");
  socket.destroy();
  await left;
  await new Promise(setImmediate);
  expect([closed.length, new Set(closed).size]).toEqual([REQUESTS, REQUESTS]);
  await server.stop();
});

it("files of answers that wait behind another are let go of with their connection", async () => {
  const REQUESTS = 20;
  const folder = await mkdtemp(join(tmpdir(), "portico-queued-"));
  const file = join(folder, "large");
  await writeFile(file, Buffer.alloc(1024 * 1024));
  let asked = 0;
  const app = express().use((_request, response) => {
    asked += 1;
    // The first one never ends, so that no other one's turn comes.
    if (asked > 1) response.sendFile(file);
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(REQUESTS));
  while ((await opened(file)) < REQUESTS - 1) await new Promise(setImmediate);
  socket.destroy();
  while ((await opened(file)) > 0) await new Promise(setImmediate);
  await server.stop();
  await rm(folder, { recursive: true });
});

/** How often this process has a file open. */
async function opened(file: string): Promise<number> {
  const names = await readdir("/proc/self/fd");
  const paths = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return paths.filter((path) => path === file).length;
}

it("an answer whose turn comes is not touched", async () => {
  const ends: (() => void)[] = [];
  const app = express().use((_request, response) => void ends.push(() => response.end("done")));
  const server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2));
  while (ends.length < 2) await new Promise(setImmediate);
  for (const end of ends.toReversed()) end();
  let answers = "";
  for await (const piece of socket) {
    answers += piece;
    if (answers.split("done").length === 3) break;
  }
  expect(answers.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
  await server.stop();
});

/** Answers each request with its number. @returns where it listens, and how many requests it was asked to answer */
async function startCounting() {
  let asked = 0;
  const app = express().use((_request, response) => {
    asked += 1;
    response.end(`<${asked}>`);
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  return { server, asked: () => asked };
}

/** Sends such heads at once and reads to the end of the connection. @returns what came */
async function send(url: string, heads: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  socket.write(heads.map((head) => `${head}\r\nHost: x\r\n\r\n`).join(""));
  let answers = "";
  socket.on("data", (piece) => {
    answers += piece;
  });
  await once(socket, "close");
  return answers;
}

const GET = "GET / HTTP/1.1";

it("32 that wait behind another are answered in their order", async () => {
  const { server } = await startCounting();
  const requests = [...Array.from({ length: 32 }, () => GET), `${GET}\r\nConnection: close`];
  const answers = await send(server.url, requests);
  const order = [...answers.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number));
  expect(order).toEqual(requests.map((_request, at) => at + 1));
  await server.stop();
});

it("with more, the connection is cut, and nothing further of it is done", async () => {
  const { server, asked } = await startCounting();
  await send(
    server.url,
    Array.from({ length: 1_000 }, () => GET),
  );
  expect(asked()).toBe(33);
  await server.stop();
});

it("with more, the connection is cut where they are refusals that reach no handler", async () => {
  // The first one never ends.
  const server = await listen(
    express().use(() => {}),
    { host: "127.0.0.1", port: 0, portVariable: "PORT" },
  );
  const refused = Array.from({ length: 1_000 }, () => `${GET}\r\nExpect: a miracle`);
  expect(await send(server.url, [GET, ...refused])).toBe("");
  await server.stop();
});
