// Contract 7: what a rule withheld stays withheld when a change of tables is undone, whatever has become of the rule
// meanwhile, and a rule is only brought back where its names mean what they meant.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";
import { patchConfirmed } from "../tables/change.js";

let stack: Stack;
let admin: Api;
let visitor: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  visitor = apiOf(stack.dataUrl);
});

afterAll(() => stack?.stop());

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
  make(admin, "svc_permission", { table: name, action: "read", ...parts });
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
        const { body } = await admin.delete(`/svc_table/${table.id}`);
        await admin.delete(`/svc_table/${table.id}?confirm=${body.error.details.confirmHash}`);
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

  it("where one of them keeps a name that the same change gave it, and another has taken its own", async () => {
    const { made, given } = await switchedOff(condition);
    const [a, title] = [column(made, "a"), column(made, "title")];
    await patchConfirmed(admin, made.id, { columns: [{ id: a.id, name: "e" }, { id: title.id }] });
    const columns = [
      { id: a.id, name: "f" },
      { id: title.id, name: "a" },
    ];
    await changed(`/svc_table/${made.id}`, { columns });
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
