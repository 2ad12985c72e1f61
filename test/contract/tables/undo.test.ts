// Contract 6: POST /svc_table/{id}/undo undoes the last change that took something away.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, valuesOf } from "../records/make.js";
import { columnsWith, deleteConfirmed, expectDestructive, patchConfirmed } from "./change.js";

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await client.close();
  await stack.stop();
});

/** The documents of a table, as they lie in the database. */
const collection = (name: string) => client.db().collection(name);

let count = 0;
async function table(definition: object, records: readonly object[] = []): Promise<Row> {
  count += 1;
  const made = await makeTable(admin, { name: `t${count}`, ...definition });
  for (const record of records) await make(admin, made.name, record);
  return made;
}
const undo = (id: string) => admin.send("POST", `/svc_table/${id}/undo`);
const undone = async (id: string): Promise<Row> => {
  const { status, body } = await undo(id);
  expect([status, body.message]).toEqual([200, "Success"]);
  return body.data[0];
};
const TEXT = { columns: [{ name: "a", type: "string" }] };

describe("undo", () => {
  it("takes no body: only an empty one is none", async () => {
    const made = await table(TEXT, [{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [] });
    const refused = await admin.post(`/svc_table/${made.id}/undo`, { name: "other" });
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringMatching(/^body: an undo/)]);
    expect((await admin.get(`/svc_table/${made.id}`)).body.data[0].columns).toEqual([]);
    expect((await admin.post(`/svc_table/${made.id}/undo`, {})).status).toBe(200);
  });

  it("brings a removed column back with its values; records written since have none", async () => {
    const made = await table({ columns: [{ name: "a", type: "string", required: true }] }, [{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [] });
    await make(admin, made.name, {});
    const back = await undone(made.id);
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, "x"]);
    // A record without a value is there now, so the column is back as an optional one.
    expect(back.columns[0]).toMatchObject({ id: made.columns[0].id, name: "a", required: false });
  });

  it("brings back columns and relations that went without being asked, because nothing was in them", async () => {
    const made = await table(
      {
        columns: [...TEXT.columns, { name: "b", type: "int", required: true, default: 1, unique: true }],
        relations: [{ name: "user", type: "many-to-one", table: "svc_user", inverse: null }],
        uniques: [["a", "user"]],
      },
      [],
    );
    const [a, b] = made.columns;
    const patch = async (body: object) =>
      expect((await admin.patch(`/svc_table/${made.id}`, body)).status).toBe(200);
    await patch({ columns: [{ id: a.id }] });
    await patch({ relations: [], uniques: [] });
    await patch({ description: "harmless" });
    const once = await undone(made.id);
    expect([once.relations, once.uniques, once.columns]).toEqual([made.relations, made.uniques, [a]]);
    const twice = await undone(made.id);
    expect([twice.columns, twice.description]).toEqual([[a, b], "harmless"]);
    expect((await undo(made.id)).status).toBe(409);
    expect(await make(admin, made.name, { a: "x" })).toMatchObject({ a: "x", b: 1 });
  });

  it("brings a column back that somebody's older list left out, beside the records written since", async () => {
    const made = await table(TEXT, [{ a: "x" }]);
    const more = [...made.columns, { name: "b", type: "int" }];
    const [, b] = (await admin.patch(`/svc_table/${made.id}`, { columns: more })).body.data[0].columns;
    const renamed = columnsWith(made, "a", { name: "c" });
    expect((await admin.patch(`/svc_table/${made.id}`, { columns: renamed })).status).toBe(200);
    await make(admin, made.name, { c: "y" });
    const back = await undone(made.id);
    // The other things that this change did are taken back as well.
    expect(back.columns).toEqual([made.columns[0], b]);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x", "y"]);
  });

  it.each<[string, "columns" | "relations", object, object]>([
    ["column", "columns", { type: "string" }, { rules: { maxLength: 9 } }],
    ["relation", "relations", { type: "many-to-one", table: "svc_user" }, { onDelete: "RESTRICT" }],
  ])(
    "of a required %s that was added makes it optional, with its values, before it goes on to the change before",
    async (_kind, list, definition, touch) => {
      const b = { name: "b", type: "string" };
      const made = await table({ columns: [...TEXT.columns, b] }, [{ a: "x", b: "secret" }]);
      const fields = "a,b,added";
      const read = async () => (await admin.get(`/${made.name}`, { fields, sort: "a" })).body;
      const { columns } = await patchConfirmed(admin, made.id, { columns: made.columns.slice(0, 1) });
      const added = { name: "added", required: true, ...definition };
      const also = { name: "also", type: "int", required: true, default: 1 };
      const wanted = { columns: [...columns, also], relations: [] };
      const wasAdded = await patchConfirmed(admin, made.id, { ...wanted, [list]: [...wanted[list], added] });
      expect((await admin.post(`/${made.name}`, { a: "y" })).status).toBe(400);
      const { id } = (await admin.get("/me")).body.data[0];
      const value = list === "columns" ? "written" : id;
      expect((await admin.post(`/${made.name}`, { a: "z", added: value })).status).toBe(201);

      // Whatever else is done to it, it is what was confirmed last.
      const touched = wasAdded[list].map(({ id, name }: Row) =>
        name === "added" ? { id, ...touch } : { id },
      );
      expect((await admin.patch(`/svc_table/${made.id}`, { [list]: touched })).status).toBe(200);

      const once = await undone(made.id);
      expect(once[list].at(-1)).toMatchObject({ name: "added", required: false, ...touch });
      expect(once.columns.map(({ name }: Row) => name)).not.toContain("b");
      expect(once.columns).toContainEqual(expect.objectContaining(also));
      await make(admin, made.name, { a: "y" });
      expect((await read()).message).toMatch(/"b"/);

      await undone(made.id);
      const shown = list === "columns" ? value : { id };
      expect((await read()).data).toEqual([
        { a: "x", b: "secret", added: null },
        { a: "y", b: null, added: null },
        { a: "z", b: null, added: shown },
      ]);
      expect((await undo(made.id)).status).toBe(409);
    },
  );

  it("brings back what permission rules said of it, unless they were changed since", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "b", type: "string" }] }, [{ a: "x" }]);
    const rule = (parts: object) =>
      make(admin, "svc_permission", { role: null, table: made.name, action: "read", ...parts });
    const rules = [
      await rule({ fields: "a,b" }),
      await rule({ filter: { a: "x" } }),
      await rule({ fields: "a" }),
    ];
    const read = async () => {
      const filter = { table: made.name };
      const { body } = await admin.get("/svc_permission", { filter, sort: "id" });
      return body.data.map(({ fields, filter, isEnabled }: Row) => ({ fields, filter, isEnabled }));
    };
    const [both, first, only] = await read();
    await patchConfirmed(admin, made.id, { columns: made.columns.slice(1) });
    const off = { isEnabled: false };
    expect(await read()).toEqual([
      { ...both, fields: "b" },
      { ...first, ...off },
      { ...only, ...off },
    ]);
    await admin.patch(`/svc_permission/${rules[2]?.id}`, { fields: "b" });
    await undone(made.id);
    expect(await read()).toEqual([both, first, { ...only, ...off, fields: "b" }]);
  });

  it("brings a required column back as required when nothing was written since", async () => {
    const made = await table({ columns: [{ name: "a", type: "string", required: true }] }, [{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [] });
    expect((await undone(made.id)).columns).toEqual(made.columns);
  });

  it("brings the former type back with the values as they were; newer ones are converted", async () => {
    const made = await table(TEXT, [{ a: "12" }, { a: "many" }]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int" }) });
    await make(admin, made.name, { a: 5 });
    await undone(made.id);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["12", "5", "many"]);
  });

  /** Changes records by their value of `key`, after a confirmed change of a table and before its undo. */
  async function rewritten(made: Row, change: object, bodies: Record<string, object>): Promise<void> {
    await patchConfirmed(admin, made.id, change);
    for (const [key, body] of Object.entries(bodies)) {
      const { body: answer } = await admin.patch(`/${made.name}`, body, { filter: { key } });
      expect(answer.message).toBe("Success");
    }
    await undone(made.id);
  }
  const byKey = async (name: string, fields = "a"): Promise<Row[]> => {
    const { body } = await admin.get(`/${name}`, { fields, sort: "key", limit: "0" });
    return body.data.map((row: Row) => row.a);
  };
  const KEY = { name: "key", type: "string" };

  it("keeps what was written since a column got another type, nulls too; the rest is as it was", async () => {
    const a = { name: "a", type: "string", searchable: true };
    const made = await table({ columns: [a, KEY] }, [
      { key: "k1", a: "007" },
      { key: "k2", a: "12345" },
      { key: "k3", a: "3" },
      { key: "k4", a: "many" },
      { key: "k5", a: "more" },
    ]);
    const change = { columns: columnsWith(made, "a", { type: "int", searchable: false }) };
    await rewritten(made, change, { k2: { a: 54321 }, k3: { a: null }, k5: { a: 5 } });
    expect(await byKey(made.name)).toEqual(["007", "54321", null, "many", "5"]);
    // Nor is it found by what it was.
    const found = (part: string) => valuesOf(admin, made.name, "a", { a: { _contains: part } });
    expect([await found("54321"), await found("12345")]).toEqual([["54321"], []]);
  });

  it("keeps what was written since a value of an enum went", async () => {
    const options = (...values: string[]) => ({ type: "enum", options: { values } });
    const made = await table({ columns: [{ name: "a", ...options("x", "y", "z") }, KEY] }, [
      { key: "k1", a: "x" },
      { key: "k2", a: "x" },
      { key: "k3", a: "y" },
    ]);
    const change = { columns: columnsWith(made, "a", options("y", "z")) };
    await rewritten(made, change, { k2: { a: "z" }, k3: { a: "z" } });
    expect(await byKey(made.name)).toEqual(["x", "z", "z"]);
  });

  it("takes a default back from those who had no value, and keeps what was written since", async () => {
    const made = await table({ columns: [{ name: "a", type: "string" }, KEY] }, [
      { key: "k1" },
      { key: "k2" },
      { key: "k3", a: "5" },
      { key: "k4", a: "x" },
    ]);
    const columns = columnsWith(made, "a", { type: "int", required: true, default: 1 });
    await rewritten(made, { columns }, { k2: { a: 2 }, k3: { a: 1 } });
    expect(await byKey(made.name)).toEqual([null, "2", "1", "x"]);
  });

  it("keeps the default of records that were made since, where a value was required before", async () => {
    const a = { name: "a", type: "string", required: true, default: "open" };
    const made = await table({ columns: [a, KEY] }, [{ key: "k1" }, { key: "k2", a: "odd" }]);
    const options = { type: "enum", options: { values: ["open", "shut"] } };
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", options) });
    for (const key of ["k3", "k4"]) await make(admin, made.name, { key });
    const back = await undone(made.id);
    expect(await byKey(made.name)).toEqual(["open", "odd", "open", "open"]);
    expect(back.columns[0]).toMatchObject({ type: "string", required: true });
  });

  it("keeps the default that older records without a value got, where a value was required before", async () => {
    const made = await table({ columns: [{ name: "a", type: "string" }, KEY] }, [
      { key: "k1" },
      { key: "k2", a: "12" },
      { key: "k3", a: "x" },
    ]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { required: true }) });
    const columns = columnsWith(made, "a", { type: "int", default: 7 });
    await patchConfirmed(admin, made.id, { columns });
    await undone(made.id);
    expect(await byKey(made.name)).toEqual(["7", "12", "x"]);
  });

  it("can't bring back what did not fit into a column that became encrypted with it, as the refusal says", async () => {
    const made = await table({ columns: [{ name: "a", type: "string" }, KEY] }, [
      { key: "k1", a: "hello" },
      { key: "k2", a: "12" },
    ]);
    const columns = columnsWith(made, "a", { type: "int", encrypted: true });
    const why = expect.stringContaining("no undo brings it back");
    expectDestructive(await admin.patch(`/svc_table/${made.id}`, { columns }), [{ rows: 1, why }]);
    await patchConfirmed(admin, made.id, { columns });
    await undone(made.id);
    expect(await byKey(made.name)).toEqual([null, "12"]);
  });

  it("keeps the default that a column had in all its records while it was encrypted", async () => {
    const a = { name: "a", type: "string", required: true, default: "free" };
    const b = { name: "b", type: "string" };
    const made = await table({ columns: [a, KEY, b] }, [
      { key: "k1", b: "x" },
      { key: "k2", a: "paid" },
    ]);
    const encrypted = columnsWith(made, "a", { encrypted: true }).filter(
      ({ id }) => id !== made.columns[2].id,
    );
    await patchConfirmed(admin, made.id, { columns: encrypted });
    await undone(made.id);
    expect(await byKey(made.name)).toEqual(["free", "paid"]);
  });

  it("keeps links that were set since a list became a single one, and the lists nobody touched", async () => {
    const people = await table(TEXT, [{ a: "Ann" }, { a: "Bob" }]);
    const [ann, bob] = (await admin.get(`/${people.name}`)).body.data;
    const relation = { name: "a", type: "many-to-many", table: people.name };
    const both = [ann.id, bob.id];
    const made = await table(
      { columns: [KEY], relations: [relation] },
      ["k1", "k2", "k3"].map((key) => ({ key, a: both })),
    );
    const change = { relations: [{ id: made.relations[0].id, type: "many-to-one" }] };
    await rewritten(made, change, { k2: { a: bob.id }, k3: { a: null } });
    expect(await byKey(made.name)).toEqual([[{ id: ann.id }, { id: bob.id }], [{ id: bob.id }], []]);
  });

  it("keeps the rest of a list whose first link went with its record, while a single one was kept", async () => {
    const people = await table(TEXT, [{ a: "Ann" }, { a: "Bob" }]);
    const [ann, bob] = (await admin.get(`/${people.name}`)).body.data;
    const relation = { name: "a", type: "many-to-many", table: people.name };
    const made = await table({ relations: [relation] }, [{ a: [ann.id, bob.id] }]);
    await patchConfirmed(admin, made.id, { relations: [{ id: made.relations[0].id, type: "many-to-one" }] });
    await admin.delete(`/${people.name}/${ann.id}`);
    await undone(made.id);
    expect((await admin.get(`/${made.name}`, { fields: "a" })).body.data).toEqual([{ a: [{ id: bob.id }] }]);
  });

  const patched = async (id: string, body: object) =>
    expect((await admin.patch(`/svc_table/${id}`, body)).body.message).toBe("Success");

  it("brings values and type back together where both were changed back and again since, at no cost", async () => {
    const made = await table({ columns: [{ name: "a", type: "string" }, KEY] }, [
      { key: "k1", a: "007" },
      { key: "k2", a: "many" },
    ]);
    const to = (type: string) => ({ columns: columnsWith(made, "a", { type }) });
    await patchConfirmed(admin, made.id, to("int"));
    await patched(made.id, to("string"));
    await patched(made.id, to("int"));
    await make(admin, made.name, { key: "k3", a: 5 });
    expect((await undone(made.id)).columns[0].type).toBe("string");
    expect(await byKey(made.name)).toEqual(["007", "many", "5"]);
  });

  it("brings links and the table they lead to back together, without those to records that went since", async () => {
    const people = await table(TEXT, [{ a: "Ann" }, { a: "Bob" }]);
    const places = await table(TEXT, [{ a: "Rome" }]);
    const idsIn = async ({ name }: Row): Promise<string[]> =>
      (await admin.get(`/${name}`, { sort: "a" })).body.data.map(({ id }: Row) => id);
    const [[ann, bob], [rome]] = [await idsIn(people), await idsIn(places)];
    const relation = { name: "a", type: "many-to-one", table: people.name };
    const linked = [ann, bob].map((a, at) => ({ key: `k${at}`, a }));
    const made = await table({ columns: [KEY], relations: [relation] }, linked);
    const to = ({ name }: Row) => ({ relations: [{ id: made.relations[0].id, table: name }] });
    await patchConfirmed(admin, made.id, to(places));
    await patched(made.id, to(people));
    await patched(made.id, to(places));
    await make(admin, made.name, { key: "k2", a: rome });
    expect((await admin.delete(`/${people.name}/${bob}`)).status).toBe(200);
    expect((await undone(made.id)).relations[0].table).toBe(people.name);
    expect(await byKey(made.name)).toEqual([{ id: ann }, null, null]);
    expect(await collection(made.name).distinct("aId")).toEqual([null, new ObjectId(ann)]);
  });

  it("keeps the name that a column was given since its type was changed", async () => {
    const made = await table(TEXT, [{ a: "12" }, { a: "many" }]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int" }) });
    await admin.patch(`/svc_table/${made.id}`, { columns: columnsWith(made, "a", { name: "b" }) });
    const { columns } = await undone(made.id);
    expect(columns).toEqual([{ ...made.columns[0], name: "b" }]);
    expect(await valuesOf(admin, made.name, "b")).toEqual(["12", "many"]);
  });

  it("brings back what went when deleted records began to be kept, without what that forbids", async () => {
    const posts = await table(TEXT);
    const relation = {
      name: "post",
      type: "many-to-one",
      table: posts.name,
      inverse: "comments",
      counted: true,
    };
    const made = await table({
      columns: [...TEXT.columns, { name: "note", type: "string" }],
      relations: [relation],
    });
    const comment = await make(admin, made.name, { note: "kept" });
    const [a] = made.columns;
    const relations = [{ id: made.relations[0].id, counted: false }];
    await patchConfirmed(admin, made.id, { softDelete: true, relations, columns: [{ id: a.id }] });
    const back = await undone(made.id);
    expect([back.softDelete, back.relations[0].counted ?? false]).toEqual([true, false]);
    const { body } = await admin.get(`/${made.name}/${comment.id}`, { fields: "note" });
    expect(body.data[0].note).toBe("kept");
  });

  it("brings back what went before the records were spread over shards, without what is unique in it", async () => {
    const homes = await table(TEXT, [{ a: "here" }]);
    const home = (await admin.get(`/${homes.name}`, { fields: "id" })).body.data[0].id;
    const made = await table({
      singleton: true,
      columns: [{ ...TEXT.columns[0], unique: true }],
      uniques: [["a", "createdAt"]],
      relations: [{ name: "home", type: "one-to-one", table: homes.name, inverse: "cat" }],
    });
    const cat = await make(admin, made.name, { a: "Tom", home });
    const nothing = { singleton: false, columns: [], uniques: [], relations: [] };
    await patchConfirmed(admin, made.id, nothing);
    expect((await admin.patch(`/svc_table/${made.id}`, { shardKey: "id" })).status).toBe(200);
    const back = await undone(made.id);
    const { columns, relations, singleton = false, uniques = [] } = back;
    expect([columns[0].unique ?? false, relations[0].type, singleton, uniques]).toEqual([
      false,
      "many-to-one",
      false,
      [],
    ]);
    const { body } = await admin.get(`/${made.name}/${cat.id}`, { fields: "a,home" });
    expect(body.data).toEqual([{ a: "Tom", home: { id: home } }]);
  });

  it("brings links back where the other end of their relation was renamed since", async () => {
    const owners = await table(TEXT, [{ a: "Ann" }, { a: "Bob" }]);
    const relation = { name: "owners", type: "many-to-many", table: owners.name, inverse: "things" };
    const made = await table({ relations: [relation] });
    const ids = (await admin.get(`/${owners.name}`, { sort: "a" })).body.data.map(({ id }: Row) => id);
    const thing = await make(admin, made.name, { owners: ids });
    const [{ id }] = made.relations;
    await patchConfirmed(admin, made.id, { relations: [{ id, type: "many-to-one" }] });
    expect(
      (await admin.patch(`/svc_table/${made.id}`, { relations: [{ id, inverse: "items" }] })).status,
    ).toBe(200);
    const { relations } = await undone(made.id);
    expect(relations).toEqual([{ ...made.relations[0], inverse: "items" }]);
    const { body } = await admin.get(`/${made.name}/${thing.id}`, { fields: "owners" });
    expect(body.data[0].owners.map((each: Row) => each.id).toSorted()).toEqual(ids.toSorted());
  });

  it("is refused where it would rename the table back and a name in it is taken from the other side meanwhile", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "notes", type: "string" }] }, [
      { notes: "x" },
    ]);
    const renamed = `${made.name}_renamed`;
    await patchConfirmed(admin, made.id, { name: renamed, columns: [{ id: made.columns[0].id }] });
    const relation = { name: "about", type: "many-to-one", table: renamed, inverse: "notes" };
    await table({ relations: [relation] });
    const { status, body } = await undo(made.id);
    expect([status, body.message]).toEqual([409, [expect.stringMatching(/has a "notes" already/)]]);
  });

  it("brings a required column back as optional where what was written since does not convert", async () => {
    const made = await table({ columns: [{ name: "a", type: "int", required: true }] }, [{ a: 1 }]);
    const columns = columnsWith(made, "a", { type: "date", required: false });
    await patchConfirmed(admin, made.id, { columns });
    await make(admin, made.name, { a: "2024-05-31" });
    expect((await undone(made.id)).columns[0]).toMatchObject({ type: "int", required: false });
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, 1]);
  });

  it("brings a relation back, without links to records that were deleted meanwhile", async () => {
    const people = await table(TEXT, [{ a: "Ann" }, { a: "Bob" }]);
    const [ann, bob] = (await admin.get(`/${people.name}`)).body.data;
    const made = await table({
      relations: [
        { name: "owner", type: "many-to-one", table: people.name, inverse: "things" },
        { name: "fans", type: "many-to-many", table: people.name },
      ],
    });
    const { id } = await make(admin, made.name, { owner: ann.id, fans: [ann.id, bob.id] });
    const other = await make(admin, made.name, { owner: bob.id });
    await patchConfirmed(admin, made.id, { relations: [] });
    await admin.delete(`/${people.name}/${ann.id}`);
    await undone(made.id);
    const { body } = await admin.get(`/${made.name}`, { fields: "id,owner,fans" });
    expect(body.data).toEqual([
      { id, owner: null, fans: [{ id: bob.id }] },
      { id: other.id, owner: { id: bob.id }, fans: [] },
    ]);
    expect((await admin.get(`/${people.name}/${bob.id}`, { fields: "things" })).body.data[0].things).toEqual([
      { id: other.id },
    ]);
  });

  it.each(["changed", "deleted"])(
    "of a %s table brings a required relation back as optional where a record it led to was deleted",
    async (how) => {
      const people = await table(TEXT, [{ a: "Ann" }, { a: "Bob" }]);
      const [ann, bob] = (await admin.get(`/${people.name}`)).body.data;
      const owner = { type: "many-to-one", table: people.name, required: true };
      const made = await table({
        relations: [
          { ...owner, name: "owner" },
          { ...owner, name: "keeper" },
        ],
      });
      await make(admin, made.name, { owner: ann.id, keeper: bob.id });
      if (how === "deleted") await deleteConfirmed(admin, made.id);
      else await patchConfirmed(admin, made.id, { relations: [] });
      expect((await admin.delete(`/${people.name}/${ann.id}`)).status).toBe(200);
      const { relations } = await undone(made.id);
      expect(relations.map(({ name, required }: Row) => [name, required])).toEqual([
        ["owner", false],
        ["keeper", true],
      ]);
      const { body } = await admin.get(`/${made.name}`, { fields: "owner,keeper" });
      expect(body.data).toEqual([{ owner: null, keeper: { id: bob.id } }]);
    },
  );

  it("leaves links alone that no relation brought back, also those that lead nowhere", async () => {
    const people = await table(TEXT);
    const fans = { name: "fans", type: "many-to-many", table: people.name };
    const made = await table({ ...TEXT, relations: [fans] }, [{ a: "x" }]);
    const lost = [new ObjectId()];
    await collection(made.name).updateOne({}, { $set: { fansIds: lost } });
    await patchConfirmed(admin, made.id, { columns: [] });
    await undone(made.id);
    expect((await collection(made.name).findOne())?.fansIds).toEqual(lost);
  });

  it("keeps settings that a column got since its type was changed, and brings back all that went with it", async () => {
    const made = await table({ columns: [...TEXT.columns, KEY] }, [
      { a: "07", key: "k1" },
      { a: "none", key: "k2" },
    ]);
    await patchConfirmed(admin, made.id, { columns: [{ id: made.columns[0].id, type: "int" }] });
    const since = [{ id: made.columns[0].id, readOnly: true, unique: true }];
    expect((await admin.patch(`/svc_table/${made.id}`, { columns: since })).status).toBe(200);
    const { columns } = await undone(made.id);
    expect(columns[0]).toMatchObject({ name: "a", type: "string", readOnly: true, unique: true });
    expect(columns[1]).toMatchObject({ name: "key" });
    expect(await valuesOf(admin, made.name, "a")).toEqual(["07", "none"]);
  });

  it("brings values back as they were where the type was given back by hand; newer ones stay", async () => {
    const made = await table({ columns: [...TEXT.columns, KEY] }, [
      { a: "07", key: "k1" },
      { a: "none", key: "k2" },
      { a: "08", key: "k3" },
    ]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int" }) });
    const byHand = { columns: columnsWith(made, "a", { type: "string" }) };
    expect((await admin.patch(`/svc_table/${made.id}`, byHand)).status).toBe(200);
    const [newer] = (await admin.get(`/${made.name}`, { filter: { key: "k3" } })).body.data;
    await admin.patch(`/${made.name}/${newer.id}`, { a: "9" });
    await undone(made.id);
    expect(await byKey(made.name)).toEqual(["07", "none", "9"]);
    expect((await undo(made.id)).status).toBe(409);
  });

  it("brings values back as they were before the first of two changes, through a type that it never had", async () => {
    const made = await table(TEXT, [{ a: "007" }, { a: "1" }, { a: "none" }]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int" }) });
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "boolean" }) });
    const byHand = { columns: columnsWith(made, "a", { type: "string" }) };
    expect((await admin.patch(`/svc_table/${made.id}`, byHand)).status).toBe(200);
    await undone(made.id);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["007", "1", "none"]);
  });

  it("brings a list of links back where the relation was made a list again by hand", async () => {
    const people = await table(TEXT, [{ a: "Ann" }, { a: "Ben" }]);
    const ids = (await admin.get(`/${people.name}`, { sort: "a" })).body.data.map(({ id }: Row) => id);
    const fans = { name: "fans", type: "many-to-many", table: people.name };
    const made = await table({ relations: [fans] }, [{ fans: ids }]);
    const [{ id }] = made.relations;
    await patchConfirmed(admin, made.id, { relations: [{ id, type: "many-to-one" }] });
    const byHand = { relations: [{ id, type: "many-to-many", inverse: "fanOf" }] };
    expect((await admin.patch(`/svc_table/${made.id}`, byHand)).status).toBe(200);
    expect((await undone(made.id)).relations[0]).toMatchObject({ type: "many-to-many", inverse: "fanOf" });
    const { body } = await admin.get(`/${made.name}`, { fields: "fans", deep: { fans: { sort: "a" } } });
    expect(body.data).toEqual([{ fans: ids.map((each: string) => ({ id: each })) }]);
  });

  it("keeps settings that a relation got since it led elsewhere", async () => {
    const [people, places] = [await table(TEXT, [{ a: "Ann" }]), await table(TEXT)];
    const [ann] = (await admin.get(`/${people.name}`)).body.data;
    const by = { name: "by", type: "many-to-one", table: people.name, required: true };
    const made = await table({ relations: [by] }, [{ by: ann.id }]);
    const [{ id }] = made.relations;
    await patchConfirmed(admin, made.id, {
      relations: [{ id, table: places.name, required: false, onDelete: "SET NULL" }],
    });
    const since = { relations: [{ id, onDelete: "CASCADE" }] };
    expect((await admin.patch(`/svc_table/${made.id}`, since)).status).toBe(200);
    const back = { table: people.name, required: true, onDelete: "CASCADE" };
    expect((await undone(made.id)).relations[0]).toMatchObject(back);
    expect((await admin.get(`/${made.name}`, { fields: "by" })).body.data).toEqual([{ by: { id: ann.id } }]);
  });

  it("brings a list of links back where a single one was written in its place", async () => {
    const people = await table(TEXT, [{ a: "Ann" }]);
    const [ann] = (await admin.get(`/${people.name}`)).body.data;
    const fans = { name: "fans", type: "many-to-many", table: people.name };
    const made = await table({ ...TEXT, relations: [fans] }, [{ a: "lost" }, { a: "single" }]);
    await collection(made.name).updateOne({ a: "lost" }, { $set: { fansIds: new ObjectId() } });
    await collection(made.name).updateOne({ a: "single" }, { $set: { fansIds: new ObjectId(ann.id) } });
    await patchConfirmed(admin, made.id, { relations: [] });
    await undone(made.id);
    const { body } = await admin.get(`/${made.name}`, { fields: "fans", sort: "a" });
    expect(body.data).toEqual([{ fans: [] }, { fans: [{ id: ann.id }] }]);
  });

  /** A table with a link to a record of another one, whose relation was removed. */
  async function unrelated(): Promise<{ orders: Row; order: Row; lines: Row; line: Row }> {
    const orders = await table(TEXT, [{ a: "first" }]);
    const [order] = (await admin.get(`/${orders.name}`)).body.data;
    const relation = { name: "order", type: "many-to-one", table: orders.name };
    const lines = await table({ ...TEXT, relations: [relation] });
    const line = await make(admin, lines.name, { order: order.id });
    await patchConfirmed(admin, lines.id, { relations: [] });
    return { orders, order, lines, line };
  }

  it("brings a relation back to the table it led to, whatever that and others are called now", async () => {
    const { orders, order, lines } = await unrelated();
    const old = `${orders.name}_old`;
    expect((await admin.patch(`/svc_table/${orders.id}`, { name: old })).status).toBe(200);
    await makeTable(admin, { name: orders.name, ...TEXT });
    expect((await undone(lines.id)).relations[0].table).toBe(old);
    const { body } = await admin.get(`/${lines.name}`, { fields: "order.a" });
    expect(body.data).toEqual([{ order: { id: order.id, a: "first" } }]);
  });

  it("of a relation whose table is gone is 409 and names it, also when another has its name", async () => {
    const { orders, order, lines, line } = await unrelated();
    await deleteConfirmed(admin, orders.id);
    const next = await makeTable(admin, { name: orders.name, ...TEXT });
    const { status, body } = await undo(lines.id);
    expect([status, body.message]).toEqual([
      409,
      [
        `relations.order: the table "${orders.name}" (${orders.id}) that it led to was deleted; undo that first.`,
      ],
    ]);
    expect(body.error.details).toEqual({ relations: ["order"], tables: [orders.id] });
    expect((await admin.delete(`/svc_table/${next.id}`)).status).toBe(200);
    await undone(orders.id);
    await undone(lines.id);
    expect((await admin.get(`/${lines.name}/${line.id}`, { fields: "order" })).body.data).toEqual([
      { order: { id: order.id } },
    ]);
  });

  it("brings a relation of a table to itself back after the table was renamed", async () => {
    count += 1;
    const made = await makeTable(admin, {
      name: `t${count}`,
      ...TEXT,
      relations: [{ name: "parent", type: "many-to-one", table: `t${count}` }],
    });
    const root = await make(admin, made.name, { a: "root" });
    await make(admin, made.name, { a: "leaf", parent: root.id });
    await patchConfirmed(admin, made.id, { relations: [] });
    const name = `${made.name}_renamed`;
    await admin.patch(`/svc_table/${made.id}`, { name });
    expect((await undone(made.id)).relations[0].table).toBe(name);
    const { body } = await admin.get(`/${name}`, { fields: "parent.a", filter: { a: "leaf" } });
    expect(body.data).toEqual([{ parent: { id: root.id, a: "root" } }]);
  });

  it("undoes the change that was made last, whichever clock its id is from", async () => {
    const b = { name: "b", type: "string" };
    const made = await table({ columns: [...TEXT.columns, b] }, [{ a: "x", b: "y" }]);
    await patchConfirmed(admin, made.id, { columns: [{ id: made.columns[1].id }] });
    await patchConfirmed(admin, made.id, { columns: [] });
    const changes = collection("_changes");
    const first = await changes.findOneAndDelete({ table: made.id }, { sort: { _id: 1 } });
    await changes.insertOne({ ...first, _id: new ObjectId() });
    expect((await undone(made.id)).columns.map(({ name }: Row) => name)).toEqual(["b"]);
    expect((await undone(made.id)).columns.map(({ name }: Row) => name).toSorted()).toEqual(["a", "b"]);
  });

  it("goes on to the change before one of which nothing is left, and is 409 when there is none", async () => {
    const b = { name: "b", type: "string" };
    const made = await table({ columns: [...TEXT.columns, b] }, [{ a: "x", b: "many" }]);
    await patchConfirmed(admin, made.id, { columns: [{ id: made.columns[1].id }] });
    const { columns } = await patchConfirmed(admin, made.id, {
      columns: [{ id: made.columns[1].id, type: "int" }],
    });
    const other = { columns: [{ id: columns[0].id, type: "float" }] };
    expect((await admin.patch(`/svc_table/${made.id}`, other)).status).toBe(200);
    expect((await undone(made.id)).columns.map(({ name }: Row) => name)).toEqual(["a", "b"]);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x"]);
    expect((await undo(made.id)).status).toBe(409);
    // What the passed one took away is swept up all the same.
    const passed = { table: made.id, state: "done", undoable: false, "before.columns.type": "string" };
    expect(await client.db().collection("_changes").countDocuments(passed)).toBeGreaterThan(0);
  });

  it("says of a confirmed change that it leaves as it is what that was, before it goes on to the one before", async () => {
    const made = await table({ ...TEXT, softDelete: true }, [{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [] });
    const living = { role: null, table: made.name, action: "read", filter: { deletedAt: null } };
    await make(admin, "svc_permission", living);
    await patchConfirmed(admin, made.id, { softDelete: false });
    const { status, body } = await undo(made.id);
    expect([status, body.error.code, body.message]).toEqual([
      409,
      "CONFLICT",
      expect.stringMatching(/softDelete/),
    ]);
    expect((await admin.get(`/${made.name}`, { fields: "a" })).status).toBe(400);
    await undone(made.id);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x"]);
  });

  it("brings a deleted table back by its id, with its records, links and uniques", async () => {
    const people = await table(TEXT, [{ a: "Ann" }]);
    const [ann] = (await admin.get(`/${people.name}`)).body.data;
    const made = await table(
      {
        columns: [{ name: "a", type: "string", unique: true }],
        relations: [{ name: "owner", type: "many-to-one", table: people.name, inverse: "things" }],
      },
      [{ a: "x", owner: ann.id }],
    );
    const before = (await admin.get(`/${made.name}`)).body.data;
    await deleteConfirmed(admin, made.id);
    const back = await undone(made.id);
    const { createdAt: _created, updatedAt: _updated, change: _change, ...definition } = made;
    expect(back).toMatchObject(definition);
    expect((await admin.get(`/${made.name}`)).body.data).toEqual(before);
    expect((await admin.post(`/${made.name}`, { a: "x" })).status).toBe(409);
    expect(
      (await admin.get(`/${people.name}/${ann.id}`, { fields: "things" })).body.data[0].things.length,
    ).toBe(1);
  });

  it("by the name of deleted tables says their ids, the last one first", async () => {
    const name = "made_again";
    const told = async () => {
      const { status, body } = await undo(name);
      expect(status).toBe(404);
      return body.message.replace("Tables are addressed by their id, not by their name.", "");
    };
    const of = (...ids: string[]) =>
      ` Of deleted tables called "${name}" an undo brings back ${ids.join(", ")}.`;
    const first = await makeTable(admin, { name, ...TEXT });
    expect((await admin.delete(`/svc_table/${first.id}`)).status).toBe(200);
    expect(await told()).toBe(of(first.id));
    const second = await makeTable(admin, { name: "otherwise", ...TEXT });
    await admin.patch(`/svc_table/${second.id}`, { name });
    expect(await told()).toBe(` That of "${name}" is ${second.id}.${of(first.id)}`);
    await make(admin, name, { a: "x" });
    await deleteConfirmed(admin, second.id);
    expect(await told()).toBe(of(second.id, first.id));
    await undone(first.id);
    expect(await told()).toBe(` That of "${name}" is ${first.id}.${of(second.id)}`);
    const visitor = await apiOf(`${stack.appUrl}/api`).post(`/svc_table/${name}/undo`);
    expect([visitor.status, JSON.stringify(visitor.body).includes(second.id)]).toEqual([401, false]);
  });

  it("of a deleted table whose name was taken since is 409, and works once the name is free", async () => {
    const made = await table(TEXT, [{ a: "old" }]);
    await deleteConfirmed(admin, made.id);
    const next = await makeTable(admin, { name: made.name, ...TEXT });
    await make(admin, made.name, { a: "new" });
    expect(await valuesOf(admin, made.name, "a")).toEqual(["new"]);
    const { status, body } = await undo(made.id);
    expect([status, body.error.code]).toEqual([409, "DUPLICATE_RESOURCE"]);
    await admin.patch(`/svc_table/${next.id}`, { name: `${made.name}_next` });
    await undone(made.id);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["old"]);
    expect(await valuesOf(admin, `${made.name}_next`, "a")).toEqual(["new"]);
  });

  it("keeps what was changed since, and goes back one change at a time", async () => {
    const made = await table(
      { columns: [...TEXT.columns, { name: "b", type: "int" }, { name: "c", type: "string" }] },
      [{ a: "x", b: 1, c: "z" }],
    );
    const [a, b, c] = made.columns;
    await patchConfirmed(admin, made.id, { columns: [{ id: b.id }, { id: c.id }] });
    await patchConfirmed(admin, made.id, { columns: [{ id: c.id }] });
    const added = [
      { id: c.id, name: "renamed" },
      { name: "d", type: "int" },
    ];
    expect((await admin.patch(`/svc_table/${made.id}`, { columns: added })).status).toBe(200);
    const names = (row: Row): string[] => row.columns.map(({ name }: Row) => name);
    expect(names(await undone(made.id))).toEqual(["b", "renamed", "d"]);
    const twice = await undone(made.id);
    expect(names(twice)).toEqual(["a", "b", "renamed", "d"]);
    expect(twice.columns[0]).toEqual(a);
    const { body } = await admin.get(`/${made.name}`, { fields: "a,b,renamed,d" });
    expect(body.data).toEqual([{ a: "x", b: 1, renamed: "z", d: null }]);
    expect((await undo(made.id)).status).toBe(409);
  });

  it("brings uniques and indexes back by the names that their members have now", async () => {
    const [a, b] = [
      { name: "a", type: "string" },
      { name: "b", type: "string" },
    ];
    const made = await table({ columns: [a, b], uniques: [["a", "b"]], indexes: [["-b", "a"]] }, [
      { a: "x", b: "y" },
    ]);
    const kept = made.columns[1];
    await patchConfirmed(admin, made.id, { columns: [{ id: kept.id }] });
    const renamed = await admin.patch(`/svc_table/${made.id}`, { columns: [{ id: kept.id, name: "c" }] });
    expect([renamed.status, renamed.body.data[0].uniques]).toEqual([200, []]);
    const back = await undone(made.id);
    expect([back.uniques, back.indexes]).toEqual([[["a", "c"]], [["-c", "a"]]]);
    const { status, body } = await admin.post(`/${made.name}`, { a: "x", c: "y" });
    expect([status, body.error.details]).toEqual([409, { fields: ["a", "c"] }]);
  });

  it("of a column whose name another has by now is 409 that says so, and works once it is free", async () => {
    const made = await table(TEXT, [{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [] });
    const next = await admin.patch(`/svc_table/${made.id}`, { columns: [{ name: "a", type: "int" }] });
    const { status, body } = await undo(made.id);
    expect([status, body.error.code, body.message]).toEqual([
      ...[409, "CONFLICT", [expect.stringMatching(/"a"/)]],
    ]);
    const columns = [{ id: next.body.data[0].columns[0].id, name: "b" }];
    await admin.patch(`/svc_table/${made.id}`, { columns });
    await undone(made.id);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x"]);
  });

  it("of a column that a new one took the place and the name of keeps that one by a free name", async () => {
    const made = await table({ ...TEXT, uniques: [["a", "createdAt"]] }, [{ a: "x" }]);
    const columns = [
      { name: "a", type: "int" },
      { name: "a_2", type: "int" },
    ];
    await patchConfirmed(admin, made.id, { columns, uniques: [["a", "createdAt"]] });
    await make(admin, made.name, { a: 1 });
    const back = await undone(made.id);
    expect(back.uniques).toEqual([["a", "createdAt"]]);
    expect(back.columns.map(({ name, type }: Row) => [name, type])).toEqual([
      ["a", "string"],
      ["a_3", "int"],
      ["a_2", "int"],
    ]);
    const { data } = (await admin.get(`/${made.name}`, { fields: "a,a_3", sort: "id" })).body;
    expect(data).toEqual([
      { a: "x", a_3: null },
      { a: null, a_3: 1 },
    ]);
  });

  it("of a member that was renamed, and a new one given its name, leads back to its name", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "b", type: "string" }] }, [
      { a: "x", b: "y" },
    ]);
    const columns = [
      { id: made.columns[0].id, name: "c" },
      { name: "a", type: "int" },
    ];
    await patchConfirmed(admin, made.id, { columns });
    const back = await undone(made.id);
    expect(back.columns.map(({ name }: Row) => name)).toEqual(["a", "b", "a_2"]);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x"]);
  });

  it("is refused where another member took a name since, and says which by its name", async () => {
    const others = await table({});
    const link = { name: "link", type: "many-to-one", table: others.name, inverse: "links" };
    const made = await table({ ...TEXT, relations: [link] }, [{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [], relations: [] });
    const taking = { columns: [{ name: "a", type: "int" }], relations: [{ ...link, name: "other" }] };
    expect((await admin.patch(`/svc_table/${made.id}`, taking)).status).toBe(200);
    const { status, body } = await undo(made.id);
    expect([status, body.error.code, body.message]).toEqual([
      409,
      "CONFLICT",
      [
        `columns.a.name: "${made.name}" has a "a" already`,
        `relations.other.inverse: "${others.name}" has a "links" already`,
      ],
    ]);
  });

  it("of a relation in whose place a new one was made, by its name at both ends, keeps both", async () => {
    const others = await table({ columns: [{ name: "links_2", type: "string" }] });
    const link = { name: "link", type: "many-to-one", table: others.name, inverse: "links" };
    const made = await table({ ...TEXT, relations: [link] });
    const { id } = await make(admin, others.name, {});
    await make(admin, made.name, { a: "x", link: id });
    await patchConfirmed(admin, made.id, { relations: [{ ...link, type: "many-to-many" }] });
    const back = await undone(made.id);
    expect(back.relations.map(({ name, type, inverse }: Row) => [name, type, inverse])).toEqual([
      ["link", "many-to-one", "links"],
      ["link_2", "many-to-many", "links_3"],
    ]);
    const read = await admin.get(`/${others.name}`, { fields: "links.a,links_3.a" });
    expect(read.body.data).toEqual([{ links: [expect.objectContaining({ a: "x" })], links_3: [] }]);
  });

  it("is refused where values have become equal since: 409 with some of them, nothing changed", async () => {
    const made = await table({ columns: [{ name: "a", type: "string", unique: true }] }, [
      { a: "1" },
      { a: "x" },
    ]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int", unique: false }) });
    await make(admin, made.name, { a: 1 });
    const { status, body } = await undo(made.id);
    expect([status, body.error.code, body.error.details.confirmHash]).toEqual([
      409,
      "DESTRUCTIVE_CHANGE",
      null,
    ]);
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, 1, 1]);
  });

  it("is refused where a restored record shares a value of the removed column, until one of the two is deleted", async () => {
    const columns = [TEXT.columns[0], { name: "code", type: "string", unique: true }];
    const made = await table({ softDelete: true, columns }, [{ code: "1" }]);
    const [{ id }] = (await admin.get(`/${made.name}`)).body.data;
    await admin.delete(`/${made.name}/${id}`);
    const other = await make(admin, made.name, { code: "1" });
    await patchConfirmed(admin, made.id, { columns: [{ id: made.columns[0].id }] });
    expect((await admin.post(`/${made.name}/${id}/restore`)).status).toBe(200);
    const { status, body } = await undo(made.id);
    expect({ status, message: body.message }).toEqual({
      status: 409,
      message: [expect.stringMatching(/^code: 2 of the records .* delete one of those that share it first/)],
    });
    expect(body.error.details.changes[0].examples.toSorted()).toEqual([id, other.id].toSorted());
    await admin.delete(`/${made.name}/${id}`);
    await undone(made.id);
    expect(await valuesOf(admin, made.name, "code")).toEqual(["1"]);
  });

  it("brings a singleton back only where it holds one record, which is its only one then", async () => {
    const made = await table({ ...TEXT, singleton: true }, [{ a: "one" }]);
    await patchConfirmed(admin, made.id, { singleton: false, columns: [] });
    const second = await make(admin, made.name, {});
    const refused = await undo(made.id);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      [expect.stringMatching(/^singleton: 2 of the records .* one record at most$/)],
    ]);
    const [first] = (await admin.get(`/${made.name}`, { sort: "id" })).body.data;
    await admin.delete(`/${made.name}/${first.id}`);
    expect(await undone(made.id)).toMatchObject({ singleton: true });
    expect(await valuesOf(admin, made.name, "id")).toEqual([second.id]);
    expect((await admin.post(`/${made.name}`, {})).status).toBe(409);
  });

  it("of a table where nothing was taken away is 409, of an unknown one 404, other methods 405", async () => {
    const made = await table(TEXT, [{ a: "x" }]);
    await admin.patch(`/svc_table/${made.id}`, { description: "harmless" });
    expect((await undo(made.id)).status).toBe(409);
    expect((await undo("0".repeat(24))).status).toBe(404);
    const answer = await admin.get(`/svc_table/${made.id}/undo`);
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });
});
