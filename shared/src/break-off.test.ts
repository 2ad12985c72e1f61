// An answer that is broken off must not look whole, however the client sees where it ends.
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import { errorHandler, requestContext } from "./http-context.js";
import { listen, type RunningServer } from "./server.js";

let server: RunningServer;

beforeEach(async () => {
  const app = express().use(requestContext((path) => path));
  app.get("/whole", (_request, response) => {
    response.write("one line\n");
    response.end();
  });
  app.get("/broken", async (_request, response) => {
    response.write("one line\n");
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new Error("the rest is gone");
  });
  app.get("/endless", (_request, response) => void response.write("one line\n"));
  app.use(errorHandler(pino({ level: "silent" })));
  const where = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
  server = await listen(app, where, { stopTimeoutMs: 50 });
});

afterEach(() => server.stop());

/** @returns what was got, and how the connection ended */
async function fetched(path: string, version: string): Promise<{ text: string; end: string }> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1").setEncoding("utf8");
  socket.write(`GET ${path} HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let text = "";
  socket.on("data", (piece: string) => {
    text += piece;
    if (path === "/endless") void server.stop();
  });
  return new Promise((resolve) => {
    socket.once("end", () => resolve({ text, end: "FIN" }));
    socket.once("error", (error: NodeJS.ErrnoException) => resolve({ text, end: error.code ?? "" }));
  });
}

describe("to a client of HTTP/1.0, for which an answer ends where its connection does", () => {
  it("one that is whole ends in peace", async () => {
    expect(await fetched("/whole", "1.0")).toEqual({
      text: expect.stringMatching(/\r\n\r\none line\n$/),
      end: "FIN",
    });
  });

  it("one that breaks off is an error", async () => {
    expect(await fetched("/broken", "1.0")).toMatchObject({ end: "ECONNRESET" });
  });

  it("one that takes longer than a stopping service waits is an error", async () => {
    expect(await fetched("/endless", "1.0")).toMatchObject({ end: "ECONNRESET" });
  });
});

describe("to a client of HTTP/1.1", () => {
  it("one that breaks off lacks its last chunk", async () => {
    expect(await fetched("/broken", "1.1")).toEqual({
      text: expect.stringMatching(/\r\n9\r\none line\n\r\n$/),
      end: "FIN",
    });
  });
});
