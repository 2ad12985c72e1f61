// A client that sends several requests at once and leaves: none of them stays in flight.
import { once } from "node:events";
import { connect } from "node:net";
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
