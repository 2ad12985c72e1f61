// R8, R9, R20, R22, K1, K6: clients that hold connections and do nothing, or little. Others are served all the same.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { filePart, MULTIPART, multipartBody, textPart } from "../support/multipart.js";
import { openHandles, pidOf, residentBytes } from "../support/process-facts.js";
import { readSlowly } from "../support/slow-reader.js";
import { until } from "../support/wait.js";
import type { Outcome } from "./support/client.js";
import { percentile, startLoad, tally } from "./support/load.js";
import { isLong, type NotesSystem, size, startNotesSystem } from "./support/notes-system.js";

const RATE = size(20, 100);
const IDLE = size(500, 5_000);
const SLOW_HEADS = size(300, 5_000);
const READERS = size(20, 200);
const FILE_BYTES = size(8, 40) * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;
const MINUTES = 60_000;
/** What a connection may leave in a process for a while: pools between the services, and to the database. */
const POOLS = 64 + 50;

let system: NotesSystem;
let gatewayPid: number;
let handlesBefore: number;

beforeAll(async () => {
  system = await startNotesSystem({ direct: true, env: { UPLOAD_MAX_BYTES: String(FILE_BYTES + 1) } });
  gatewayPid = pidOf(system.stack.gateway.process);
  handlesBefore = await openHandles(gatewayPid);
});

afterAll(() => system.stop());

/** The load of everybody else. */
const others = () => startLoad(RATE, () => system.client.ask("GET", `/notes/${system.noteId}`));

function expectServed(outcomes: readonly Outcome[]): void {
  expect(outcomes.length).toBeGreaterThan(0);
  // An overloaded machine may shed load; nothing else is an answer to a read.
  const bad = outcomes.filter(({ ended, isJson }) => !(isJson && (ended === 200 || ended === 503)));
  expect(bad.slice(0, 5)).toEqual([]);
  expect(tally(outcomes)[200]).toBeGreaterThan(0);
}

async function open(count: number, url = system.stack.appUrl): Promise<Socket[]> {
  const { port } = new URL(url);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    // Fewer than the queue of connections that wait to be taken.
    const some = Array.from({ length: Math.min(100, count - sockets.length) }, () =>
      connect(Number(port), "127.0.0.1"),
    );
    await Promise.all(some.map((socket) => once(socket, "connect")));
    sockets.push(...some);
  }
  for (const socket of sockets) socket.on("error", () => {});
  return sockets;
}

const handlesBack = () =>
  until(
    () => openHandles(gatewayPid),
    (now) => now <= handlesBefore + POOLS,
    MINUTES,
  );

describe(`${IDLE} idle kept-alive connections`, () => {
  it(
    "are kept, cost little, and nobody else waits for them",
    async () => {
      const memory = await residentBytes(gatewayPid);
      const sockets = await open(IDLE);
      const answered = sockets.map((socket) => once(socket, "data"));
      for (const socket of sockets) socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const heads = await Promise.all(answered);
      expect(new Set(heads.map(([head]) => String(head).slice(0, 15)))).toEqual(new Set(["HTTP/1.1 200 OK"]));
      const load = others();
      await delay(size(2_000, 30_000));
      const outcomes = await load.stop();
      const grown = (await residentBytes(gatewayPid)) - memory;
      if (isLong)
        console.log("idle", tally(outcomes), "p99", percentile(outcomes, 0.99), "MiB", grown / MEBIBYTE);
      expectServed(outcomes);
      expect(sockets.filter((socket) => socket.destroyed || socket.readableEnded)).toEqual([]);
      expect(grown).toBeLessThan(300 * MEBIBYTE);
      for (const socket of sockets) socket.destroy();
      await handlesBack();
    },
    5 * MINUTES,
  );
});

describe(`${SLOW_HEADS} connections that send a head a byte at a time`, () => {
  it(
    "are told so after ten seconds and closed, and everybody else is served meanwhile",
    async () => {
      const opened = performance.now();
      const sockets = [...(await open(SLOW_HEADS)), ...(await open(1, system.stack.dataUrl))];
      let firstClosed = Number.POSITIVE_INFINITY;
      const told = sockets.map(async (socket) => {
        let text = "";
        socket.on("data", (piece: Buffer) => {
          text += piece.toString();
        });
        await once(socket, "close");
        firstClosed = Math.min(firstClosed, performance.now());
        return text;
      });
      const head = Buffer.from(`GET /api/notes HTTP/1.1\r\nHost: localhost\r\nX-Padding: ${"x".repeat(200)}`);
      let at = 0;
      const drip = setInterval(() => {
        for (const socket of sockets) if (socket.writable) socket.write(head.subarray(at, at + 1));
        at += 1;
      }, 1_000);
      const load = others();
      const began = performance.now();
      const answers = await Promise.all(told);
      // Looked at every other second, on a machine that does other things as well.
      expect(performance.now() - began).toBeLessThan(20_000);
      expect(firstClosed - opened).toBeGreaterThan(9_000);
      clearInterval(drip);
      const outcomes = await load.stop();
      if (isLong)
        console.log("slow heads", tally(outcomes), "p99", percentile(outcomes, 0.99), "cut after s", at);
      expectServed(outcomes);
      for (const answer of new Set(answers.map((text) => text.split("\r\n")[0]))) {
        // A client that goes on writing may be reset before it has read why.
        expect(["HTTP/1.1 400 Bad Request", ""]).toContain(answer);
      }
      expect(answers.join("")).toContain("took too long to arrive");
      await handlesBack();
    },
    3 * MINUTES,
  );
});

describe(`${READERS} readers that stop in the middle of a file`, () => {
  it(
    "are not read for: memory stays, and everything is let go when they leave",
    async () => {
      const body = multipartBody([
        textPart("isPublic", "true"),
        filePart("file", "large.bin", "a/b", Buffer.alloc(FILE_BYTES, 0xab)),
      ]);
      const uploaded = await system.client.ask("POST", "/svc_file", {
        body,
        headers: { "Content-Type": MULTIPART },
      });
      expect(uploaded.ended).toBe(201);
      const [{ id }] = JSON.parse(uploaded.text).data;
      const pids = [gatewayPid, pidOf(system.stack.dataService.process)];
      const before = await Promise.all(pids.map(residentBytes));
      const readers = await Promise.all(
        Array.from({ length: READERS }, () => readSlowly(`${system.stack.appUrl}/assets/${id}`, {})),
      );
      await Promise.all(readers.map((reader) => reader.readTo(1)));
      const load = others();
      await delay(size(1_500, 30_000));
      const outcomes = await load.stop();
      const after = await Promise.all(pids.map(residentBytes));
      const grown = after.map((bytes, each) => bytes - (before[each] ?? 0));
      if (isLong)
        console.log(
          "slow readers",
          tally(outcomes),
          "MiB",
          grown.map((bytes) => bytes / MEBIBYTE),
        );
      expectServed(outcomes);
      for (const bytes of grown) expect(bytes).toBeLessThan(100 * MEBIBYTE);
      for (const reader of readers) reader.leave();
      await handlesBack();
    },
    5 * MINUTES,
  );
});

/** By default Node lets clients keep an idle connection for 5 s, and closes it after 6; our pool closes its own after 30. */
const GAPS_MS = isLong ? [5_000, 5_750, 6_500, 29_900, 30_000, 30_100] : [5_750];
/** The requests of a round begin within this time. */
const ROUND_MS = 1_000;

/** @returns the first line of the answer, or "closed" */
function read(socket: Socket): Promise<string> {
  const ask = [
    `GET /api/notes/${system.noteId} HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${system.authorization}`,
  ];
  return new Promise((resolve) => {
    if (socket.destroyed) resolve("closed");
    socket.once("data", (head: Buffer) => resolve(head.toString().split("\r\n")[0] ?? ""));
    socket.once("close", () => resolve("closed"));
    socket.write(`${ask.join("\r\n")}\r\n\r\n`);
  });
}

describe("connections that are used again just when others would close them", () => {
  it.each(GAPS_MS)(
    "after %d ms are still good",
    async (gapMs) => {
      const sockets = await open(size(50, 1_000));
      const round = async (inTurn: readonly Socket[]): Promise<string[]> => {
        const answers: string[] = [];
        await Promise.all(
          inTurn.map(async (socket, at) => {
            await delay((at / inTurn.length) * ROUND_MS);
            answers.push(await read(socket));
          }),
        );
        return answers;
      };
      const began = performance.now();
      const answers = await round(sockets);
      await delay(began + gapMs - performance.now());
      // In opposite order: each is idle for another time, from a second less than the gap to a second more.
      answers.push(...(await round(sockets.toReversed())));
      expect(answers).toContain("HTTP/1.1 200 OK");
      // An overloaded machine may shed load.
      expect(answers.filter((answer) => !/ (?:200|503) /.test(answer))).toEqual([]);
      for (const socket of sockets) socket.destroy();
    },
    2 * MINUTES,
  );
});
