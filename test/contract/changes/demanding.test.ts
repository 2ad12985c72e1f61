// Contract 5.3: streams whose filters ask the database for much leave it to the requests as well.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin, search } from "../../support/api.js";
import { CHANGES, type EventSource, openEvents } from "../../support/event-source.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make } from "../records/make.js";
import { makePostsWithComments } from "./posts.js";

const STREAMS = 24;
const COMMENTS = 500;
/** Judgements that the database works at: four, and one that is just ending. */
const MOST_AT_ONCE = 5;

let stack: Stack;
let admin: Api;
let client: MongoClient;
const sources: EventSource[] = [];

beforeAll(async () => {
  stack = await startStack({ env: { QUERY_TIMEOUT_MS: "60000" } });
  admin = await asAdmin(stack);
  await makePostsWithComments(admin);
  await make(admin, "posts", { title: "first" });
  client = await MongoClient.connect(stack.mongodbUrl);
  await client
    .db()
    .collection<{ _id: number; text: string; postId: number }>("comments")
    .insertMany(
      Array.from({ length: COMMENTS }, (_, at) => ({ _id: at + 1, text: "lorem ".repeat(40), postId: 1 })),
    );
});

afterAll(async () => {
  for (const source of sources) source.close();
  await client?.close();
  await stack?.stop();
});

/** Each looks through all comments of a post many times, and matches. */
function open(stream: number): Promise<EventSource> {
  const none = Array.from({ length: 15 }, (_, at) => ({
    comments: { text: { _contains: `none ${stream} ${at}` } },
  }));
  const filter = { _or: [...none, { title: { _neq: "" } }] };
  return openEvents(`${stack.dataUrl}/posts/changes${search({ fields: "title", filter })}`);
}

/** How many judgements the database works at. */
async function atWork(): Promise<number> {
  const ns = { $regex: `^${client.db().databaseName}\\.\\$cmd\\.aggregate$` };
  const { inprog } = await client.db("admin").command({ currentOp: 1, active: true, ns });
  return inprog.length;
}

it("judges a few at a time, and tells every stream", async () => {
  for (let stream = 0; stream < STREAMS; stream += 1) sources.push(await open(stream));
  let isOver = false;
  const told = Promise.all(sources.map((source) => source.first(1, ...CHANGES))).finally(() => {
    isOver = true;
  });
  expect((await admin.patch("/posts/1", { title: "second" })).status).toBe(200);
  let most = 0;
  while (!isOver) most = Math.max(most, await atWork());
  const titles = (await told).map(([event]) => [event?.event, event?.data.record.title]);
  expect(titles).toEqual(Array(STREAMS).fill(["updated", "second"]));
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(MOST_AT_ONCE);
});
