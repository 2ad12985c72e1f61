// A page holds as many records as it asks for, however large they are; the data service holds a few of them at a time.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const RECORDS = 200;
const TEXT = "x".repeat(1_000_000);
/** A value that takes many times the memory of its text. */
const OBJECTS = Array.from({ length: 50_000 }, () => ({ a: 1 }));
/** As many records with such a value as the database sends in one message. */
const LISTS = 17;
/** Less than what the records take. */
const HEAP_MIB = 96;

let stack: Stack;
let admin: Api;
let token: string;

beforeAll(async () => {
  stack = await startStack({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  admin = await asAdmin(stack);
  token = (await apiOf(stack.dataUrl).post("/auth/login", stack.admin)).body.accessToken;
  const columns = [
    { name: "text", type: "text" },
    { name: "place", type: "int" },
  ];
  await admin.post("/svc_table", { name: "pages", columns, indexes: [["place"]] });
  expect((await admin.post("/pages", { text: TEXT, place: 0 })).status).toBe(201);
  const client = await MongoClient.connect(stack.mongodbUrl);
  const pages = client.db().collection("pages");
  const { _id, ...like } = (await pages.findOne({})) ?? {};
  for (let place = 1; place < RECORDS; place += 1)
    await pages.insertOne({ ...like, _id: new ObjectId(), place });
  await admin.post("/svc_table", { name: "lists", columns: [{ name: "value", type: "json" }] });
  expect((await admin.post("/lists", { value: OBJECTS })).status).toBe(201);
  const lists = client.db().collection("lists");
  const list = (await lists.findOne({})) ?? {};
  for (let more = 1; more < LISTS; more += 1) await lists.insertOne({ ...list, _id: new ObjectId() });
  await client.close();
});

afterAll(() => stack?.stop());

/** How long an answer is, and how it ends; nobody holds it here, either. */
async function lengthOf(path: string): Promise<{ bytes: number; end: string }> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${stack.dataUrl}${path}`, { headers });
  expect(answer.status).toBe(200);
  let [bytes, end] = [0, ""];
  for await (const piece of answer.body ?? []) {
    bytes += piece.length;
    end = (end + Buffer.from(piece.subarray(-4)).toString()).slice(-4);
  }
  return { bytes, end };
}

test.each([["/pages?limit=1000"], ["/pages?limit=1000&sort=-place"]])(
  "a page of many large records is answered whole, to several at once: %s",
  async (path) => {
    const one = JSON.stringify((await admin.get("/pages", { limit: "1" })).body.data[0]).length;
    for (const { bytes, end } of await Promise.all([1, 2, 3].map(() => lengthOf(path)))) {
      expect(end).toBe('"}]}');
      expect(bytes).toBeGreaterThan(RECORDS * one);
      expect(bytes).toBeLessThan(RECORDS * (one + 10));
    }
  },
);

test("a page of large JSON values is answered whole, to several at once", async () => {
  const one = JSON.stringify((await admin.get("/lists", { limit: "1" })).body.data[0]).length;
  for (const { bytes, end } of await Promise.all([1, 2, 3].map(() => lengthOf("/lists?limit=100")))) {
    expect(end).toBe('"}]}');
    expect(bytes).toBeGreaterThan(LISTS * one);
  }
});

describe("related records with large JSON values", () => {
  beforeAll(async () => {
    const { data } = (await admin.get("/lists", { fields: "id", limit: "0" })).body;
    const relations = [{ name: "list", type: "many-to-one", table: "lists" }];
    const owners = data.map(({ id }: { id: string }) => ({ list: id }));
    expect((await admin.post("/svc_table", { name: "owners", columns: [], relations })).status).toBe(201);
    expect((await admin.post("/owners", owners)).status).toBe(201);
  });

  test("are shown a few at a time where they are too many to be held at once", async () => {
    const { bytes, end } = await lengthOf("/owners?fields=list.value&limit=100&sort=id");
    expect(bytes).toBeGreaterThan(LISTS * 400_000);
    expect(end).toBe("}}]}");
  });
});
