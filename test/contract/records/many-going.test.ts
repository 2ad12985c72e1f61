// A delete that takes more records along than one command of the database can name: all go, or none.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, read } from "./make.js";

const MEMBERS = 12_000;
/** The ids of all of them together weigh more than the 16 MB of a command. */
const ID_LENGTH = 1_400;
/** A machine that has much to do takes minutes over so many. */
const PATIENCE_MS = 300_000;

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  // Not through the gateway, which waits for half a minute.
  admin = await signIn(stack.dataUrl, stack.admin);
  client = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

/** A club, its members, and lists of some of them; names begin with `prefix`. */
async function makeClub(prefix: string, more: object = {}): Promise<{ club: string; ids: string[] }> {
  const [clubs, members, lists] = [`${prefix}_clubs`, `${prefix}_members`, `${prefix}_lists`];
  await makeTable(admin, { name: clubs, columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: members,
    idType: "string",
    columns: [{ name: "name", type: "string" }],
    relations: [
      { name: "club", type: "many-to-one", table: clubs, inverse: "members", onDelete: "CASCADE" },
      { name: "mentor", type: "many-to-one", table: members, inverse: null, ...more },
    ],
  });
  await makeTable(admin, {
    name: lists,
    columns: [{ name: "name", type: "string" }],
    relations: [{ name: "members", type: "many-to-many", table: members, inverse: null }],
  });
  const { id: club } = await make(admin, clubs, { name: "club" });
  const ids = Array.from({ length: MEMBERS }, (_, at) => `${at}`.padStart(ID_LENGTH, "p"));
  const inClub = (await client.db().collection(clubs).findOne())?._id;
  const mentorId = ids.at(-1);
  const documents = ids.map((_id) => ({ _id, clubId: inClub, mentorId }));
  await client.db().collection<{ _id: string }>(members).insertMany(documents);
  return { club, ids };
}

/** One more of them, in no club. */
async function stay(members: string, mentorId: string | undefined): Promise<void> {
  await client
    .db()
    .collection<{ _id: string; mentorId: string | undefined }>(members)
    .insertOne({ _id: "stays", mentorId });
}

it(
  "takes all of them along, and out of every list",
  async () => {
    const { club, ids } = await makeClub("open", { onDelete: "SET NULL" });
    const [first = "", middle = "", last = ""] = [ids[0], ids[MEMBERS / 2], ids.at(-1)];
    await stay("open_members", last);
    const list = await make(admin, "open_lists", { members: [first, middle, "stays", last] });
    expect((await admin.delete(`/open_clubs/${club}`)).status).toBe(200);
    expect(await client.db().collection("open_members").distinct("_id")).toEqual(["stays"]);
    expect(await read(admin, "open_members", "stays")).toMatchObject({ mentor: null });
    expect(await read(admin, "open_lists", list.id, "members.id")).toMatchObject({
      members: [{ id: "stays" }],
    });
  },
  PATIENCE_MS,
);

it(
  "takes all of them along where they stand against each other's delete, and nobody else's",
  async () => {
    const { club, ids } = await makeClub("held", { onDelete: "RESTRICT" });
    await stay("held_members", ids.at(-1));
    expect((await admin.delete(`/held_clubs/${club}`)).status).toBe(409);
    expect(await client.db().collection("held_members").countDocuments()).toBe(MEMBERS + 1);
    await admin.patch("/held_members/stays", { mentor: null });
    expect((await admin.delete(`/held_clubs/${club}`)).status).toBe(200);
    expect(await client.db().collection("held_members").distinct("_id")).toEqual(["stays"]);
  },
  PATIENCE_MS,
);
