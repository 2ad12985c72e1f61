// R1 where a server alone is killed in the middle of a request and is back before its end: what is answered is there. A later
// write that is on the disk says nothing of an earlier one then, which the former process may have lost.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../support/api.js";
import { type CommandProxy, isCommand, startCommandProxy } from "../support/command-proxy.js";
import { type Stack, startStack } from "../support/stack.js";
import { type OwnEngine, startOwnEngine } from "./support/own-engine.js";

/** Longer than the engine keeps a write to itself that nobody waits for: what came before this pause is on the disk. */
const FLUSHED_MS = 400;

let engine: OwnEngine;
let proxy: CommandProxy;
let stack: Stack;
let api: Api;

beforeAll(async () => {
  engine = await startOwnEngine();
  proxy = await startCommandProxy(engine.mongodbUrl);
  stack = await startStack({ mongodbUrl: proxy.mongodbUrl });
  api = await asAdmin(stack);
  const name = { name: "name", type: "string" };
  await api.post("/svc_table", { name: "tags", columns: [name] });
  const tags = { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" };
  await api.post("/svc_table", { name: "posts", columns: [name], relations: [tags] });
  await api.post("/svc_table", { name: "logged", columns: [name], changes: true, history: true });
  const post = { name: "post", type: "many-to-one", table: "posts", inverse: "comments", counted: true };
  await api.post("/svc_table", { name: "comments", columns: [name], relations: [post] });
});

afterAll(async () => {
  await stack?.stop();
  await proxy?.close();
  await engine?.stop();
});

/** Pauses before one command, and kills the server as another one is sent, which finds it back when it is sent again. */
function killAt(isLast: (command: string) => boolean, isSlow: (command: string) => boolean): void {
  let isOver = false;
  proxy.decide(async (command) => {
    if (isOver) return "pass";
    if (isLast(command)) {
      isOver = true;
      await engine.crash();
      return "lost";
    }
    if (isSlow(command)) await delay(FLUSHED_MS);
    return "pass";
  });
}

const isWholeNote = (command: string): boolean =>
  isCommand("update", "_unfinished")(command) && command.includes("done");

it("records that were created with others are there when that is answered", async () => {
  killAt(isWholeNote, isCommand("insert", "posts"));
  const bodies = [1, 2, 3].map((n) => ({ name: `post ${n}`, tags: [{ name: `tag ${n}` }] }));
  const { status } = await api.post("/posts", bodies);
  expect(status).toBe(201);
  const { body } = await api.get("/posts", { fields: "name,tags.name", sort: "name" });
  expect(body.data).toMatchObject(bodies);
});

it("a journaled record is there when that is answered", async () => {
  killAt(isCommand("find", "_journal"), () => false);
  const { status, body } = await api.post("/logged", { name: "told" });
  expect(status).toBe(201);
  const read = await api.get(`/logged/${body.data[0].id}`);
  expect(read.status).toBe(200);
});

it("the number of children is that of those that are there", async () => {
  const made = await api.post("/posts", { name: "counted" });
  const post = made.body.data[0].id;
  killAt(isCommand("delete", "_counting"), isCommand("insert", "comments"));
  await api.post("/comments", { name: "one", post });
  const counted = await api.get(`/posts/${post}`, { fields: "_count(comments)" });
  const filter = JSON.stringify({ post: { _eq: post } });
  const listed = await api.get("/comments", { filter });
  expect(counted.body.data).toMatchObject([{ _count: { comments: listed.body.data.length } }]);
});
