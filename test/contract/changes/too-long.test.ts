// Contract 5.3: changes that can't be judged within QUERY_TIMEOUT_MS, together or alone, stop no stream.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin, search } from "../../support/api.js";
import { type EventSource, openEvents } from "../../support/event-source.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make } from "../records/make.js";
import { makePostsWithComments } from "./posts.js";

const TIMEOUT_MS = 1_000;
/** Comments of two posts: to look through those of one takes a small part of the time, through those of the other far more. */
const [FEW, MANY] = [50, 20_000];
const CHANGES = 30;

let stack: Stack;
let admin: Api;
let client: MongoClient;
let url: string;
let source: EventSource | undefined;

beforeAll(async () => {
  stack = await startStack({ env: { QUERY_TIMEOUT_MS: String(TIMEOUT_MS) } });
  admin = await asAdmin(stack);
  await makePostsWithComments(admin);
  for (const title of ["few", "many", "none"]) await make(admin, "posts", { title });
  client = await MongoClient.connect(stack.mongodbUrl);
  const comments = Array.from({ length: FEW + MANY }, (_, at) => ({
    _id: at + 1,
    text: "lorem ".repeat(40),
    postId: at < FEW ? 1 : 2,
  }));
  await client.db().collection<(typeof comments)[number]>("comments").insertMany(comments);
  const none = Array.from({ length: 15 }, (_, at) => ({ comments: { text: { _contains: `none ${at}` } } }));
  const filter = { _or: [...none, { title: { _neq: "" } }] };
  url = `${stack.dataUrl}/posts/changes${search({ fields: "title", filter })}`;
});

afterEach(() => source?.close());

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

async function follow(from?: string): Promise<EventSource> {
  source = await openEvents(url, {}, from);
  return source;
}

const warnings = () => stack.dataService.log().split("a change can't be judged in time").length - 1;

it("tells changes in parts that take longer together", async () => {
  const before = await follow();
  before.close();
  for (let at = 0; at < CHANGES; at += 1) await admin.patch("/posts/1", { title: `few ${at}` });
  const events = await follow(before.lastEventId);
  const told = await events.first(CHANGES, "updated");
  expect(told.map(({ data }) => data.revision)).toEqual(told.map((_, at) => at + 2));
  expect(warnings()).toBe(0);
});

it("says `reset` for one that takes longer alone, goes on behind it, and logs it", async () => {
  const events = await follow();
  await admin.patch("/posts/2", { title: "much" });
  await events.first(1, "reset");
  await admin.patch("/posts/3", { title: "nothing" });
  const [updated] = await events.first(1, "updated");
  expect(updated?.data.record).toEqual({ title: "nothing" });
  expect(warnings()).toBe(1);
});
