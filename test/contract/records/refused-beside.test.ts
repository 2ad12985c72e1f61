// A change that is refused while others delete what it is about, or build on it: what they were answered holds, and what it
// has moved goes back to where it was.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import type { Answer, Api } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import {
  afterWrites,
  goingOn,
  isCommand,
  isReadOf,
  isWriteOf,
  nth,
  type Stopped,
  stopAt,
} from "../../support/command-proxy.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { until } from "../../support/wait.js";
import { filesOf } from "../transfer/files.js";
import { make, makeTable, type Row, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  const name = { name: "name", type: "string" };
  const code = { name: "code", type: "string", unique: true };
  const to = (relation: string, table: string, inverse: string, onDelete: string, more: object = {}) => ({
    name: relation,
    type: "many-to-one",
    table,
    inverse,
    onDelete,
    ...more,
  });
  const table = (called: string, relations: object[] = [], more: object = {}) =>
    makeTable(api, { name: called, columns: [name], relations, ...more });
  for (const each of ["homes", "tags", "berths"]) await table(each);
  await table("books", [to("owner", "homes", "books", "CASCADE")]);
  await table("labels", [to("book", "books", "labels", "RESTRICT", { required: true })]);
  await table("chapters", [to("book", "books", "chapters", "CASCADE")]);
  await table("reviews", [to("book", "books", "reviews", "CASCADE")], { softDelete: true });
  await table("yachts", [
    to("berth", "berths", "yachts", "CASCADE", { required: true }),
    { name: "tags", type: "many-to-many", table: "tags" },
  ]);
  const parent = to("parent", "nodes", "children", "CASCADE");
  const kept = { softDelete: true };
  await table("nodes", [parent], { columns: [name, code], ...kept });
  await table("pins", [to("node", "nodes", "pins", "RESTRICT")]);
  await table("estates", [], kept);
  await table("farms", [to("estate", "estates", "farms", "CASCADE")], kept);
  await table("cows", [to("farm", "farms", "cows", "CASCADE")], kept);
  await table("bells", [to("cow", "cows", "bells", "SET NULL")]);
});

afterAll(() => system?.stop());

beforeEach(() => held.proxy.decide(() => "pass"));

/** Sends a change by the slow instance, which stops when it has written `table`, before it reads `next`. */
const between = (table: string, next: string, send: () => Promise<Answer>): Promise<Stopped<Answer>> =>
  stopAt(held.proxy, afterWrites(isWriteOf(table), isReadOf(next)), send);

const named = async (table: string, name: string): Promise<string> => (await make(api, table, { name })).id;

const removed = async (path: string): Promise<void> => void expect((await api.delete(path)).status).toBe(200);

describe("a record that is deleted while a change moves others to it", () => {
  it.each([
    ["by itself", "books"],
    ["with what it was just linked to", "homes"],
  ])("%s keeps none whose link stands against that", async (_how, deleted) => {
    const [own, book, home] = [
      await named("books", "own"),
      await named("books", "other"),
      await named("homes", "H"),
    ];
    const label = (await make(api, "labels", { book: own })).id;
    const change = await between("books", "labels", () =>
      slow.patch(`/books/${book}`, { owner: home, labels: [label] }),
    );
    await removed(`/${deleted}/${deleted === "books" ? book : home}`);
    change.goOn();
    expect([400, 404]).toContain((await change.answer).status);
    expect(await read(api, "labels", label, "book.id")).toEqual({ book: { id: own } });
  });

  it("does not keep others from going with it", async () => {
    const [own, book] = [await named("books", "own"), await named("books", "other")];
    const [mine, theirs] = [
      (await make(api, "chapters", { book: own })).id,
      (await make(api, "chapters", { book: own })).id,
    ];
    const change = await between("books", "chapters", () =>
      slow.patch(`/books/${book}`, { name: "new", chapters: [mine] }),
    );
    const going = await stopAt(held.proxy, isCommand("delete", "books"), () => slow.delete(`/books/${book}`));
    const moved = await goingOn(held.proxy, afterWrites(isWriteOf("chapters"), isReadOf("books")), change);
    expect((await api.patch(`/chapters/${theirs}`, { book })).status).toBe(200);
    going.goOn();
    await until(
      () => read(api, "books", book),
      (there) => there === undefined,
    );
    moved.goOn();
    expect([(await moved.answer).status, (await going.answer).status]).toEqual([404, 200]);
    expect(await read(api, "chapters", mine, "book.id")).toEqual({ book: { id: own } });
    expect(await read(api, "chapters", theirs)).toBe(undefined);
  });
});

it("a record that is kept, and was deleted by itself, is restored as it was before the refused change", async () => {
  const [own, book] = [await named("books", "own"), await named("books", "other")];
  const { id } = await make(api, "reviews", { name: "old", book: own });
  const before = await stopAt(held.proxy, isWriteOf("reviews"), () =>
    slow.patch(`/reviews/${id}`, { name: "new", book }),
  );
  await removed(`/books/${book}`);
  const change = await goingOn(held.proxy, isReadOf("books"), before);
  await removed(`/reviews/${id}`);
  change.goOn();
  expect((await change.answer).status).toBe(400);
  expect((await api.post(`/reviews/${id}/restore`)).status).toBe(200);
  expect(await read(api, "reviews", id, "name,book.id")).toEqual({ name: "old", book: { id: own } });
});

it("what is taken back twice is what it was after the first time", async () => {
  const [berth, tag] = [await named("berths", "former"), await named("tags", "T")];
  const { id } = await make(api, "yachts", { name: "old", berth });
  const change = await between("yachts", "berths", () =>
    slow.patch(`/yachts/${id}`, { name: "new", berth: { name: "made" }, tags: [tag] }),
  );
  for (const path of [`/berths/${berth}`, `/tags/${tag}`]) await removed(path);
  const unfinished = held.db.collection("_unfinished");
  const note = (await unfinished.findOne()) ?? {};
  change.goOn();
  expect((await change.answer).status).toBe(400);
  const once = await read(api, "yachts", id, "name,berth.name");
  expect(once).toMatchObject({ name: "old", berth: { name: "made" } });
  // As a process leaves it that dies when it has taken all back.
  const noneLeft = () =>
    until(
      () => unfinishedIn(held.db),
      (count) => count === 0,
    );
  await noneLeft();
  const at = new Date(Date.now() - 60_000);
  await unfinished.insertOne({ ...note, instance: "a dead process", at });
  await noneLeft();
  expect(await read(api, "yachts", id, "name,berth.name")).toEqual(once);
});

it("of several such records one that has to stay keeps none of the others", async () => {
  const top = await named("nodes", "top");
  await make(api, "nodes", { code: "taken as well" });
  const children = [{ name: "to stay" }, { name: "to go" }];
  const change = await stopAt(held.proxy, isCommand("findAndModify", "nodes"), () =>
    slow.patch(`/nodes/${top}`, { code: "taken as well", children }),
  );
  const madeNow = async () =>
    (await api.get("/nodes", { filter: { name: { _starts_with: "to " } }, fields: "id,name" })).body.data;
  const [pinned] = (await madeNow()).filter((each: Row) => each.name === "to stay");
  await make(api, "pins", { node: pinned.id });
  change.goOn();
  expect((await change.answer).status).toBe(409);
  expect(await madeNow()).toEqual([pinned]);
});

it("what others have put under such a record stays as it is where something stands against taking that back", async () => {
  const top = await named("nodes", "top");
  await make(api, "nodes", { code: "taken, too" });
  const change = await stopAt(held.proxy, isCommand("findAndModify", "nodes"), () =>
    slow.patch(`/nodes/${top}`, { code: "taken, too", parent: { name: "pinned" } }),
  );
  const [made] = (await api.get("/nodes", { filter: { name: "pinned" } })).body.data;
  const { id } = await make(api, "nodes", { name: "theirs", parent: made.id });
  await make(api, "pins", { node: made.id });
  change.goOn();
  expect((await change.answer).status).toBe(409);
  expect(await read(api, "nodes", id, "parent.id")).toEqual({ parent: { id: made.id } });
});

it("a record that goes along with what it was just linked to has been changed, also while that is still to go", async () => {
  const estate = await named("estates", "E");
  const [farm, own] = [(await make(api, "farms", { name: "F", estate })).id, await named("farms", "own")];
  const { id } = await make(api, "cows", { name: "old", farm: own });
  const change = await between("cows", "bells", () =>
    slow.patch(`/cows/${id}`, { name: "new", farm, bells: [] }),
  );
  const going = await stopAt(held.proxy, afterWrites(isWriteOf("cows"), isWriteOf("farms")), () =>
    slow.delete(`/estates/${estate}`),
  );
  // It looks again and again at what is still to go.
  const waiting = await goingOn(held.proxy, nth(3, isReadOf("farms")), change);
  waiting.goOn();
  going.goOn();
  expect([(await waiting.answer).status, (await going.answer).status]).toEqual([200, 200]);
  const { body } = await api.get("/cows", { deleted: "only", fields: "name" });
  expect(body.data).toEqual([{ name: "new" }]);
  expect((await api.post(`/estates/${estate}/restore`)).status).toBe(200);
  expect(await read(api, "cows", id, "name,farm.id")).toEqual({ name: "new", farm: { id: farm } });
});

it("a record that can't be changed back stays, and with it what it was linked to", async () => {
  const validator = { name: { $type: "string" } };
  await held.db.createCollection("legacy", { validator, validationLevel: "moderate" });
  // Written before there was a validator: whatever lacks the name again is refused.
  const old = { _id: new ObjectId(), note: "old" };
  await held.db.collection("legacy").insertOne(old, { bypassDocumentValidation: true });
  const relations = [
    { name: "home", type: "many-to-one", table: "homes", onDelete: "CASCADE" },
    { name: "tags", type: "many-to-many", table: "tags" },
  ];
  await makeTable(api, { name: "legacy", columns: [{ name: "name", type: "string" }], relations });
  const [id, tag] = [String(old._id), await named("tags", "T")];
  const change = await between("legacy", "homes", () =>
    slow.patch(`/legacy/${id}`, { name: "new", home: { name: "made" }, tags: [tag] }),
  );
  await removed(`/tags/${tag}`);
  change.goOn();
  expect((await change.answer).status).toBe(400);
  expect(await held.db.collection("legacy").findOne()).toMatchObject(old);
  expect(await read(api, "legacy", id, "home.name")).toMatchObject({ home: { name: "made" } });
});

it("a record of a refused import, whose id it brings, stays with what others have linked to it", async () => {
  await makeTable(api, { name: "posts", idType: "int", columns: [{ name: "name", type: "string" }] });
  const post = { name: "post", type: "many-to-one", table: "posts", onDelete: "CASCADE", required: true };
  await makeTable(api, { name: "comments", columns: [], relations: [post] });
  const files = await filesOf(held.stack, held.stack.admin);
  expect((await files.ndjson("posts", '{"id":9}\n')).status).toBe(200);
  const isInsert = isCommand("insert", "posts");
  const isNext = (command: string): boolean =>
    isReadOf("posts")(command) || isCommand("delete", "posts")(command);
  const sent = await stopAt(held.proxy, afterWrites(isInsert, isNext), () =>
    files.ndjson("posts", '{"id":1}\n{"id":9}\n'),
  );
  const { id } = await make(api, "comments", { post: 1 });
  sent.goOn();
  const { status, body } = await sent.answer;
  expect([status, body.error.details]).toMatchObject([400, { next: 1, kept: [{ table: "posts", id: 1 }] }]);
  expect(await read(api, "comments", id, "post.id")).toEqual({ post: { id: 1 } });
});

it("of records of a refused import only those stay to which others have linked, in whatever order the file has them", async () => {
  const up = { name: "up", type: "many-to-one", table: "twigs", onDelete: "CASCADE" };
  await makeTable(api, { name: "twigs", idType: "int", columns: [], relations: [up] });
  const twig = { name: "twig", type: "many-to-one", table: "twigs", onDelete: "CASCADE" };
  await makeTable(api, { name: "leaves", columns: [], relations: [twig] });
  const files = await filesOf(held.stack, held.stack.admin);
  expect((await files.ndjson("twigs", '{"id":9}\n')).status).toBe(200);
  const isNext = (command: string): boolean =>
    isReadOf("twigs")(command) || isCommand("delete", "twigs")(command);
  const sent = await stopAt(held.proxy, afterWrites(isCommand("insert", "twigs"), isNext), () =>
    files.ndjson("twigs", '{"id":4,"up":3}\n{"id":3,"up":2}\n{"id":2}\n{"id":1}\n{"id":9}\n'),
  );
  await make(api, "leaves", { twig: 1 });
  sent.goOn();
  expect((await sent.answer).body.error.details.kept).toEqual([{ table: "twigs", id: 1 }]);
  expect((await api.get("/twigs", { fields: "id" })).body.data).toEqual([{ id: 1 }, { id: 9 }]);
});

it("a user who was none before and after, as a form may say, is changed back", async () => {
  const role = await named("svc_role", "visitors");
  const { id } = await make(api, "svc_user", {
    email: "v@example.com",
    password: "long enough 1",
    name: "old",
  });
  const change = await between("svc_user", "svc_role", () =>
    slow.patch(`/svc_user/${id}`, { name: "new", isRootAdmin: false, role }),
  );
  await removed(`/svc_role/${role}`);
  change.goOn();
  expect((await change.answer).status).toBe(400);
  expect(await read(api, "svc_user", id, "name")).toEqual({ name: "old" });
});

it("a user who was made root admin stays one when another is no more", async () => {
  const role = await named("svc_role", "guests");
  const { id } = await make(api, "svc_user", { email: "u@example.com", password: "long enough 1" });
  const own = (await api.get("/me")).body.data[0].id;
  const change = await between("svc_user", "svc_role", () =>
    slow.patch(`/svc_user/${id}`, { isRootAdmin: true, role }),
  );
  await removed(`/svc_role/${role}`);
  const demoted = await api.patch(`/svc_user/${own}`, { isRootAdmin: false });
  change.goOn();
  expect([demoted.status, (await change.answer).status]).toEqual([200, 400]);
  const roots = await held.db.collection("svc_user").find({ isRootAdmin: true }).toArray();
  expect(roots.map(({ _id }) => String(_id))).toEqual([id]);
});
