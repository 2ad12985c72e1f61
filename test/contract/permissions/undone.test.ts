// Contract 7: a rule is only brought back by an undo where its names mean what they meant.
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
const shown = async ({ name }: Row): Promise<Row[]> => {
  const { status, body } = await visitor.get(`/${name}`);
  expect(status).toBe(200);
  return body.data.map(({ id: _id, createdAt: _created, updatedAt: _updated, ...rest }: Row) => rest);
};

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
