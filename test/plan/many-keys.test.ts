// Filters through relations with more keys than one command of the database holds.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { makeTable } from "../contract/records/make.js";
import { type Api, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const GROUPS = 20;
const PEOPLE = 2_000;
/** All links together weigh more than the 16 MB of a command, and the ids alone a good part of them. */
const ID_LENGTH = 500;

describe("filters through relations with very many keys", () => {
  let stack: Stack;
  let client: MongoClient;
  let root: Api;

  beforeAll(async () => {
    stack = await startStack();
    root = await asAdmin(stack);
    await makeTable(root, { name: "people", idType: "string", columns: [{ name: "name", type: "string" }] });
    await makeTable(root, {
      name: "groups",
      idType: "int",
      columns: [{ name: "name", type: "string" }],
      relations: [{ name: "members", type: "many-to-many", table: "people", inverse: "groups" }],
    });
    client = await MongoClient.connect(stack.mongodbUrl);
    const members = Array.from({ length: PEOPLE }, (_, at) => `${at}`.padStart(ID_LENGTH, "p"));
    const people = client.db().collection<{ _id: string; name: string }>("people");
    await people.insertMany(members.map((_id, at) => ({ _id, name: `person ${at}` })));
    await people.insertOne({ _id: "alone", name: "alone" });
    const groups = client.db().collection<{ _id: number; name: string; membersIds: string[] }>("groups");
    for (let at = 0; at < GROUPS; at += 1) {
      await groups.insertOne({ _id: at, name: `group ${at}`, membersIds: members });
    }
  });

  afterAll(async () => {
    await client?.close();
    await stack?.stop();
  });

  const count = async (filter: unknown): Promise<[number, unknown]> => {
    const query = { filter, limit: "1", fields: "name", meta: "filterCount" };
    const { status, body } = await root.get("/people", query);
    return [status, body.meta?.filterCount];
  };

  test("a few records that each link to very many are no few keys", async () => {
    expect(await count({ groups: {} })).toEqual([200, PEOPLE]);
    expect(await count({ _not: { groups: {} } })).toEqual([200, 1]);
  });

  test("the keys of many relations of one filter find room together, or are not asked into one command", async () => {
    const each = Array.from({ length: GROUPS }, (_, at) => ({ groups: { name: `group ${at}` } }));
    expect(await count({ _and: each })).toEqual([200, PEOPLE]);
    expect(await count({ _not: { _or: each } })).toEqual([200, 1]);
  });
});
