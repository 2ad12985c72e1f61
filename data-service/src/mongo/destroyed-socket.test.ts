// A server that goes destroys its connections some moments before they say so: no command may be lost in between.
import { afterEach, expect, it } from "@jest/globals";
import { connectStore, type Store } from "./connect.js";
import { noteSockets } from "./database-fixture.js";

const LONGEST_MS = 10_000;

let store: Store | undefined;
const connections = noteSockets();

afterEach(async () => {
  connections.stop();
  await store?.close();
});

it("a command on a connection that was destroyed this moment is sent again, and waits for nothing", async () => {
  store = await connectStore(process.env.MONGODB_URL ?? "", { maxPoolSize: 1 });
  const things = store.db.collection("destroyed_socket");
  await things.findOne({});
  expect(connections.sockets.length).toBeGreaterThan(0);
  for (const socket of connections.sockets) socket.destroy();
  const answer = things.findOne({}).then(() => "answered");
  const late = new Promise((resolve) => setTimeout(resolve, LONGEST_MS, "nothing").unref());
  expect(await Promise.race([answer, late])).toBe("answered");
});
