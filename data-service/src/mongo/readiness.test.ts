// A database is there as long as it answers, however many wait for it.
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { clientAside } from "./aside.js";
import { connectStore, type Store } from "./connect.js";
import { Readiness } from "./readiness.js";

const SLOW = { $sum: { $map: { input: { $range: [0, 3_000_000] }, in: { $mod: ["$$this", 7] } } } };

describe("readiness", () => {
  let store: Store | undefined;
  let silent: Server | undefined;
  afterEach(async () => {
    await store?.close();
    silent?.close();
    store = undefined;
  });

  it("does not depend on a free connection of those that serve requests", async () => {
    store = await connectStore(process.env.MONGODB_URL ?? "", { maxPoolSize: 1, waitQueueTimeoutMS: 200 });
    const held = store.db.aggregate([{ $documents: [{}] }, { $project: { value: SLOW } }]).toArray();
    await expect(store.db.command({ ping: 1 })).rejects.toMatchObject({ name: "MongoWaitQueueTimeoutError" });
    expect(await Promise.all([store.isReady(), store.isReady()])).toEqual([true, true]);
    await held;
    expect(await store.isReady()).toBe(true);
  });

  it("ends where a server takes connections and says nothing, and before a probe gives up", async () => {
    const sockets: Socket[] = [];
    silent = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const client = clientAside(`mongodb://127.0.0.1:${port}/?directConnection=true`, {});
    const readiness = new Readiness(client);
    const given = new Promise((resolve) => setTimeout(resolve, 2_000, "too late").unref());
    expect(await Promise.race([readiness.ask(), given])).toBe(false);
    for (const socket of sockets) socket.destroy();
    await client.close();
  });
});
