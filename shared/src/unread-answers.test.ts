// Clients that stop reading are cut; those who read slowly, or wait long for an answer, are not.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import express, { type Response } from "express";
import { listen, type RunningServer } from "./server.js";
import { cutUnread } from "./unread-answers.js";

const STALL_MS = 400;
/** More than the buffers of both ends hold. */
const BYTES = 32 * 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, "x");
/** What a slow reader takes at once, and how long it rests then: longer in all than an answer may stand still. */
const BIT = BYTES / 25;
const BIT_MS = STALL_MS / 8;

let server: RunningServer | undefined;
let client: Socket | undefined;

afterEach(async () => {
  client?.destroy();
  await server?.stop();
});

/** As lists are sent: the next piece when the one before it has gone. */
function sendInPieces(response: Response): void {
  const pieces = Array.from({ length: BYTES / PIECE.length }, () => PIECE);
  pipeline(Readable.from(pieces), response).catch(() => {});
}

const sendAtOnce = (response: Response): void => void response.end(Buffer.alloc(BYTES, "x"));

/** Asks for an answer, of which nothing is read. */
async function ask(
  answer: (response: Response) => unknown,
  connection = "close",
): Promise<{ response: Response; socket: Socket }> {
  const app = express().use(cutUnread({ answerStallMs: STALL_MS }));
  const asked = new Promise<Response>((resolve) => {
    app.use((_request, response) => {
      resolve(response);
      answer(response);
    });
  });
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  client = socket;
  socket.on("error", () => {}).pause();
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n\r\n`);
  return { response: await asked, socket };
}

/** Reads on to the end of the connection. @returns how many bytes came */
async function readRest(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  const closed = once(socket, "close");
  socket.resume();
  await closed;
  return bytes;
}

describe("an answer", () => {
  it.each([
    ["in pieces", sendInPieces],
    ["in one piece", sendAtOnce],
  ])("of which nothing is taken is cut: %s", async (_how, answer) => {
    const { response, socket } = await ask(answer);
    await once(response, "close");
    expect(await readRest(socket)).toBeLessThan(BYTES);
  });

  it.each([
    ["in pieces", sendInPieces],
    ["in one piece", sendAtOnce],
  ])("of which nothing is taken is cut, though its client sends something: %s", async (_how, answer) => {
    const { response, socket } = await ask(answer, "keep-alive");
    // Between requests, Node passes over empty lines.
    const sending = setInterval(() => socket.write("\r\n"), STALL_MS / 8);
    await once(response, "close");
    clearInterval(sending);
    expect(await readRest(socket)).toBeLessThan(BYTES);
  });

  it.each([
    ["in pieces", sendInPieces],
    ["in one piece", sendAtOnce],
  ])("that is taken bit by bit is whole: %s", async (_how, answer) => {
    const { response, socket } = await ask(answer);
    const began = performance.now();
    let bytes = 0;
    let rest = BIT;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      rest -= chunk.length;
      if (rest > 0) return;
      rest = BIT;
      socket.pause();
      setTimeout(() => socket.resume(), BIT_MS);
    });
    const closed = once(socket, "close");
    socket.resume();
    await closed;
    expect(response.writableFinished).toBe(true);
    expect(bytes).toBeGreaterThan(BYTES);
    expect(performance.now() - began).toBeGreaterThan(2 * STALL_MS);
  });

  it("may be long in coming", async () => {
    const { response, socket } = await ask((waiting) => setTimeout(() => waiting.end("late"), 3 * STALL_MS));
    socket.resume();
    await once(response, "close");
    expect(response.writableFinished).toBe(true);
  });
});
