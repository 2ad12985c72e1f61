// Reads in one message: when that is tried, how answers that do not fit are told apart, and what becomes of lost ones.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type CommandStartedEvent, type Db, ReadConcern } from "mongodb";
import type { Stage } from "../query/lower/document.js";
import { noteSockets, openOn, openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { allOf } from "./raw-documents.js";
import { mostAnswered, readWhole } from "./whole-answer.js";

const COLLECTION = "items";
const FORMS: [string, Stage[]][] = [
  ["find", [{ $match: {} }, { $sort: { _id: 1 } }]],
  ["aggregate", [{ $sort: { _id: 1 } }, { $addFields: { next: { $add: ["$_id", 1] } } }]],
];

let database: TestDatabase;
let commands: CommandStartedEvent[] = [];
const connections = noteSockets();
const note = (event: CommandStartedEvent): void => void commands.push(event);

beforeAll(async () => {
  database = await openTestDatabase({ monitorCommands: true });
});

afterAll(async () => {
  connections.stop();
  await database?.close();
});

beforeEach(async () => {
  const documents = [1, 2, 3].map((_id) => ({ _id }));
  await database.db.collection<{ _id: number }>(COLLECTION).insertMany(documents);
  commands = [];
  database.db.client.on("commandStarted", note);
});

afterEach(async () => {
  database.db.client.off("commandStarted", note);
  await database.db.collection(COLLECTION).drop();
});

const names = (): string[] => commands.map(({ commandName }) => commandName);

async function readAll(pipeline: Stage[], most: number, db: Db = database.db) {
  const read = { collection: COLLECTION, pipeline, most, maxTimeMS: 60_000 };
  return allOf(await readWhole(db, read));
}

describe("how many documents a pipeline answers at most", () => {
  it.each<[number, Stage[]]>([
    [5, [{ $match: { a: 1 } }, { $limit: 5 }]],
    [5, [{ $limit: 5 }, { $lookup: { from: "b", as: "b" } }, { $set: { c: 1 } }, { $project: { b: 1 } }]],
    [5, [{ $unwind: "$a" }, { $limit: 5 }, { $match: { a: 1 } }]],
    [5, [{ $limit: 100 }, { $limit: 5 }]],
    [1, [{ $match: { a: 1 } }, { $count: "value" }]],
    [Number.POSITIVE_INFINITY, []],
    [Number.POSITIVE_INFINITY, [{ $match: { a: 1 } }]],
    [Number.POSITIVE_INFINITY, [{ $limit: 5 }, { $unwind: "$a" }]],
    [Number.POSITIVE_INFINITY, [{ $limit: 5 }, { $unionWith: { coll: "b" } }, { $project: { a: 1 } }]],
  ])("%d: %j", (most, pipeline) => {
    expect(mostAnswered(pipeline)).toBe(most);
  });
});

describe.each(FORMS)("an answer by %s", (name, pipeline) => {
  it("is one command, also where it is as long as it may be", async () => {
    expect(await readAll(pipeline, 3)).toMatchObject([{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
    expect(names()).toEqual([name]);
    expect(commands[0]?.command).toMatchObject({ maxTimeMS: 60_000 });
  });

  it("is not asked for where it may be of any length", async () => {
    expect(await readAll(pipeline, Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(commands).toEqual([]);
  });

  it("is told from one that is too large for a message, of which no cursor stays open", async () => {
    const large = "x".repeat(9 * 1024 * 1024);
    await database.db.collection(COLLECTION).updateMany({}, { $set: { large } });
    commands = [];
    expect(await readAll(pipeline, 3)).toBeUndefined();
    expect(names()).toEqual([name, "killCursors"]);
    expect(await openOn(database.db, COLLECTION)).toEqual([]);
  });

  it("is asked for once more when it is lost on its way", async () => {
    database.db.client.once("commandStarted", () => {
      for (const socket of connections.sockets) socket.destroy();
    });
    expect(await readAll(pipeline, 3)).toHaveLength(3);
    expect(names().filter((each) => each === name)).toHaveLength(2);
  });

  it("is asked for no more when the database refuses it", async () => {
    const refused: Stage[] = [...pipeline, { $match: { $nonsense: 1 } }];
    await expect(readAll(refused, 3)).rejects.toThrow("$nonsense");
    expect(commands).toHaveLength(1);
  });

  it("is read with the concern that the database's address names", async () => {
    const { client, databaseName } = database.db;
    const db = client.db(databaseName, { readConcern: new ReadConcern("available") });
    await readAll(pipeline, 3, db);
    expect(commands.map(({ command }) => command.readConcern)).toEqual([{ level: "available" }]);
  });
});
