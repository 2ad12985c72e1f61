// Bodies that are sent too slowly (security, K2): the connection is cut, and nobody else is kept waiting.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get, type IncomingMessage, type RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import express from "express";
import { listen, type RunningServer, STOP_TIMEOUT_MS, withoutBodyDeadline } from "./server.js";

const WHERE = { host: "127.0.0.1", port: 0, portVariable: "PORT" };
const bodyTimeouts = { jsonMs: 200, otherMs: 60_000 };
const readAll: RequestListener = (request, response) =>
  void request.resume().once("end", () => response.end("read"));

let server: RunningServer | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.stop();
});

/** Sends the head of a request and the first of ten bytes of its body. */
async function begin(contentType: string, handler: RequestListener = readAll): Promise<Socket> {
  server = await listen(express().use(handler), WHERE, { bodyTimeouts });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${contentType}\r\nContent-Length: 10\r\n\r\n1`);
  return socket;
}

/** @returns the first line of the answer, or "cut" */
async function outcome(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once("data", (data) => resolve(String(data).split("\r\n")[0] ?? ""));
    // Not events.once, which would take the reset of a connection in the midst of a byte for a failure of its own.
    socket.once("close", () => resolve("cut"));
  });
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(5);
}

describe("a request of very many header lines", () => {
  const HEAD = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  const lines = (count: number): string => "X:\r\n".repeat(count);

  async function answerTo(request: string): Promise<string> {
    const seen: RequestListener = (request, response) =>
      void request.resume().once("end", () => response.end(`If-Match: ${request.headers["if-match"]}`));
    server = await listen(express().use(seen), WHERE);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    sockets.push(socket);
    socket.write(request);
    return (await socket.toArray()).join("");
  }

  // Node leaves out what comes behind the first thousand or so, and says nothing.
  it("is read to its last line", async () => {
    const answer = await answerTo(`${HEAD}${lines(32_000)}If-Match: "1"\r\n\r\n`);
    expect(answer).toMatch(/If-Match: "1"$/);
  });

  it.each([
    ["in front of the body", `${HEAD}${lines(33_000)}\r\n`],
    ["behind the body", `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${lines(33_000)}\r\n`],
  ])("is refused where names and values exceed 32 KiB, %s", async (_place, request) => {
    expect(await answerTo(request)).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"/s);
  });
});

describe("the last request of a connection", () => {
  // Else its sender would put another one on a connection that is about to go.
  it("is told in the answer that there will be no other", async () => {
    const body = "1".repeat(10);
    server = await listen(express().use(readAll), WHERE);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    sockets.push(socket);
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n${body}`);
    const answer = (await socket.toArray()).join("");
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    expect(answer).toMatch(/read$/);
  });
});

describe("a connection that waits for another request", () => {
  // Longer than the pools of clients and proxies keep theirs: whoever closes first must not be we.
  it("is kept for 65 seconds, and its client is told so", async () => {
    server = await listen(express().use(readAll), WHERE);
    const { headers } = await fetch(server.url);
    expect([headers.get("connection"), headers.get("keep-alive")]).toEqual(["keep-alive", "timeout=65"]);
  });
});

/** A service that answers nobody, and waits a moment for its answers when it is told to stop. */
const ANSWERS_NOBODY = `
  import express from "express";
  import { runService } from "${new URL("./run-service.js", import.meta.url).href}";
  import { listen } from "${new URL("./server.js", import.meta.url).href}";
  const app = express().use(() => process.send("asked"));
  await runService(() => listen(app, ${JSON.stringify(WHERE)}, { stopTimeoutMs: 200 }));
`;

/** Twelve clients with a connection each, who send their requests a moment after they have said that they will. */
const TWELVE_CLIENTS = (url: string) => `
  import { get } from "node:http";
  import { setTimeout as delay } from "node:timers/promises";
  process.send("soon");
  await delay(100);
  const ask = () => new Promise((resolve) => {
    const request = get("${url}", { agent: false }, (answer) => resolve(answer.resume().statusCode));
    request.once("error", (error) => resolve(error.code));
  });
  const outcomes = await Promise.all(Array.from({ length: 12 }, ask));
  process.send(outcomes, () => process.disconnect());
`;

describe("a server that is stopped", () => {
  it("answers what was sent before, also on connections that it has yet to take", async () => {
    const stopping = await listen(express().use(readAll), WHERE);
    const child = spawn(process.execPath, ["--input-type=module", "--eval", TWELVE_CLIENTS(stopping.url)], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    try {
      await once(child, "message");
      // Busy, as with another request, while they send.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
      const outcomes = once(child, "message");
      await stopping.stop();
      expect((await outcomes)[0]).toEqual(Array(12).fill(200));
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("gives answers 30 seconds", () => {
    expect(STOP_TIMEOUT_MS).toBe(30_000);
  });

  it("ends its process well, also when it had to cut a request", async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", ANSWERS_NOBODY], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    try {
      const [{ url }] = await once(child, "message");
      const asked = once(child, "message");
      const cut = expect(fetch(url)).rejects.toThrow();
      expect(await asked).toEqual(["asked", undefined]);
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await cut;
      expect(await ended).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("waits for answers, but not for one that does not come", async () => {
    const never: RequestListener = () => {};
    const stopping = await listen(express().use(never), WHERE, { stopTimeoutMs: 200 });
    const socket = connect(Number(new URL(stopping.url).port), "127.0.0.1");
    sockets.push(socket);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(stopping.server, "request");
    const began = performance.now();
    const cut = outcome(socket);
    await stopping.stop();
    expect(await cut).toBe("cut");
    expect(performance.now() - began).toBeGreaterThan(150);
  });

  it.each([
    ["that came before, answers each", "before", ["/1", "/2"]],
    ["whose last is still coming, does no other behind it", "after", ["/1"]],
  ])("of requests on one connection %s", async (_what, when, done) => {
    const asked: string[] = [];
    const stopping = await listen(
      express().use((request, response) => {
        asked.push(request.url);
        request.resume().once("end", () => setTimeout(() => response.end("done"), 100));
      }),
      WHERE,
    );
    const socket = connect(Number(new URL(stopping.url).port), "127.0.0.1");
    sockets.push(socket);
    const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1`;
    const [first, second] = [post("/1"), post("/2")];
    socket.write(when === "before" ? first + second : first.slice(0, -1));
    await until(() => asked.length === (when === "before" ? 2 : 1));
    const stopped = stopping.stop();
    if (when === "after") socket.write(`1${second}`);
    const answers = String(Buffer.concat(await socket.toArray()));
    await stopped;
    expect(asked).toEqual(done);
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(done.length);
    expect(answers.match(/Connection: close/g)).toHaveLength(1);
  });

  it("sends a slow client the rest of an answer that it has handed over", async () => {
    // More than the buffers of the system take.
    const bytes = Buffer.alloc(32 * 1024 * 1024, "0123456789");
    const stopping = await listen(
      express().use((_request, response) => response.end(bytes)),
      WHERE,
    );
    const [answer] = (await once(get(stopping.url), "response")) as [IncomingMessage];
    const stopped = stopping.stop();
    const whole = Buffer.concat(await answer.toArray());
    expect(whole.equals(bytes)).toBe(true);
    await stopped;
  });
});

describe("a client that is still sending when it is refused", () => {
  const refuse: RequestListener = (_request, response) => void response.writeHead(403).end("no");

  /** Sends a beginning and, once there is an answer to it, some more. @returns its first line, or what went wrong */
  async function sendOn(url: string, beginning: string): Promise<string> {
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
    sockets.push(socket);
    let outcome = "";
    const closed = once(socket, "close");
    closed.catch((error: NodeJS.ErrnoException) => {
      outcome = String(error.code);
    });
    socket.write(beginning);
    const [answer] = await once(socket, "data");
    outcome ||= String(answer).split("\r\n")[0] ?? "";
    for (const byte of "67890") {
      socket.write(byte);
      await pause(10);
    }
    socket.end();
    await closed.catch(() => {});
    return outcome;
  }

  const BODY = "Content-Length: 10\r\n\r\n12345";
  it.each([
    ["for its target", `POST //a@b HTTP/1.1\r\nHost: x\r\n${BODY}`, "400 Bad Request"],
    ["for its Host", `POST / HTTP/1.1\r\n${BODY}`, "400 Bad Request"],
    ["for what it expects", `POST / HTTP/1.1\r\nHost: x\r\nExpect: x\r\n${BODY}`, "400 Bad Request"],
    ["over HTTP/1.0", `POST / HTTP/1.0\r\nHost: x\r\n${BODY}`, "403 Forbidden"],
    ["for the length of its head", `GET / HTTP/1.1\r\nX-Long: ${"1".repeat(1_000_000)}`, "400 Bad Request"],
  ])("%s, gets to read why", async (_why, beginning, status) => {
    server = await listen(express().use(refuse), WHERE);
    expect(await sendOn(server.url, beginning)).toBe(`HTTP/1.1 ${status}`);
  });

  it("by a server that is being stopped, gets to read why", async () => {
    const stopping = await listen(
      express().use((request, response) => {
        void stopping.stop();
        refuse(request, response);
      }),
      WHERE,
    );
    const beginning = `POST / HTTP/1.1\r\nHost: x\r\n${BODY}`;
    expect(await sendOn(stopping.url, beginning)).toBe("HTTP/1.1 403 Forbidden");
  });
});

describe("a request whose body does not come to its end", () => {
  it("is cut, however often a byte of it comes", async () => {
    const socket = await begin("application/json; charset=utf-8");
    // The last byte would be there after 630 ms.
    const dripping = setInterval(() => socket.write("1"), 70);
    expect(await outcome(socket).finally(() => clearInterval(dripping))).toBe("cut");
  });

  it.each(["multipart/form-data; boundary=x", "text/csv"])("may take longer as %s", async (type) => {
    const socket = await begin(type);
    await pause(3 * bodyTimeouts.jsonMs);
    socket.write("234567890");
    expect(await outcome(socket)).toBe("HTTP/1.1 200 OK");
  });

  it("may take as long as its handler says", async () => {
    const socket = await begin("application/json", (request, response) => {
      withoutBodyDeadline(request);
      readAll(request, response);
    });
    await pause(3 * bodyTimeouts.jsonMs);
    socket.write("234567890");
    expect(await outcome(socket)).toBe("HTTP/1.1 200 OK");
  });

  it("is none of a slow answer to a whole one", async () => {
    const socket = await begin("application/json", (request, response) => {
      request.resume().once("end", () => void pause(3 * bodyTimeouts.jsonMs).then(() => response.end()));
    });
    socket.write("234567890");
    expect(await outcome(socket)).toBe("HTTP/1.1 200 OK");
  });
});
