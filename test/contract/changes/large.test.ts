// Contract 5.3: a stream of large records holds some of them at a time, however slowly its client reads.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin, search } from "../../support/api.js";
import { holdEvents, openEvents } from "../../support/event-source.js";
import { bytesInSockets, pidOf, residentBytes } from "../../support/process-facts.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { makeTable } from "../records/make.js";
import { makePostsWithComments } from "./posts.js";

/** With their comments, more than all buffers on the way hold, and less than the database sends in one message. */
const POSTS = 60;
const LETTERS_OF_COMMENT = 250_000;

/** Of which many are told together, and more than all buffers on the way hold. */
const LETTERS_OF_LETTER = 10_000;
const LETTERS = 100;
const LETTERS_MADE = 1_500;
/** What may pass until an answer that lasts is looked at again, and something for a busy machine. */
const LOOKED_AT_MS = 4_500;
/** By then the service waits for its client. */
const STOOD_STILL_MS = 500;
/** What waits in the service for the socket, and the event that is being sent. */
const MOST_IN_PROCESS = 100_000;

/** Of one post, with comments of 10 MB: a gigabyte is told of them. */
const CHANGES_TOGETHER = 100;
const COMMENTS_OF_ONE = 40;
const MOST_MEMORY = 300_000_000;

const text = "x".repeat(LETTERS_OF_COMMENT);

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makePostsWithComments(admin);
  client = await MongoClient.connect(stack.mongodbUrl);
});

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
});

it("holds a large record once for all of its changes that are told together", async () => {
  const url = `${stack.dataUrl}/posts/changes${search({ fields: "title,comments.text", deep: { comments: { limit: 0 } } })}`;
  const [post] = (await admin.post("/posts", { title: "0" })).body.data;
  const comments = Array.from({ length: COMMENTS_OF_ONE }, () => ({ text, post: post.id }));
  for (const comment of comments) expect((await admin.post("/comments?fields=id", comment)).status).toBe(201);
  const begin = await openEvents(url);
  begin.close();
  for (let at = 1; at <= CHANGES_TOGETHER; at += 1)
    expect((await admin.patch(`/posts/${post.id}`, { title: String(at) })).status).toBe(200);
  const pid = pidOf(stack.dataService.process);
  const before = await residentBytes(pid);
  const held = await holdEvents(url, {}, begin.lastEventId);
  await until(held.come, (bytes) => bytes > 10_000);
  expect((await residentBytes(pid)) - before).toBeLessThan(MOST_MEMORY);
  const source = held.read();
  const told = await source.first(3, "updated");
  source.close();
  const shown = told.map(({ data }) => [data.event, data.id, data.record.title, data.record.comments.length]);
  expect(shown).toEqual(Array(3).fill(["updated", post.id, String(CHANGES_TOGETHER), COMMENTS_OF_ONE]));
});

it("tells a client that reads slowly nothing more by rules that have changed meanwhile", async () => {
  const columns = [{ name: "text", type: "text" as const }];
  await makeTable(admin, { name: "letters", idType: "int", changes: true, columns });
  await allowAll(admin, ["letters"], null);
  const url = `${stack.dataUrl}/letters/changes`;
  const begin = await openEvents(url);
  begin.close();
  const letters = Array.from({ length: LETTERS }, () => ({ text: "x".repeat(LETTERS_OF_LETTER) }));
  for (let at = 0; at < LETTERS_MADE; at += LETTERS)
    expect((await admin.post("/letters", letters)).status).toBe(201);
  const held = await holdEvents(url, {}, begin.lastEventId);
  const sent = async () => held.come() + (await bytesInSockets(held.port ?? 0));
  await until(async () => {
    const before = await sent();
    await delay(STOOD_STILL_MS);
    return before > 10_000 && before === (await sent());
  });
  const filter = { table: "letters", action: "read" };
  const [rule] = (await admin.get("/svc_permission", { filter })).body.data;
  expect((await admin.patch(`/svc_permission/${rule.id}`, { filter: { text: "open" } })).status).toBe(200);
  await delay(LOOKED_AT_MS);
  const before = await sent();
  expect((await admin.post("/letters", { text: "open" })).status).toBe(201);
  const source = held.read();
  await until(
    async () => source.told.at(-1)?.data.record?.text,
    (text) => text === "open",
  );
  source.close();
  const shown = source.told.filter(({ event }) => event === "created").length - 1;
  expect(shown * LETTERS_OF_LETTER).toBeLessThan(before + MOST_IN_PROCESS);
});
