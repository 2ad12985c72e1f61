// A set of links in place of more links than can be noted before they are let go of.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { makeTable, read } from "./make.js";

const STAFF = 15_000;
/** The ids of all of them together weigh more than the 16 MB of a note, and of a command. */
const ID_LENGTH = 1_400;

let stack: Stack;
let admin: Api;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
  const table = { idType: "string", columns: [{ name: "name", type: "string" }] };
  await makeTable(admin, { ...table, name: "firms" });
  const firm = { name: "firm", type: "many-to-one", table: "firms", inverse: "staff" };
  await makeTable(admin, { ...table, name: "people", relations: [firm] });
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const documents = (table: string) => db.collection<{ _id: string; name?: string; firmId?: string }>(table);

it("a change that would let go of so many is refused, and the record has its former values again", async () => {
  const firm = "firm";
  await documents("firms").insertOne({ _id: firm, name: "before" });
  const people = Array.from({ length: STAFF }, (_, at) => ({
    _id: `${at}`.padStart(ID_LENGTH, "p"),
    firmId: firm,
  }));
  await documents("people").insertMany(people);
  const { status, body } = await admin.patch(`/firms/${firm}`, { name: "half", staff: [] });
  expect([status, body.message]).toEqual([
    400,
    expect.stringMatching(/^This changes more links .* \(16 MB\)/),
  ]);
  expect(await read(admin, "firms", firm, "name")).toEqual({ name: "before" });
  expect(await documents("people").countDocuments({ firmId: firm })).toBe(STAFF);
  expect(await unfinishedIn(db)).toBe(0);
});
