// What a small request may cost others: answers that come out far larger than what was read for them, and filters that
// ask the database for much.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin, search } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { isCommand, isReadOf } from "../../support/command-proxy.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { makeTable } from "../records/make.js";
import { created } from "./library.js";

const PEOPLE = 12;
const COMMENTS = 20_000;
/** Questions of one request that the database works at: four, and one that is just ending. */
const MOST_QUESTIONS = 5;
/** How long a request may hold everybody else up, on a machine that does other things as well. */
const MOST_STALL_MS = 2_500;

let stack: Stack;
let admin: Api;
let visitor: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  visitor = apiOf(`${stack.appUrl}/api`);
  const columns = [{ name: "name", type: "string" }];
  const friends = { name: "friends", type: "many-to-many", table: "people" };
  await makeTable(admin, { name: "people", idType: "int", columns, relations: [friends] });
  await makeTable(admin, { name: "authors", idType: "int", columns });
  const author = { name: "author", type: "many-to-one", table: "authors", inverse: "posts" };
  await makeTable(admin, { name: "posts", idType: "int", columns, relations: [author] });
  const comments = { name: "post", type: "many-to-one", table: "posts", inverse: "comments" };
  const text = [{ name: "text", type: "text" }];
  await makeTable(admin, { name: "comments", idType: "int", columns: text, relations: [comments] });
  await allowAll(admin, ["people", "authors", "posts", "comments"], null);
  const ids = Array.from({ length: PEOPLE }, (_, at) => at + 1);
  await created(
    admin,
    "people",
    ids.map((id) => ({ name: `person ${id}` })),
  );
  for (const id of ids) await admin.patch(`/people/${id}`, { friends: ids.filter((each) => each !== id) });
  await created(admin, "authors", [{ name: "Ann" }]);
  await created(
    admin,
    "posts",
    ids.concat(Array.from({ length: 88 }, () => 0)).map((at) => ({ name: `post ${at}`, author: 1 })),
  );
  client = await MongoClient.connect(stack.mongodbUrl);
  await client
    .db()
    .collection<{ _id: number; text: string; postId: number }>("comments")
    .insertMany(Array.from({ length: COMMENTS }, (_, at) => comment(at + 1)));
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

function comment(_id: number) {
  return { _id, text: `${"lorem ipsum dolor sit amet ".repeat(8)}${_id}`, postId: 1 + (_id % 100) };
}

/** A filter with as many relations as there may be comparisons; each is a question that reads all comments. */
const DEMANDING = {
  _or: Array.from({ length: 100 }, (_, at) => ({ comments: { text: { _contains: `none ${at}` } } })),
};

/** How many questions about comments the database works at. @param more which of them count */
async function atWork(more: { op?: string } = {}): Promise<number> {
  const ns = { $regex: `^${client.db().databaseName}\\.comments$` };
  const { inprog } = await client.db("admin").command({ currentOp: 1, active: true, ns, ...more });
  return inprog.length;
}

/** The longest that another client waits for an answer while something goes on. */
async function longestStall(during: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = during.finally(() => {
    isOver = true;
  });
  let longest = 0;
  while (!isOver) {
    const began = performance.now();
    await (await fetch(`${stack.dataUrl}/healthz`)).text();
    longest = Math.max(longest, performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await over;
  return longest;
}

/** Posts under their author, who is under each post. */
function postsUnderPosts(levels: number): object {
  const deep = levels === 1 ? {} : { deep: postsUnderPosts(levels - 1) };
  return { author: { fields: "id", deep: { posts: { fields: "id", limit: 100, ...deep } } } };
}

/** In a file relations are whole, unless it is said how many of each. */
function friendsUnderFriends(levels: number): object {
  const deep = levels === 1 ? {} : { deep: friendsUnderFriends(levels - 1) };
  return { friends: { fields: "id", limit: 10, ...deep } };
}

const TOO_LARGE = /^The answer holds a record with more than 16 MB/;

describe("an answer that repeats the same related records", () => {
  it("is refused where one record comes out too large, and holds nobody up meanwhile", async () => {
    const path = `/people?fields=${"friends.".repeat(7)}id`;
    const asked = visitor.get(path);
    expect(await longestStall(asked)).toBeLessThan(MOST_STALL_MS);
    const { status, body } = await asked;
    expect([status, body.message]).toEqual([400, expect.stringMatching(TOO_LARGE)]);
    const deep = postsUnderPosts(3);
    const posts = await visitor.get("/posts", { fields: "id", limit: 3, deep });
    expect([posts.status, posts.body.message]).toEqual([400, expect.stringMatching(TOO_LARGE)]);
  });

  it("is refused as a file and as the answer of QUERY too", async () => {
    const fields = `${"friends.".repeat(7)}id`;
    const file = await visitor.get("/people", { deep: friendsUnderFriends(7), format: "ndjson" });
    const queried = await visitor.send("QUERY", "/people", {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ fields }),
    });
    for (const { status, body } of [file, queried])
      expect([status, body.message]).toEqual([400, expect.stringMatching(TOO_LARGE)]);
  });

  it("is no answer of a write, which names the ids of what it has made instead", async () => {
    const names = Array.from({ length: 3 }, (_, at) => ({ name: `new ${at}`, friends: [1, 2] }));
    const { status, body } = await admin.post(`/people?fields=${"friends.".repeat(7)}id`, names);
    expect([status, Object.keys(body.data[0])]).toEqual([201, ["id"]]);
  });

  it("is none where the database joins them, either: each record is small then, and all together are not", async () => {
    const columns = [{ name: "text", type: "text" }];
    const pages = { name: "pages", type: "many-to-many", table: "pages" };
    await makeTable(admin, { name: "pages", idType: "int", columns });
    await makeTable(admin, { name: "binders", idType: "int", relations: [pages] });
    await created(admin, "pages", [{ text: "x".repeat(900_000) }]);
    const deep = search({ deep: { pages: { fields: "text", limit: 0 } } });
    const sent = async (count: number) => {
      const { status, body } = await admin.post(
        `/binders${deep}`,
        Array.from({ length: count }, () => ({ pages: [1] })),
      );
      return [status, body.data.length, Object.keys(body.data[0])];
    };
    expect(await sent(20)).toEqual([201, 20, expect.arrayContaining(["pages"])]);
    expect(await sent(40)).toEqual([201, 40, ["id"]]);
  });

  it("comes whole where it is large and no record of it is too large", async () => {
    const asked = visitor.get("/people", { fields: `${"friends.".repeat(4)}id`, sort: "id" });
    expect(await longestStall(asked)).toBeLessThan(MOST_STALL_MS);
    const { status, body } = await asked;
    const [first] = body.data;
    expect([status, body.data.length]).toEqual([200, 10]);
    let record = first;
    for (const _ of Array.from({ length: 4 })) record = record.friends[0];
    expect(record).toEqual({ id: expect.any(Number) });
  });
});

describe("a list that is streamed", () => {
  it("ends in the database when its client goes away before the first record has come", async () => {
    const never = Array.from({ length: 100 }, (_, at) => ({ text: { _contains: `none ${at}` } }));
    const query = search({ fields: "id", limit: 0, filter: { _or: never } });
    // What has taken long is explained afterwards, which is no batch of a stream.
    const batches = () => atWork({ op: "getmore" });
    const held = await startBehindProxy(stack);
    const isKilling = isCommand("killCursors", "comments");
    let killed = 0;
    held.proxy.decide((command) => {
      if (isKilling(command)) killed += 1;
      return "pass";
    });
    try {
      const api = apiOf(held.stack.dataUrl);
      expect((await api.get(`/comments${query}`)).body.data).toEqual([]);
      expect(killed).toBe(0);
      const client = new AbortController();
      const asked = api.send("GET", `/comments${query}`, { signal: client.signal });
      await until(batches, (count) => count > 0, 10_000);
      client.abort();
      await expect(asked).rejects.toThrow();
      await until(
        () => killed,
        (count) => count > 0,
        10_000,
      );
      await until(batches, (count) => count === 0, 10_000);
    } finally {
      await held.stop();
    }
  });
});

describe("a filter through many relations", () => {
  let held: BehindProxy;
  /** How many questions about comments one instance has asked. */
  let questions = 0;
  /** How many it asks for an answer that nobody breaks off. */
  let inAll = 0;

  beforeAll(async () => {
    held = await startBehindProxy(stack);
    const isQuestion = isReadOf("comments");
    held.proxy.decide((command) => {
      if (isQuestion(command)) questions += 1;
      return "pass";
    });
    await apiOf(held.stack.dataUrl).get("/posts", { fields: "id", filter: DEMANDING });
    inAll = questions;
  });
  afterAll(() => held?.stop());

  it("asks the database a few questions at once, so that others find connections", async () => {
    let isOver = false;
    const asked = visitor.get("/posts", { fields: "id", filter: DEMANDING }).finally(() => {
      isOver = true;
    });
    let most = 0;
    while (!isOver) {
      most = Math.max(most, await atWork());
      expect((await visitor.get("/posts/1")).status).toBe(200);
    }
    // On a machine that does much else besides, it takes longer than a query may.
    expect([200, 504]).toContain((await asked).status);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(MOST_QUESTIONS);
  });

  it.each<[what: string, asking: () => Promise<Api>, more: object]>([
    ["asks no more when its client has gone", async () => apiOf(held.stack.dataUrl), {}],
    ["is explained no further when its client has gone", () => asAdmin(held.stack), { explain: "true" }],
  ])("%s", async (_what, asking, more) => {
    const api = await asking();
    questions = 0;
    const client = new AbortController();
    const query = search({ fields: "id", filter: DEMANDING, ...more });
    const asked = api.send("GET", `/posts${query}`, { signal: client.signal });
    await until(
      async () => questions,
      (count) => count > 0,
      10_000,
    );
    client.abort();
    await expect(asked).rejects.toThrow();
    await until(atWork, (count) => count === 0, 10_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await atWork()).toBe(0);
    expect(questions).toBeLessThan(inAll / 2);
  });
});

describe("searches in the other case in one long text", () => {
  const LENGTH = 900_000;
  const numbers = Array.from({ length: 8 }, (_, at) => at + 1);

  beforeAll(async () => {
    await makeTable(admin, { name: "papers", idType: "int", columns: [{ name: "text", type: "text" }] });
  });

  it.each([
    ["_contains", "xz", numbers.map((at) => `${"XZ".repeat(at)}Z`), 0],
    ["_ends_with", "x", numbers.map((at) => `X${"X".repeat(at)}`), 1],
  ])(
    "with %s take no time that grows with the square of its length",
    async (operator, part, searched, found) => {
      const [{ id }] = await created(admin, "papers", [{ text: part.repeat(LENGTH / part.length) }]);
      const filter = { id, _and: searched.map((text) => ({ text: { [operator]: text } })) };
      const started = performance.now();
      const { status, body } = await admin.get("/papers", { fields: "id", filter });
      expect([status, body.data?.length]).toEqual([200, found]);
      expect(performance.now() - started).toBeLessThan(MOST_STALL_MS);
    },
  );
});
