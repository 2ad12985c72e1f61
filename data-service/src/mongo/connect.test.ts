// Connecting: what is promised for every write, what an address may change, what is said when nothing answers.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { connectStore, guaranteesFor, isTooOld } from "./connect.js";
import { allOf } from "./raw-documents.js";
import { READ_OPTIONS, readCommand, readWhole } from "./whole-answer.js";

// Set by the test run, or by whoever runs it against another MongoDB.
const URL = process.env.MONGODB_URL ?? "";
const CLOSED = /\(what listens there closed the connection: it may be another program, or want \?tls=true/;
const SILENT = /\(there was no answer in 300 ms: if something listens there, it may be another program\)/;

describe("connectStore", () => {
  it("sends every write with the promise to be on disk, whatever the address says", async () => {
    const store = await connectStore(withQuery("w=0&journal=false&readPreference=secondary"), {
      monitorCommands: true,
    });
    const sent: unknown[] = [];
    store.client.on("commandStarted", ({ command }) => sent.push(command.writeConcern));
    await store.db.collection("connect_test").deleteMany({ none: true });
    expect(sent).toEqual([store.cluster ? { w: "majority", j: true, wtimeout: 15_000 } : { w: 1, j: true }]);
    expect(store.db.readPreference.mode).toBe("primary");
    await store.close();
  });

  it("lets the address size the pool", async () => {
    const store = await connectStore(withQuery("maxPoolSize=7"));
    expect(store.client.options.maxPoolSize).toBe(7);
    await store.close();
  });

  it("reads texts that are not valid UTF-8, as other programs have stored them, with a sign for what is not", async () => {
    const store = await connectStore(URL);
    const texts = store.db.collection("connect_text");
    await texts.insertOne({ text: "caf?" });
    const [address] = store.client.options.hosts;
    // The embedded engine stores no such text.
    const door = createServer((socket) => {
      const { socketPath, host = "", port = 0 } = address ?? {};
      const inside = socketPath === undefined ? connect(port, host) : connect(socketPath);
      socket.on("data", (bytes) => inside.write(bytes));
      inside.on("data", (bytes) => socket.write(withLatin1(bytes)));
      socket.on("error", () => inside.destroy()).on("close", () => inside.destroy());
      inside.on("error", () => socket.destroy());
    }).listen(0, "127.0.0.1");
    await once(door, "listening");
    const bound = door.address();
    const port = typeof bound === "object" ? bound?.port : undefined;
    const reader = await connectStore(
      `mongodb://127.0.0.1:${port}/${store.db.databaseName}?directConnection=true`,
    );
    const read = { collection: "connect_text", pipeline: [], most: 1, maxTimeMS: 10_000 };
    const command = readCommand(reader.db, "connect_text", [], 1);
    const [first] = (await allOf(await readWhole(reader.db, read))) ?? [];
    expect([
      first?.text,
      (await reader.db.runCursorCommand(command, READ_OPTIONS).next())?.text,
      (await reader.db.collection("connect_text").findOne())?.text,
    ]).toEqual(["caf\ufffd", "caf\ufffd", "caf\ufffd"]);
    await reader.close();
    door.close();
    await texts.drop();
    await store.close();
  });

  it.each([
    [
      "mongodb://u:secret@127.0.0.1:1/x?serverSelectionTimeoutMS=300",
      /^No MongoDB answers at 127\.0\.0\.1:1 \(.+\): start it/,
    ],
    ["mongodb://localhost/?nonsense=1", /^MONGODB_URL can't be used: option nonsense is not supported\.$/],
    ["mongodb://u:secret@/x", /^MONGODB_URL can't be used: /],
    ["mongodb://u:a@secret/b@127.0.0.1:1/x", /^MONGODB_URL must read .*: encode % : \//],
    ["mongodb://u:secret/b@127.0.0.1:1/x", /^MONGODB_URL must read .*: encode % : \//],
  ])("says in one line what is wrong with %s, without its password", async (url, line) => {
    const error = await connectStore(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "ConfigError", message: expect.stringMatching(line) });
    expect(error).not.toMatchObject({ message: expect.stringContaining("secret") });
  });
});

/** A message in which an é of Latin 1 stands in the place of the question mark. */
function withLatin1(message: Buffer): Buffer {
  const at = message.indexOf("caf?");
  if (at >= 0) message[at + 3] = 0xe9;
  return message;
}

describe("what is said where another program listens", () => {
  it.each<[string, (socket: Socket) => unknown, RegExp]>([
    ["and answers in words of its own", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"), CLOSED],
    ["and says nothing", (socket) => socket.resume(), SILENT],
  ])("%s", async (_what, answer, line) => {
    const other = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => answer(socket));
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const bound = other.address();
    const port = typeof bound === "object" ? bound?.port : undefined;
    await expect(connectStore(`mongodb://127.0.0.1:${port}/x?serverSelectionTimeoutMS=300`)).rejects.toThrow(
      line,
    );
    other.close();
  });
});

describe("guarantees", () => {
  it.each([
    ["a server alone", {}, { w: 1 }],
    ["a replica set", { setName: "rs0" }, { w: "majority", wtimeoutMS: 15_000 }],
    ["a sharded cluster", { msg: "isdbgrid" }, { w: "majority", wtimeoutMS: 15_000 }],
  ])("of %s", (_, hello, concern) => {
    expect(guaranteesFor(hello).writeConcern).toEqual({ ...concern, journal: true });
  });
});

describe("isTooOld", () => {
  // Versions by their wire version: https://github.com/mongodb/specifications, "wireversion-featurelist".
  it.each([
    ["MongoDB 5.0", { maxWireVersion: 13 }, true],
    ["MongoDB 5.3", { maxWireVersion: 16 }, true],
    ["MongoDB 6.0", { maxWireVersion: 17 }, false],
    ["MongoDB 8.0", { maxWireVersion: 25 }, false],
    ["a server that does not say", {}, true],
  ])("%s", (_, hello, expected) => {
    expect(isTooOld(hello)).toBe(expected);
  });
});

function withQuery(query: string): string {
  return URL.includes("?") ? `${URL}&${query}` : `${URL}/?${query}`;
}
