// Links that lie in other records, which somebody else changes between the moment when the rules are asked about them and
// the write (security row I4): what is moved is what was judged.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { Fate } from "../../support/command-proxy.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, read, valuesOf } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let quick: Stack;
let held: BehindProxy;
/** Answered by another instance, which nothing holds up. */
let admin: Api;
let ann: Api;
let post: Row;
let shelf: Row;

beforeAll(async () => {
  quick = await startStack();
  admin = await asAdmin(quick);
  const columns = [{ name: "title", type: "string" }];
  await makeTable(admin, { name: "posts", columns });
  await makeTable(admin, { name: "shelves", columns });
  await makeTable(admin, {
    name: "comments",
    columns: [...columns, { name: "locked", type: "boolean", default: false }],
    relations: [
      { name: "post", type: "many-to-one", table: "posts", inverse: "comments" },
      { name: "shelves", type: "many-to-many", table: "shelves", inverse: "comments" },
    ],
  });
  const role = (await make(admin, "svc_role", { name: "Writer" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  for (const table of ["posts", "shelves", "comments"])
    await make(admin, "svc_permission", { role, table, action: "read" });
  for (const table of ["posts", "shelves"])
    await make(admin, "svc_permission", { role, table, action: "update" });
  const free = { locked: false };
  await make(admin, "svc_permission", { role, table: "comments", action: "update", filter: free });
  held = await startBehindProxy(quick);
  ann = await signIn(`${held.stack.appUrl}/api`, ANN);
}, 120_000);

afterAll(async () => {
  await held?.stop();
  await quick?.stop();
});

beforeEach(async () => {
  post = await make(admin, "posts", { title: "post" });
  shelf = await make(admin, "shelves", { title: "shelf" });
});

/** Has something done when Ann's next change of such a record has been judged and is about to be written. */
function beforeItsWrite(table: string, act: () => Promise<unknown>): void {
  let isDone = false;
  held.proxy.decide(async (command): Promise<Fate> => {
    const isWrite = [`update\u0000`, `findAndModify\u0000`].some((name) => command.includes(name));
    if (isWrite && command.includes(`${table}\u0000`) && !isDone) {
      isDone = true;
      await act();
    }
    return "pass";
  });
}

const locked = (comment: Row) => () => admin.patch(`/comments/${comment.id}`, { locked: true });
const ids = async (path: string): Promise<string[]> => {
  const { body } = await admin.get(path, { fields: "comments" });
  return body.data[0].comments.map(({ id }: Row) => id);
};

describe.each([
  ["posts", "post"],
  ["shelves", "shelves"],
])("the comments of one of the %s", (table, relation) => {
  const parent = (): Row => (table === "posts" ? post : shelf);
  const path = (): string => `/${table}/${parent().id}`;
  const linked = (): Row => ({ [relation]: relation === "post" ? parent().id : [parent().id] });

  it("that somebody else links in this moment stays", async () => {
    const mine = await make(admin, "comments", { title: "mine", ...linked() });
    let other: Row;
    beforeItsWrite(table, async () => {
      other = await make(admin, "comments", { title: "other", locked: true, ...linked() });
    });
    expect((await ann.patch(path(), { comments: [] })).status).toBe(200);
    expect(await ids(path())).toEqual([other.id]);
    expect(await read(admin, "comments", mine.id, "title")).toBeDefined();
  });

  it("is not linked when it has got out of the caller's rows in this moment, and nothing is changed", async () => {
    const comment = await make(admin, "comments", { title: "free" });
    beforeItsWrite(table, locked(comment));
    const { status, headers } = await ann.patch(path(), { title: "changed", comments: [comment.id] });
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    expect([await ids(path()), (await read(admin, table, parent().id, "title")).title]).toEqual([
      [],
      parent().title,
    ]);
    expect((await ann.patch(path(), { comments: [comment.id] })).status).toBe(403);
  });

  it("is not let go when it has got out of the caller's rows in this moment, and nothing is changed", async () => {
    const comment = await make(admin, "comments", { title: "free", ...linked() });
    beforeItsWrite(table, locked(comment));
    const { status } = await ann.patch(path(), { title: "changed", comments: [] });
    expect([status, await ids(path())]).toEqual([503, [comment.id]]);
    expect((await read(admin, table, parent().id, "title")).title).toBe(parent().title);
  });

  it("is linked and let go as the rules allow it, of many kinds", async () => {
    const former = await Promise.all(
      ["a", "b"].map((title) => make(admin, "comments", { title, ...linked() })),
    );
    const coming = await make(admin, "comments", { title: "c" });
    beforeItsWrite(table, async () => undefined);
    const wanted = [former[0].id, coming.id];
    expect((await ann.patch(path(), { comments: wanted })).status).toBe(200);
    expect((await ids(path())).toSorted()).toEqual(wanted.toSorted());
    const filter = { id: { _in: former.map(({ id }) => id) }, [relation]: { _is_null: false } };
    expect(await valuesOf(admin, "comments", "title", filter)).toEqual(["a"]);
  });
});
