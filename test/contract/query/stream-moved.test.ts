// What a list in the order of its ids shows of records that others move meanwhile within the index by which the database finds
// them: each of them once.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Collection, MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { makeTable } from "../records/make.js";

const JOBS = 400;
/** So many that the database doesn't go through all records in the order of their ids. */
const OTHERS = 20_000;
/** The database takes long to look for something in it. */
const TEXT = "x".repeat(100_000);
/** Asks an index for the jobs, and each of them for its text. */
const FILTER = { rank: { _gt: 0 }, _not: { text: { _contains: "y" } } };

let stack: Stack;
let admin: Api;
let client: MongoClient;
let jobs: Collection<{ _id: number; rank: number; text?: string; mark?: string }>;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, {
    name: "jobs",
    idType: "int",
    columns: [
      { name: "rank", type: "int" },
      { name: "mark", type: "string" },
      { name: "text", type: "text" },
    ],
    indexes: [["rank"]],
  });
  client = await MongoClient.connect(stack.mongodbUrl);
  jobs = client.db().collection("jobs");
  await jobs.insertMany(Array.from({ length: OTHERS }, (_, at) => ({ _id: at + 1 - OTHERS, rank: 0 })));
  for (let at = 0; at < JOBS; at += 100)
    await jobs.insertMany(
      Array.from({ length: 100 }, (_, more) => ({ _id: at + more + 1, rank: at + more + 1, text: TEXT })),
    );
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

/** While something is asked, the jobs that come first in the index are moved behind all others, which moves none in or out. */
async function whileMoved<Result>(ask: () => Promise<Result>): Promise<Result> {
  let isOver = false;
  const answer = ask().finally(() => {
    isOver = true;
  });
  for (let rank = JOBS + 1; !isOver; rank += 1) {
    await jobs.findOneAndUpdate({ rank: { $gt: 0 } }, { $set: { rank } }, { sort: { rank: 1 } });
    await delay(1);
  }
  return answer;
}

it.each([
  ["list", {}],
  ["file", { format: "csv" }],
])("none comes twice in a %s", async (_name, format) => {
  const query = { filter: FILTER, fields: "id", limit: 0, ...format };
  const { body } = await whileMoved(() => admin.get("/jobs", query));
  const ids: string[] =
    typeof body === "string"
      ? body.trim().split("\r\n").slice(1)
      : body.data.map(({ id }: { id: number }) => id);
  expect(ids.length).toBeGreaterThan(JOBS / 2);
  expect(ids).toEqual([...new Set(ids)]);
});

it("none is changed twice by one request, nor counted", async () => {
  const { status, body } = await whileMoved(() => admin.patch("/jobs", { mark: "seen" }, { filter: FILTER }));
  expect(status).toBe(200);
  const marked = await jobs.countDocuments({ mark: "seen" });
  expect(body.meta).toEqual({ matched: marked, changed: marked });
});
