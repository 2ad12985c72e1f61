// Contract 5.3: a stream of large records holds some of them at a time, however slowly its client reads.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin, search } from "../../support/api.js";
import { holdEvents, openEvents } from "../../support/event-source.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { makePostsWithComments } from "./posts.js";

/** With their comments, more than all buffers on the way hold, and less than the database sends in one message. */
const POSTS = 60;
const LETTERS_OF_COMMENT = 250_000;

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makePostsWithComments(admin);
  client = await MongoClient.connect(stack.mongodbUrl);
}, 120_000);

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

it("reads each record when its client comes to it, and tells all of them", async () => {
  const deep = { comments: { limit: 0 } };
  const url = `${stack.dataUrl}/posts/changes${search({ fields: "id,comments.text", deep })}`;
  const begin = await openEvents(url);
  begin.close();
  const posts = Array.from({ length: POSTS }, (_, at) => ({ title: `Post ${at + 1}` }));
  expect((await admin.post("/posts", posts)).status).toBe(201);
  const text = "x".repeat(LETTERS_OF_COMMENT);
  const comments = posts.map((_, at) => ({ _id: at + 1, text, postId: at + 1 }));
  await client.db().collection<(typeof comments)[number]>("comments").insertMany(comments);
  const held = await holdEvents(url, {}, begin.lastEventId);
  await until(held.come, (bytes) => bytes > 10_000);
  expect((await admin.delete(`/comments/${POSTS}`)).status).toBe(200);
  const source = held.read();
  const told = await source.first(POSTS, "created");
  source.close();
  const shown = told.map(({ data: { record } }) => record.comments.length);
  expect(shown).toEqual([...Array(POSTS - 1).fill(1), 0]);
}, 90_000);
