// Contract 7: what a rule withheld stays withheld when a change of tables is undone, whatever has become of the rule
// meanwhile, and a rule is brought back with what its names meant, which nothing else takes over until then.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";
import { deleteConfirmed, patchConfirmed } from "../tables/change.js";

let stack: Stack;
let admin: Api;
let visitor: Api;
let database: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  visitor = apiOf(stack.dataUrl);
});

afterAll(async () => {
  await database?.close();
  await stack?.stop();
});

let count = 0;
/** A table with three texts and a record of them. */
async function notes(): Promise<Row> {
  count += 1;
  const columns = ["secret", "a", "title"].map((name) => ({ name, type: "string" }));
  const made = await makeTable(admin, { name: `undone${count}`, columns });
  await make(admin, made.name, { secret: "SECRET", a: "A", title: "T" });
  return made;
}

const rule = ({ name }: Row, parts: object): Promise<Row> =>
  make(admin, "svc_permission", { role: null, table: name, action: "read", ...parts });
const now = async (it: Row): Promise<Row> => (await admin.get(`/svc_permission/${it.id}`)).body.data[0];
async function changed(path: string, body: object): Promise<Row> {
  const answer = await admin.patch(path, body);
  expect([answer.status, answer.body.message]).toEqual([200, "Success"]);
  return answer.body.data[0];
}
async function undone({ id }: Row): Promise<Row> {
  const { status, body } = await admin.send("POST", `/svc_table/${id}/undo`);
  expect([status, body.message]).toEqual([200, "Success"]);
  return body.data[0];
}
const column = (table: Row, name: string): Row => table.columns.find((each: Row) => each.name === name);
const without = (table: Row, name: string): Row[] =>
  table.columns.filter((each: Row) => each.name !== name).map(({ id }: Row) => ({ id }));
const removed = (table: Row, name = "secret") =>
  patchConfirmed(admin, table.id, { columns: without(table, name) });
const renamed = (table: Row, name: string, to: string) =>
  changed(`/svc_table/${table.id}`, {
    columns: table.columns.map((each: Row) => ({ id: each.id, ...(each.name === name ? { name: to } : {}) })),
  });
const shown = async ({ name }: Row): Promise<Row[]> => {
  const { status, body } = await visitor.get(`/${name}`);
  expect(status).toBe(200);
  return body.data.map(({ id: _id, createdAt: _created, updatedAt: _updated, ...rest }: Row) => rest);
};

/** What happens to a table without its secret, or to the rule about it, before the secret comes back. */
type Meanwhile = (table: Row, rule: Row) => Promise<unknown>;

it("a new column that took the name of one that a rule leaves out is left out under its next name, too", async () => {
  const table = await notes();
  const { id } = await rule(table, { fields: "-secret" });
  const columns = [...without(table, "secret"), { name: "secret", type: "string" }];
  await patchConfirmed(admin, table.id, { columns });
  const [record] = (await admin.get(`/${table.name}`)).body.data;
  await changed(`/${table.name}/${record.id}`, { secret: "NEW" });
  expect(await shown(table)).toEqual([{ a: "A", title: "T" }]);
  await undone(table);
  expect(await shown(table)).toEqual([{ a: "A", title: "T" }]);
  expect((await now({ id })).fields).toBe("-secret,-secret_2");
});

describe("a column that a rule leaves out is still left out when it comes back", () => {
  const edited =
    (body: object): Meanwhile =>
    (_table, { id }) =>
      changed(`/svc_permission/${id}`, body);
  it.each<[string, string, Meanwhile]>([
    ["nothing was done", "-secret", async () => {}],
    ["its table was renamed", "-secret", ({ id, name }) => changed(`/svc_table/${id}`, { name: `${name}x` })],
    ["another that it leaves out was renamed", "-secret,-a", (table) => renamed(table, "a", "b")],
    ["the rule was described", "-secret", edited({ description: "for all" })],
    ["the rule was written anew with *", "-secret,-a", edited({ fields: "*,-a" })],
    ["the rule was written anew without names", "-secret,-a", edited({ fields: null })],
    [
      "another was removed, and came back",
      "*,-secret,-a",
      async (table) => {
        await removed(table, "a");
        await undone(table);
      },
    ],
    [
      "the table was deleted, and came back",
      "-secret",
      async (table) => {
        await deleteConfirmed(admin, table.id);
        await undone(table);
      },
    ],
  ])("where meanwhile %s", async (_what, fields, meanwhile) => {
    const made = await notes();
    const given = await rule(made, { fields });
    await meanwhile(await removed(made), given);
    const back = await undone(made);
    expect(back.columns.map(({ id }: Row) => id)).toContain(column(made, "secret").id);
    const [row] = await shown(back);
    expect(Object.keys(row ?? {})).toContain("title");
    expect(JSON.stringify(row)).not.toContain("SECRET");
    expect(await now(given)).toMatchObject({ isEnabled: true, fields: expect.stringMatching(/-secret\b/) });
  });

  it("where a rule that was switched off without another was written anew", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "-secret", filter: { a: "A" } });
    await patchConfirmed(admin, made.id, { columns: [{ id: column(made, "title").id }] });
    expect(await now(given)).toMatchObject({ isEnabled: false });
    await changed(`/svc_permission/${given.id}`, { fields: "*", filter: null, isEnabled: true });
    expect(await shown(made)).toEqual([{ title: "T" }]);
    const back = await undone(made);
    expect(await shown(back)).toEqual([{ title: "T", a: "A" }]);
  });

  it("under the name that it has when it is back, and not where the rule names what it shows", async () => {
    const made = await notes();
    const [rest, list] = [await rule(made, { fields: "-secret" }), await rule(made, { fields: "-secret" })];
    await removed(made);
    await changed(`/svc_permission/${list.id}`, { fields: "title" });
    await changed(`/svc_permission/${rest.id}`, { description: "for all" });
    await undone(made);
    expect([(await now(rest)).fields, (await now(list)).fields]).toEqual(["*,-secret", "title"]);
  });

  it("unless the rule was opened while it was there", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "-secret" });
    await renamed(await removed(made), "a", "b");
    const back = await undone(made);
    await changed(`/svc_permission/${given.id}`, { fields: "*" });
    const opened = [{ title: "T", b: "A", secret: "SECRET" }];
    expect(await shown(made)).toEqual(opened);
    await renamed(await removed(back), "title", "heading");
    await undone(made);
    expect(await shown(made)).toEqual([{ heading: "T", b: "A", secret: "SECRET" }]);
  });

  it("as the other side of a relation, which comes back without an undo", async () => {
    const made = await notes();
    const relation = { name: "note", type: "many-to-one", table: made.name, inverse: "remarks" };
    const remarks = await makeTable(admin, {
      name: `${made.name}_remarks`,
      columns: [],
      relations: [relation],
    });
    const given = await rule(made, { fields: "-remarks" });
    const other = (inverse: string | null) =>
      changed(`/svc_table/${remarks.id}`, { relations: [{ id: remarks.relations[0].id, inverse }] });
    await other(null);
    expect(await now(given)).toMatchObject({ fields: "*" });
    await other("comments");
    expect(await now(given)).toMatchObject({ isEnabled: true, fields: "*,-comments" });
  });
});

describe("a value that a rule sets is still set when its column comes back", () => {
  it.each<[string, Meanwhile]>([
    ["another was renamed", (table) => renamed(table, "title", "heading")],
    ["the rule was written anew", (_table, { id }) => changed(`/svc_permission/${id}`, { presets: null })],
  ])("where meanwhile %s", async (_what, meanwhile) => {
    const made = await notes();
    const given = await rule(made, { action: "create", presets: { secret: "no", title: "x" } });
    await meanwhile(await removed(made), given);
    await undone(made);
    expect((await visitor.post(`/${made.name}`, { secret: "yes", a: "new" })).status).toBe(201);
    const { body } = await admin.get(`/${made.name}`, { filter: { a: "new" } });
    expect(body.data).toEqual([expect.objectContaining({ secret: "no" })]);
  });
});

describe("a rule that was switched off without something that it names", () => {
  const withNew = (table: Row, name: string) =>
    changed(`/svc_table/${table.id}`, {
      columns: [...table.columns.map(({ id }: Row) => ({ id })), { name, type: "string" }],
    });

  it("does not follow another table that has the name of its own, and is about its own when that is back", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "title" });
    await deleteConfirmed(admin, made.id);
    const other = await makeTable(admin, { name: made.name, columns: [{ name: "title", type: "string" }] });
    const name = `${made.name}x`;
    await changed(`/svc_table/${other.id}`, { name });
    expect(await now(given)).toMatchObject({ table: made.name, isEnabled: false });
    await undone(made);
    expect(await now(given)).toMatchObject({ table: made.name, isEnabled: true });
    expect(await shown(made)).toEqual([{ title: "T" }]);
    expect((await visitor.get(`/${name}`)).status).toBe(401);
  });

  it.each<[string, (table: Row) => Promise<Row>]>([
    ["a later one", async (table) => withNew(await removed(table), "secret")],
    [
      "one of the same change",
      (table) =>
        patchConfirmed(admin, table.id, {
          columns: [...without(table, "secret"), { name: "secret", type: "string" }],
        }),
    ],
  ])("does not follow another column that has the name of its own: %s", async (_which, replaced) => {
    const made = await notes();
    const filter = { secret: "SECRET" };
    const given = await rule(made, { filter, fields: "title" });
    const byHand = await rule(made, { filter, fields: "a", isEnabled: false });
    await renamed(await replaced(made), "secret", "other");
    expect(await now(given)).toMatchObject({ filter, isEnabled: false });
    expect(await now(byHand)).toMatchObject({ filter, isEnabled: false });
    await undone(made);
    expect(await now(given)).toMatchObject({ filter, fields: "title", isEnabled: true });
    expect(await now(byHand)).toMatchObject({ filter, fields: "a", isEnabled: false });
    expect(await shown(made)).toEqual([{ title: "T" }]);
  });

  it("sets no value in a later column that has the name of its own", async () => {
    const made = await notes();
    const parts = { action: "update", presets: { secret: "x" } };
    const given = await rule(made, { ...parts, filter: { secret: "SECRET" } });
    await renamed(await withNew(await removed(made), "secret"), "secret", "other");
    await undone(made);
    expect(await now(given)).toMatchObject({ isEnabled: true, presets: { secret: "x" } });
  });

  it("leaves out what took the name of one that it left out, when it is back", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "-secret", filter: { secret: "SECRET" } });
    const replaced = await patchConfirmed(admin, made.id, {
      columns: [...without(made, "secret"), { name: "secret", type: "string" }],
    });
    await renamed(replaced, "secret", "other");
    await undone(made);
    expect(await now(given)).toMatchObject({ isEnabled: true, fields: "-secret,-other" });
  });

  it("stays off when somebody has written it since", async () => {
    const made = await notes();
    const given = await rule(made, { filter: { secret: "SECRET" } });
    await renamed(await removed(made), "a", "b");
    await changed(`/svc_permission/${given.id}`, { filter: { b: "A" } });
    await undone(made);
    expect(await now(given)).toMatchObject({ isEnabled: false, filter: { b: "A" } });
  });
});

describe("a rule comes back with an undo by the names of then", () => {
  type Renamed = (table: Row, near: Row) => Promise<unknown>;
  it.each<[string, Renamed, object]>([
    ["a column that it names", (table) => renamed(table, "a", "b"), { fields: "b,title" }],
    [
      "its table",
      ({ id, name }) => changed(`/svc_table/${id}`, { name: `${name}x` }),
      { table: expect.stringMatching(/x$/) },
    ],
    [
      "a column of another table",
      (_table, near) => renamed(near, "title", "heading"),
      { filter: { _or: [{ secret: "SECRET" }, { link: { heading: "never" } }] } },
    ],
  ])("where meanwhile %s was renamed", async (_what, rename, wanted) => {
    const near = await notes();
    count += 1;
    const made = await makeTable(admin, {
      name: `undone${count}`,
      columns: ["secret", "a", "title"].map((name) => ({ name, type: "string" })),
      relations: [{ name: "link", type: "many-to-one", table: near.name, inverse: null }],
    });
    const parts = {
      fields: "a,title",
      filter: { _or: [{ secret: "SECRET" }, { link: { title: "never" } }] },
    };
    const given = await rule(made, parts);
    await make(admin, made.name, { secret: "SECRET", a: "A", title: "T" });
    await rename(await removed(made), near);
    expect(await now(given)).toMatchObject({ isEnabled: false });
    const back = await undone(made);
    expect(await now(given)).toMatchObject({ table: back.name, ...parts, ...wanted, isEnabled: true });
    expect(await shown(back)).toEqual([expect.objectContaining({ title: "T" })]);
  });

  it("where meanwhile another was removed, and came back", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "a,title", filter: { secret: "SECRET" } });
    await removed(await removed(made), "a");
    expect(await now(given)).toMatchObject({ isEnabled: false, fields: "title" });
    await undone(made);
    await undone(made);
    expect(await now(given)).toMatchObject({ isEnabled: true, fields: "a,title" });
    expect(await shown(made)).toEqual([{ a: "A", title: "T" }]);
  });

  it("where an earlier version has noted what it was", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "a,title", filter: { secret: "SECRET" } });
    await removed(made);
    const rules = database.db().collection("svc_permission");
    const ofRule = { table: made.name };
    const { change, at, losses } = (await rules.findOne(ofRule))?._followed ?? {};
    const noted = { change, at, former: { isEnabled: true }, meaning: losses?.[0].meaning };
    await rules.updateOne(ofRule, { $set: { _followed: noted } });
    await undone(made);
    expect(await now(given)).toMatchObject({ isEnabled: true, fields: "a,title" });
  });

  it("where it was on all the time", async () => {
    const made = await notes();
    const given = await rule(made, { fields: "a,secret" });
    await renamed(await removed(made), "a", "b");
    await undone(made);
    expect(await now(given)).toMatchObject({ isEnabled: true, fields: "b,secret" });
  });

  it("where one kept a name that the same change gave it, and another has taken its own", async () => {
    const made = await notes();
    const filter = { _or: [{ secret: "never" }, { a: "A" }] };
    const given = await rule(made, { filter });
    const [a, title] = [column(made, "a"), column(made, "title")];
    await patchConfirmed(admin, made.id, { columns: [{ id: a.id, name: "e" }, { id: title.id }] });
    const columns = [
      { id: a.id, name: "f" },
      { id: title.id, name: "a" },
    ];
    await changed(`/svc_table/${made.id}`, { columns });
    await undone(made);
    const wanted = { _or: [{ secret: "never" }, { f: "A" }] };
    expect(await now(given)).toMatchObject({ isEnabled: true, filter: wanted });
    expect(await shown(made)).toEqual([{ secret: "SECRET", f: "A", a: "T" }]);
  });
});

describe("a rule that was switched off stays off where an undo can't bring its names back", () => {
  const condition = { _or: [{ secret: "never" }, { a: "public" }] };
  async function switchedOff(filter: object, more: object = {}): Promise<{ made: Row; given: Row }> {
    count += 1;
    const columns = ["secret", "a", "title"].map((name) => ({ name, type: "string" }));
    const made = await makeTable(admin, { name: `undone${count}`, columns, ...more });
    await make(admin, made.name, { secret: "SECRET", a: "private", title: "public" });
    const given = await rule(made, { filter });
    expect(await shown(made)).toEqual([]);
    return { made, given };
  }
  const expectOff = async (made: Row, given: Row): Promise<void> => {
    expect(await now(given)).toMatchObject({ isEnabled: false });
    expect((await visitor.get(`/${made.name}`)).status).toBe(401);
  };

  it("where one of them is another's by now, by a change that did not reach the rule", async () => {
    const [near, far] = [await notes(), await notes()];
    const filter = { _or: [...condition._or, { link: { title: "never" } }] };
    const relations = [{ name: "link", type: "many-to-one", table: near.name, inverse: null }];
    const { made, given } = await switchedOff(filter, { relations });
    await removed(made);
    await changed(`/svc_table/${made.id}`, {
      columns: [
        { id: column(made, "a").id, name: "e" },
        { id: column(made, "title").id, name: "a" },
      ],
      relations: [{ id: made.relations[0].id, table: far.name }],
    });
    await undone(made);
    await expectOff(made, given);
  });

  it("where a relation leads to another table by now", async () => {
    const [near, far] = [await notes(), await notes()];
    const relations = [{ name: "link", type: "many-to-one", table: near.name, inverse: null }];
    const filter = { _or: [{ secret: "never" }, { link: { title: "T" } }] };
    const { made, given } = await switchedOff(filter, { relations });
    await removed(made);
    await changed(`/svc_table/${made.id}`, {
      relations: [{ id: made.relations[0].id, table: far.name }],
    });
    await undone(made);
    await expectOff(made, given);
  });
});
