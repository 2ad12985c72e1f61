// A server that goes destroys its connections some moments before they say so: no command may be lost in between.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { afterEach, expect, it } from "@jest/globals";
import { connectStore, type Store } from "./connect.js";

const LONGEST_MS = 10_000;
const NEW_SOCKETS = "net.client.socket";

let store: Store | undefined;
const sockets: Socket[] = [];
const note = (message: unknown): void => {
  if (typeof message !== "object" || message === null || !("socket" in message)) return;
  if (message.socket instanceof Socket) sockets.push(message.socket);
};

afterEach(async () => {
  unsubscribe(NEW_SOCKETS, note);
  await store?.close();
});

it("a command on a connection that was destroyed this moment is sent again, and waits for nothing", async () => {
  subscribe(NEW_SOCKETS, note);
  store = await connectStore(process.env.MONGODB_URL ?? "", { maxPoolSize: 1 });
  const things = store.db.collection("destroyed_socket");
  await things.findOne({});
  expect(sockets.length).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  const answer = things.findOne({}).then(() => "answered");
  const late = new Promise((resolve) => setTimeout(resolve, LONGEST_MS, "nothing").unref());
  expect(await Promise.race([answer, late])).toBe("answered");
});
