// Why there was no answer of the data service is told as the cause of the refusal, which the log shows; but not of what a slow
// client is to blame for.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, it } from "@jest/globals";
import { ProvedClients } from "@portico/shared/proved-clients";
import express, { type ErrorRequestHandler } from "express";
import { makeWatchCall } from "../upstream/watch-call.js";
import { makeForward } from "./forward.js";

const LONG_MS = 60_000;
const SHORT_MS = 200;

const ends: (() => unknown)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function portOf(server: Server | TcpServer): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A data service that takes what it is sent and never says a word, for TLS not even to know each other. */
async function silentPort(): Promise<number> {
  return portOf(createTcpServer((socket) => void ends.push(() => socket.destroy())));
}

interface Patience {
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly bodyStallMs?: number;
}

/** Sends the pieces to a gateway in front of it. @returns what the request was refused with */
async function refusalOf(dataServiceUrl: string, patience: Patience, ...pieces: string[]): Promise<unknown> {
  const { connectTimeoutMs = LONG_MS, answerTimeoutMs = LONG_MS, ...stall } = patience;
  const limits = { connectTimeoutMs, answerTimeoutMs, lingerMs: 100 };
  const forward = makeForward({
    dataServiceUrl,
    limits,
    watch: makeWatchCall(undefined),
    provedClients: new ProvedClients(),
  });
  ends.push(() => forward.close());
  const rest = { bodyLimit: { bytes: 1_000_000, refusal: "" }, file: undefined, ...stall };
  const app = express().use((request, response, next) => {
    forward({ pathAndQuery: "/x", headers: request.headers, ...rest }, request, response, next);
  });
  const refused = new Promise((resolve) => {
    const refuse: ErrorRequestHandler = (error, _request, response, _next) => {
      response.status(500).end();
      resolve(error);
    };
    app.use(refuse);
  });
  const socket = connect(await portOf(createServer(app)), "127.0.0.1");
  ends.push(() => socket.destroy());
  for (const piece of pieces) {
    socket.write(piece);
    // Each comes by itself.
    await delay(50);
  }
  return refused;
}

const GET = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
const POST = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n";
const because = { message: `The data service did nothing for ${SHORT_MS} ms.` };
const STUCK = { code: "QUERY_TIMEOUT", message: "The body stood still for too long.", cause: because };

it("a data service that takes no connection", async () => {
  const url = `https://127.0.0.1:${await silentPort()}`;
  expect(await refusalOf(url, { connectTimeoutMs: SHORT_MS }, GET)).toMatchObject({
    code: "BAD_GATEWAY",
    cause: because,
  });
});

it("a data service that does not answer", async () => {
  const url = `http://127.0.0.1:${await silentPort()}`;
  for (const method of ["GET", "DELETE"]) {
    const request = GET.replace("GET", method);
    expect(await refusalOf(url, { answerTimeoutMs: SHORT_MS }, request)).toMatchObject({
      code: "QUERY_TIMEOUT",
      details: method === "GET" ? undefined : { uncertain: true },
      cause: because,
    });
  }
});

it("a data service that takes no more of a body that is here", async () => {
  const url = `https://127.0.0.1:${await silentPort()}`;
  const body = ["x".repeat(60_000), "x".repeat(10_000)];
  for (const patience of [{ answerTimeoutMs: SHORT_MS }, { bodyStallMs: SHORT_MS }]) {
    expect(await refusalOf(url, patience, POST, ...body)).toMatchObject(STUCK);
  }
});

it("a data service that takes no more of a body, the rest of which can't come before it does", async () => {
  const url = `https://127.0.0.1:${await silentPort()}`;
  const large = POST.replace("70000", "900000");
  const body = Array.from({ length: 4 }, () => "x".repeat(60_000));
  for (const patience of [{ answerTimeoutMs: SHORT_MS }, { bodyStallMs: SHORT_MS }]) {
    expect(await refusalOf(url, patience, large, ...body)).toMatchObject(STUCK);
  }
});

it("a client that sends no more of its body", async () => {
  const url = `http://127.0.0.1:${await silentPort()}`;
  expect(await refusalOf(url, { bodyStallMs: SHORT_MS }, POST, "begun")).toMatchObject({
    code: "QUERY_TIMEOUT",
    details: { uncertain: true },
    cause: undefined,
  });
});
