// Bodies that are long in coming: one sender may not have all the places for them.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import express from "express";
import { listen, type RunningServer } from "./server.js";
import { SlowBodies } from "./slow-bodies.js";

let server: RunningServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  const slowBodies = new SlowBodies(4, 50);
  const app = express().set("trust proxy", "loopback");
  app.use((request, response) => {
    slowBodies.watch(request, response, () => {});
    request.resume().once("end", () => response.end());
  });
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** Begins to send a body. @returns what becomes of it: its sender is cut, or gets an answer by sending the rest */
function begin(address: string): { readonly isCut: Promise<unknown>; readonly end: () => Promise<string> } {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
  sockets.push(socket);
  const head = `POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Length: 2`;
  socket.write(`${head}\r\n\r\n1`);
  return {
    isCut: new Promise((resolve) => socket.once("close", resolve)),
    async end() {
      socket.write("2");
      const [answer] = await once(socket, "data");
      return String(answer).split("\r\n")[0] ?? "";
    },
  };
}

it.each([
  [
    "IPv6, whatever addresses of it they send from",
    ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1::3"],
  ],
  ["IPv4, whatever ports they send from", ["203.0.113.7:1001", "203.0.113.7:1002", "203.0.113.7:1003"]],
])("half as many may come from one network: %s", async (_which, addresses) => {
  const bodies = addresses.map(begin);
  const other = begin("2001:db8:0:2::1");
  const cut = await Promise.race(bodies.map(({ isCut }, at) => isCut.then(() => at)));
  const left = [...bodies.filter((_body, at) => at !== cut), other];
  for (const { end } of left) expect(await end()).toBe("HTTP/1.1 200 OK");
});
