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
    { headersTimeout: 100, requestTimeout: 0, connectionsCheckingInterval: 20 },
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
