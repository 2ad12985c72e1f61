// A page whose records are named by the related ones that it is sorted by, and are too large to be read together.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { makeTable } from "../records/make.js";

const PAGE = 12;
/** The latest comments are those on the last posts. */
const IDS = Array.from({ length: PAGE }, (_, at) => PAGE - at);
/** Ten of them, as many as are read at once, have no room in one answer of the database (16 MB). */
const TEXT = "x".repeat(3 * 1024 * 1024);

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack({ env: { QUERY_PLAN_FEW_PARENTS: "1" } });
  admin = await asAdmin(stack);
  await makeTable(admin, { name: "posts", idType: "int", columns: [{ name: "text", type: "text" }] });
  const post = { name: "post", type: "many-to-one", table: "posts", inverse: "comments" };
  await makeTable(admin, { name: "comments", columns: [{ name: "at", type: "int" }], relations: [post] });
  const client = await MongoClient.connect(stack.mongodbUrl);
  const posts = client.db().collection<{ _id: number; text: string }>("posts");
  for (let _id = 1; _id <= PAGE; _id += 1) await posts.insertOne({ _id, text: TEXT });
  const comments = Array.from({ length: 4 * PAGE }, (_, at) => ({ at, postId: (at % PAGE) + 1 }));
  await client.db().collection("comments").insertMany(comments);
  await client.close();
}, 180_000);

afterAll(() => stack?.stop());

it("is answered in parts, in its order and in full", async () => {
  const asked = { sort: "-_max(comments.at)", fields: "id,text,comments.id", limit: String(PAGE) };
  const [{ pipeline }] = (await admin.get("/posts", { ...asked, explain: "true" })).body.data;
  expect(pipeline[0]).toEqual({ $match: { _id: { $in: IDS } } });
  const { status, body } = await admin.get("/posts", asked);
  expect(status).toBe(200);
  const found = body.data as { id: number; text: string; comments: unknown[] }[];
  expect(found.map(({ id }) => id)).toEqual(IDS);
  expect(found.every(({ text, comments }) => text === TEXT && comments.length === 4)).toBe(true);
}, 180_000);
