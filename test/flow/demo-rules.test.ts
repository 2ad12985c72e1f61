// The demo content comes with rules: what a visitor sees and may do on first start.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { makeTable, type Row } from "../contract/records/make.js";
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

describe("a database with tables", () => {
  it("gets no demo content", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "portico-demo-"));
    const tablesAt = async (demo: string, act: (admin: Api) => Promise<unknown> = async () => {}) => {
      const stack = await startStack({ demo: true, dataDir, env: { DEMO: demo } });
      const admin = await asAdmin(stack);
      await act(admin);
      const { body } = await admin.get("/svc_table", { fields: "name" });
      await stack.stop();
      return body.data;
    };
    const notes = (admin: Api) => makeTable(admin, { name: "notes", columns: [] });
    const before = await tablesAt("off", notes);
    expect(before).toContainEqual(expect.objectContaining({ name: "notes" }));
    expect(await tablesAt("on")).toEqual(before);
    await rm(dataDir, { recursive: true });
  }, 120_000);
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
