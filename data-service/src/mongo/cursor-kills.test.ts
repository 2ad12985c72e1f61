// A cursor that can't be ended at once is ended later.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { clientAside } from "./aside.js";
import { CursorKills } from "./cursor-kills.js";
import { openOn, openTestDatabase, type TestDatabase } from "./database-fixture.js";

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.collection<{ _id: number }>("items").insertMany([{ _id: 1 }, { _id: 2 }]);
});

afterAll(() => database.close());

/** A port behind which the database is reached as soon as the server listens. */
async function detour(): Promise<{ readonly server: Server; readonly port: number }> {
  const [where] = database.db.client.options.hosts;
  if (where === undefined) throw new Error("the database has no address");
  const server = createServer((socket) => {
    const { host, port = 27_017, socketPath } = where;
    const behind = socketPath === undefined ? connect(port, host) : connect(socketPath);
    socket.on("error", () => behind.destroy()).pipe(behind);
    behind.on("error", () => socket.destroy()).pipe(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return { server, port: address.port };
}

describe("a cursor that nobody reads any more", () => {
  it("is ended when the database can be reached again", async () => {
    const { server, port } = await detour();
    await new Promise((resolve) => server.close(resolve));
    // Gives up at once, so that it is asked a second time.
    const impatient = { serverSelectionTimeoutMS: 50 };
    const aside = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, impatient);
    const kills = new CursorKills(aside.db(database.db.databaseName));
    const cursor = database.db.collection("items").find({}, { batchSize: 1 });
    try {
      await cursor.next();
      if (cursor.id === undefined) throw new Error("the cursor is not open");
      const killed = kills.kill("items", cursor.id);
      await delay(100);
      expect(await openOn(database.db, "items")).toHaveLength(1);
      await once(server.listen(port, "127.0.0.1"), "listening");
      await killed;
      expect(await openOn(database.db, "items")).toEqual([]);
    } finally {
      await Promise.all([cursor.close(), aside.close()]);
      server.close();
    }
  });

  it("keeps no service from stopping", async () => {
    const aside = clientAside("mongodb://127.0.0.1:1/?directConnection=true", {});
    const kills = new CursorKills(aside.db("any"));
    const cursor = database.db.collection("items").find({}, { batchSize: 1 });
    await cursor.next();
    if (cursor.id === undefined) throw new Error("the cursor is not open");
    const killed = kills.kill("items", cursor.id);
    kills.close();
    await aside.close();
    await killed;
    await cursor.close();
  });

  it("may be one of many: Node does not take them for a leak", async () => {
    const program = `
      import { setTimeout as delay } from "node:timers/promises";
      import { CursorKills } from ${JSON.stringify(new URL("cursor-kills.js", import.meta.url).href)};
      const kills = new CursorKills({ client: { connect: () => Promise.reject(new Error("away")) } });
      const killed = Promise.all(Array.from({ length: 20 }, () => kills.kill("items", 1)));
      await delay(50);
      kills.close();
      await killed;
    `;
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
    expect(await run).toEqual({ stdout: "", stderr: "" });
  });
});
