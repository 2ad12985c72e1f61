// What is told of the pool of connections, also of commands that are broken off.
import { once } from "node:events";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { Registry } from "@portico/shared/metrics";
import { connectStore, type Store } from "./connect.js";
import { noteSockets } from "./database-fixture.js";
import { measurePool } from "./watch-client.js";

const connections = noteSockets();
let registry: Registry;
let store: Store;

beforeEach(async () => {
  registry = new Registry();
  store = await connectStore(process.env.MONGODB_URL ?? "", { maxPoolSize: 1 }, (client) =>
    measurePool(client, registry),
  );
});

afterEach(async () => {
  connections.stop();
  await store.close();
});

async function metricOf(name: string): Promise<number | undefined> {
  const metric = await registry.getSingleMetric(name)?.get();
  return metric?.values[0]?.value;
}

it("a command that is broken off while it waits for a connection waits no more, and has not failed", async () => {
  const things = store.db.collection("watch_client");
  await things.findOne({});
  const taken = once(store.client, "connectionCheckedOut");
  // Nothing is sent, so that the only connection stays in use.
  for (const socket of connections.sockets) socket.cork();
  const held = things.findOne({});
  await taken;
  const stop = new AbortController();
  const begun = once(store.client, "connectionCheckOutStarted");
  const waiting = things.findOne({}, { signal: stop.signal });
  const brokenOff = expect(waiting).rejects.toThrow("enough");
  await begun;
  const countWaiting = () => metricOf("portico_mongodb_connections_waiting");
  const before = await countWaiting();
  stop.abort(new Error("enough"));
  await brokenOff;
  const after = await countWaiting();
  for (const socket of connections.sockets) socket.uncork();
  await held;
  expect([before, after]).toEqual([1, 0]);
  expect(await metricOf("portico_mongodb_checkouts_failed_total")).toBe(0);
});
