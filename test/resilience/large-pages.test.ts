// A page holds as many records as it asks for, however large they are; the data service holds a few of them at a time.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const RECORDS = 200;
const TEXT = "x".repeat(1_000_000);
/** Less than what the records take. */
const HEAP_MIB = 128;

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  admin = await asAdmin(stack);
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
  await client.close();
}, 60_000);

afterAll(() => stack?.stop());

/** How long an answer is, and how it ends; nobody holds it here, either. */
async function lengthOf(path: string): Promise<{ bytes: number; end: string }> {
  const { body } = await apiOf(stack.dataUrl).post("/auth/login", stack.admin);
  const headers = { authorization: `Bearer ${body.accessToken}` };
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
  60_000,
);
