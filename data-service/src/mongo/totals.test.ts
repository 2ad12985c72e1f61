import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type CommandStartedEvent, type Db, MongoClient, ObjectId } from "mongodb";
import { serverIdentity, Totals } from "./totals.js";

describe("the number of records", () => {
  let client: MongoClient;
  let db: Db;
  let sent: string[];
  let server: string | undefined;

  beforeAll(async () => {
    const url = process.env.MONGODB_URL;
    if (url === undefined) throw new Error("MONGODB_URL is set by the test run");
    client = await MongoClient.connect(url, { monitorCommands: true });
    client.on("commandStarted", ({ commandName }: CommandStartedEvent) => sent.push(commandName));
    db = client.db(`test_${new ObjectId().toHexString()}`);
  });

  afterAll(async () => {
    await db.dropDatabase();
    await client.close();
  });

  beforeEach(async () => {
    sent = [];
    server = "first run";
    await db.dropDatabase();
    await db.collection("books").insertMany([{}, {}, {}]);
  });

  const exactly = () => db.collection("books").countDocuments();
  const make = (mend = false) => new Totals(db, async () => server, mend);

  it("is counted once, and known from then on, whatever is written", async () => {
    const totals = make();
    expect(await totals.known("books")).toBeUndefined();
    expect(await totals.count("books", exactly)).toBe(3);
    await db.collection("books").insertOne({});
    sent = [];
    expect([await totals.known("books"), sent]).toEqual([4, ["count"]]);
  });

  it("is counted again when another run of the server answers", async () => {
    const totals = make();
    await totals.count("books", exactly);
    server = "second run";
    expect(await totals.known("books")).toBeUndefined();
  });

  it("is always counted where runs of the server can't be told apart", async () => {
    const totals = make();
    server = undefined;
    expect(await totals.count("books", exactly)).toBe(3);
    expect(await totals.known("books")).toBeUndefined();
  });

  it("is not believed when counting says otherwise", async () => {
    const totals = make();
    expect(await totals.count("books", async () => 5)).toBe(5);
    expect(await totals.known("books")).toBeUndefined();
    expect(sent).not.toContain("validate");
  });

  it("is put right on an engine of our own when counting says otherwise", async () => {
    const validating = new Promise<string>((resolve) => {
      client.on(
        "commandStarted",
        (event) => event.commandName === "validate" && resolve(event.command.validate),
      );
    });
    await make(true).count("books", async () => 5);
    expect(await validating).toBe("books");
  });

  it("belongs to an engine of ours as long as we live, and to no server that does not tell its runs apart", async () => {
    expect(await serverIdentity(db, true)()).toBe("ours");
    const hello = await db.admin().command({ hello: 1 });
    const expected =
      hello.topologyVersion === undefined ? undefined : String(hello.topologyVersion.processId);
    expect(await serverIdentity(db, false)()).toBe(expected);
  });
});
