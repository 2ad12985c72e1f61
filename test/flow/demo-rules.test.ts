// The demo content comes with rules: what a visitor sees and may do on first start.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Row } from "../contract/records/make.js";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

describe("a visitor of the demo", () => {
  let stack: Stack;
  let visitor: Api;
  let admin: Api;

  beforeAll(async () => {
    stack = await startStack({ demo: true });
    visitor = apiOf(`${stack.appUrl}/api`);
    admin = await asAdmin(stack);
  });

  afterAll(() => stack?.stop());

  it("reads published posts with approved comments and authors without addresses", async () => {
    const { body } = await visitor.get("/posts", {
      fields: "status,author.*,comments.approved",
      limit: "50",
      meta: "*",
    });
    const all = await admin.get("/posts", {
      filter: { status: "published" },
      limit: "1",
      meta: "filterCount",
    });
    expect(body.meta.totalCount).toBe(all.body.meta.filterCount);
    expect(body.data).toHaveLength(50);
    expect(body.data.some((post: Row) => post.author !== null && post.comments.length > 0)).toBe(true);
    for (const post of body.data) {
      expect(post.status).toBe("published");
      expect(Object.keys(post.author ?? {})).not.toContain("email");
      for (const comment of post.comments) expect(comment.approved).toBe(true);
    }
  });

  it("comments on a published post, and waits for approval", async () => {
    const { body } = await visitor.get("/posts", { fields: "id", limit: "1" });
    const [{ id: post }] = body.data;
    const sent = await visitor.post("/comments", { text: "Thank you!", authorName: "A visitor", post });
    expect([sent.status, Object.keys(sent.body.data[0])]).toEqual([201, ["id"]]);
    const [comment] = (await admin.get(`/comments/${sent.body.data[0].id}`)).body.data;
    expect(comment.approved).toBe(false);
    expect((await visitor.get(`/comments/${comment.id}`)).status).toBe(404);
  });

  it("comments on no draft, and changes nothing", async () => {
    const { body } = await admin.get("/posts", { filter: { status: "draft" }, fields: "id", limit: "1" });
    const [{ id: draft }] = body.data;
    const comment = { text: "Too early", authorName: "A visitor" };
    const { status, body: refusal } = await visitor.post("/comments", { ...comment, post: draft });
    // As of a post that is not there: a visitor is not told that it is.
    expect([status, refusal.message]).toEqual([
      400,
      [`post: there is no "posts" record with the id ${draft}`],
    ]);
    expect((await visitor.send("DELETE", `/posts/${draft}`)).status).toBe(401);
  });
});

describe("an embedded database", () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "portico-demo-"));
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  /** Starts on the same data each time. @returns the names of its own tables and of its roles */
  async function namesAt(env: Readonly<Record<string, string>>): Promise<string[]> {
    const stack = await startStack({ demo: true, dataDir, env });
    const admin = await asAdmin(stack);
    const answers = [await admin.get("/svc_table", { fields: "name" }), await admin.get("/svc_role")];
    await stack.stop();
    return answers.flatMap(({ body }) => body.data.map(({ name }: Row) => name));
  }

  it("with tables gets no demo content", async () => {
    const file = join(dataDir, "schema.json");
    await writeFile(file, JSON.stringify({ tables: [{ name: "notes" }] }));
    expect(await namesAt({ SCHEMA_FILE: file })).toEqual(["notes"]);
  });

  it("that was begun without demo content gets none later, with no table either", async () => {
    expect(await namesAt({ DEMO: "off" })).toEqual([]);
    expect(await namesAt({ DEMO: "on" })).toEqual([]);
  });

  it("that has demo content keeps it when it is left out later", async () => {
    const first = await namesAt({ DEMO: "on" });
    expect(first).toContain("posts");
    expect(await namesAt({ DEMO: "off" })).toEqual(first);
  });
});

describe("a MongoDB server of one's own", () => {
  let stack: Stack;
  afterAll(() => stack?.stop());

  it("gets no demo content, even if it is empty and DEMO is on", async () => {
    stack = await startStack({ env: { DEMO: "on" } });
    const admin = await asAdmin(stack);
    const { body } = await admin.get("/metadata");
    expect(body.data.filter(({ system }: { system: boolean }) => !system)).toEqual([]);
  });
});
