// What comes behind a request that could not be read, or behind the last one of a connection, is never done.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, it } from "@jest/globals";
import { onlyPaths, refuseMalformed } from "./refuse-malformed.js";

let server: Server;
let socket: Socket;
/** The paths that reached the handler. */
let asked: string[];

afterEach(async () => {
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** A server that answers `/slow` when the heads of requests have long been late, and everything else at once. */
async function open(): Promise<void> {
  asked = [];
  server = createServer(
    { headersTimeout: 100, requestTimeout: 0, connectionsCheckingInterval: 20, requireHostHeader: false },
    onlyPaths(({ url = "" }, response) => {
      asked.push(url);
      setTimeout(() => response.end("done"), url === "/slow" ? 400 : 0);
    }),
  );
  refuseMalformed(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
}

const head = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n`;

it("a request whose head came too late gets one answer, and is not done when the rest of it comes", async () => {
  await open();
  socket.write(head("/late"));
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 .*took too long/s);
  const left = once(socket, "end");
  socket.write("\r\n");
  await left;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(asked).toEqual([]);
});

it("a late head ends nothing that is under way, and what it belongs to is not done", async () => {
  await open();
  socket.write(`${head("/slow")}\r\n${head("/late")}`);
  setTimeout(() => socket.write("\r\n"), 250);
  const answer = String(Buffer.concat(await socket.toArray()));
  expect(answer).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*done$/s);
  expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(asked).toEqual(["/slow"]);
});

const post = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`;

/** What came: the first line of each answer, and what the connection was told of its end. */
const summary = (answers: string) => answers.match(/HTTP\/1\.1 \d+|Connection: close/g);

it.each([
  ["bytes that are no request", "}"],
  ["a request whose body breaks off", `${head("/broken")}Transfer-Encoding: chunked\r\n\r\nx`],
])("each whole request before %s gets its own answer", async (_what, rest) => {
  await open();
  socket.write(post("/slow") + post("/2") + post("/3") + rest);
  const answers = String(Buffer.concat(await socket.toArray()));
  const ok = "HTTP/1.1 200";
  expect(summary(answers)).toEqual([ok, ok, ok, "Connection: close"]);
  expect(asked.slice(0, 3)).toEqual(["/slow", "/2", "/3"]);
});

it.each([
  ["no Host", "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"],
  ["another target than a path", "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"],
  ["an unknown wish", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}"],
])("what comes behind a request with %s is not done", async (_what, refused) => {
  await open();
  socket.write(post("/1") + refused + post("/2"));
  const answers = String(Buffer.concat(await socket.toArray()));
  expect(summary(answers)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400", "Connection: close"]);
  expect(asked).toEqual(["/1"]);
});

it("a body that breaks off is refused, also where its request was to be the last", async () => {
  await open();
  socket.write(`${head("/body")}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\nx`);
  expect(summary(String(Buffer.concat(await socket.toArray())))).toEqual([
    "HTTP/1.1 400",
    "Connection: close",
  ]);
});
