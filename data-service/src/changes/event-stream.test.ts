// Events on their way to clients that read as fast as they can, and to those that don't read: what is held for these.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import { listen, type RunningServer } from "@portico/shared/server";
import express from "express";
import { SlowAnswers } from "../http/slow-answers.js";
import { EventStream } from "./event-stream.js";

const PATIENCE_MS = 1_000;
/** More than the buffers of both ends hold; its characters have several bytes, so that some lie across pieces. */
const LARGE = "aé😀".repeat(3_000_000);
/** What a slow client takes at once, and how long it rests then: in all, it takes longer than the service has patience. */
const BIT = 1_500_000;
const BIT_MS = 100;

const servers: RunningServer[] = [];
const answers: IncomingMessage[] = [];

afterEach(async () => {
  for (const answer of answers.splice(0)) answer.destroy();
  for (const server of servers.splice(0)) await server.stop();
});

/** A stream and its client, which has read nothing yet. */
async function open(over = new AbortController().signal, slow = new SlowAnswers()) {
  const app = express();
  const opened = new Promise<EventStream>((resolve) => {
    app.use((_request, response) => {
      const stream = new EventStream(response, PATIENCE_MS, over, slow);
      stream.open();
      resolve(stream);
    });
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  servers.push(server);
  const request = get(server.url, { agent: false });
  const [client] = (await once(request, "response")) as [IncomingMessage];
  answers.push(client);
  return { stream: await opened, client };
}

/** Takes a bit, rests, and so on to the end. */
async function readSlowly(client: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of client as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < BIT) continue;
    bytes = 0;
    await delay(BIT_MS);
  }
  return Buffer.concat(pieces).toString();
}

const LARGE_JSON = JSON.stringify({ text: LARGE });
const large = { event: "created", id: "1", data: ['{"record":', LARGE_JSON, "}"] };
const LARGE_TEXT = `event: created\nid: 1\ndata: {"record":${LARGE_JSON}}\n\n`;

describe("an event that is long under way", () => {
  it("is sent whole to a client that reads steadily", async () => {
    const { stream, client } = await open();
    const began = performance.now();
    const read = readSlowly(client);
    expect(await stream.send(large)).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(PATIENCE_MS);
    stream.end("restart");
    expect((await read).endsWith(`${LARGE_TEXT}event: end\ndata: {"reason":"restart"}\n\n`)).toBe(true);
  });

  it("is given up where its client reads nothing, and the end comes behind the whole of it", async () => {
    const { stream, client } = await open();
    expect(await stream.send(large)).toBe(false);
    stream.beat("2");
    stream.end("slow");
    const read: Buffer[] = [];
    for await (const piece of client as AsyncIterable<Buffer>) read.push(piece);
    const text = Buffer.concat(read).toString();
    expect(text.endsWith(`\n\n${LARGE_TEXT}event: end\ndata: {"reason":"slow"}\n\n`)).toBe(true);
  });

  it("does not hold up the end of a stream whose client reads steadily", async () => {
    const over = new AbortController();
    const { stream, client } = await open(over.signal);
    // It may be cut off in the end.
    const read = readSlowly(client).catch(() => "");
    const sent = stream.send(large);
    await delay(PATIENCE_MS / 2);
    over.abort();
    expect(await sent).toBe(false);
    stream.end("signed-out");
    await read;
  });
});

describe("what is held for clients that are slow to read", () => {
  const SLOW_AFTER_MS = 50;

  it("is one text, however many are told it", async () => {
    const many = await Promise.all([1, 2, 3, 4, 5].map(() => open()));
    const before = process.memoryUsage().arrayBuffers;
    const sent = many.map(({ stream }) => stream.send(large));
    await delay(PATIENCE_MS / 2);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(LARGE_JSON.length);
    expect(await Promise.all(sent)).toEqual(many.map(() => false));
  });

  it("has a limit, beyond which a stream is cut", async () => {
    const slow = new SlowAnswers(LARGE_JSON.length, SLOW_AFTER_MS);
    const { stream, client } = await open(undefined, slow);
    expect(await stream.send(large)).toBe(false);
    await expect(readSlowly(client)).rejects.toThrow();
  });

  it("counts until the event is read, also one that is taken bit by bit, and no longer", async () => {
    const slow = new SlowAnswers(3 * LARGE_JSON.length, SLOW_AFTER_MS);
    const [one, other] = [await open(undefined, slow), await open(undefined, slow)];
    const read = readSlowly(one.client);
    const sent = one.stream.send(large);
    await delay(2 * SLOW_AFTER_MS);
    expect(await other.stream.send(large)).toBe(false);
    await expect(readSlowly(other.client)).rejects.toThrow();
    expect([await sent, await one.stream.send(large)]).toEqual([true, true]);
    one.stream.end("restart");
    expect(await read).toContain("restart");
  });
});
