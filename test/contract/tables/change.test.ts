// Contract 6: PATCH /svc_table/{id}. What keeps data, what is refused until it is confirmed, what never makes sense.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row, valuesOf } from "../records/make.js";
import { columnsWith, expectDestructive, patchConfirmed, tableNamed } from "./change.js";

let stack: Stack;
let admin: Api;
let database: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  await makeTable(admin, { name: "people", columns: [{ name: "name", type: "string" }] });
});

afterAll(async () => {
  await database.close();
  await stack.stop();
});

let count = 0;
/** A fresh table with these columns and records. */
async function table(definition: object, records: readonly object[] = []): Promise<Row> {
  count += 1;
  const made = await makeTable(admin, { name: `t${count}`, ...definition });
  if (records.length > 0) expect((await admin.post(`/${made.name}`, records)).status).toBe(201);
  return made;
}
const patch = (id: string, body: object, query = {}): Promise<Answer> =>
  admin.patch(`/svc_table/${id}`, body, query);
const texts = (...values: (string | null)[]) => values.map((a) => ({ a }));
const TEXT = { columns: [{ name: "a", type: "string" }] };

async function apply(id: string, body: object): Promise<Row> {
  const { status, body: answer } = await patch(id, body);
  expect([status, answer.message]).toEqual([200, "Success"]);
  return answer.data[0];
}

it("a rename is followed by the permission rules, on the instance that makes it at once", async () => {
  const made = await makeTable(admin, { name: "renamed_rules", columns: [{ name: "pay", type: "string" }] });
  const rule = {
    role: null,
    table: made.name,
    action: "read",
    fields: "id,pay",
    filter: { pay: { _eq: "x" } },
  };
  const { id } = await make(admin, "svc_permission", rule);
  for (const pay of ["x", "y"]) await make(admin, made.name, { pay });
  const columns = made.columns.map((column: Row) => ({ ...column, name: "wage" }));
  expect((await admin.patch(`/svc_table/${made.id}`, { name: "renamed_twice", columns })).status).toBe(200);
  const { body } = await apiOf(`${stack.appUrl}/api`).get("/renamed_twice");
  expect(body.data).toEqual([{ id: expect.any(String), wage: "x" }]);
  expect((await admin.get(`/svc_permission/${id}`)).body.data[0]).toMatchObject({
    table: "renamed_twice",
    fields: "id,wage",
    filter: { wage: { _eq: "x" } },
  });
});

describe("a change that would switch permission rules off", () => {
  const XY = {
    columns: [
      ...TEXT.columns,
      { name: "b", type: "enum", options: { values: ["x", "y"] } },
      { name: "c", type: "decimal" },
    ],
  };
  const anyone = () => apiOf(`${stack.appUrl}/api`);
  const read = async (id: string): Promise<Row> => (await admin.get(`/svc_permission/${id}`)).body.data[0];
  const rule = (table: string, parts: object): Promise<Row> =>
    make(admin, "svc_permission", { role: null, table, action: "read", ...parts });
  const cost = ({ id, table: name }: Row, why: string) => ({
    what: "rule.off",
    where: `svc_permission/${id}`,
    rows: 0,
    examples: [],
    confirmable: true,
    why: `the rule to read "${name}" would be switched off, because ${why}; what it alone shows could then be neither changed nor deleted either`,
  });

  it.each<[string, object, object, RegExp]>([
    ["another type", { a: { _starts_with: "x" } }, { a: { type: "json" } }, /^it needs "a" .* another way$/],
    [
      "a type of another order",
      { c: { _lt: "5" } },
      { c: { type: "string" } },
      /^it needs "c" .* another way$/,
    ],
    ["a type written in another way", { c: "5" }, { c: { type: "float" } }, /^filter\.c: must be a number/],
    ["fewer values of an enum", { b: "y" }, { b: { options: { values: ["x"] } } }, /^filter\.b.*: /],
  ])(
    "by %s says so before, does it when confirmed, and undo takes it back",
    async (_by, filter, change, why) => {
      const made = await table(XY);
      const { id } = await rule(made.name, { filter });
      const [[name = "", parts] = []] = Object.entries(change);
      const body = { columns: columnsWith(made, name, parts) };
      const [stored, refused] = [await read(id), await patch(made.id, body)];
      const { changes } = expectDestructive(refused, [{ what: "rule.off" }]);
      const because = changes[0]?.why.split("because ")[1]?.split("; what it alone")[0];
      expect(because).toMatch(why);
      expect(changes).toEqual([cost(stored, because)]);
      expect(refused.body.message).toEqual([`svc_permission/${id}: ${changes[0]?.why}`]);
      expect([await read(id), (await anyone().get(`/${made.name}`)).status]).toEqual([stored, 200]);
      await patchConfirmed(admin, made.id, body);
      expect([(await read(id)).isEnabled, (await anyone().get(`/${made.name}`)).status]).toEqual([
        false,
        401,
      ]);
      expect((await admin.post(`/svc_table/${made.id}/undo`)).status).toBe(200);
      expect([(await read(id)).isEnabled, (await anyone().get(`/${made.name}`)).status]).toEqual([true, 200]);
    },
  );

  it.each<[string, object, Row, RegExp]>([
    ["of another type", { a: "x" }, { a: { type: "int" } }, /^presets\.a: must be a whole number$/],
    ["that is no value any more", { b: "y" }, { b: { options: { values: ["x"] } } }, /^presets\.b: must be /],
    [
      "that is too long now",
      { a: "xyz" },
      { a: { rules: { maxLength: 2 } } },
      /^presets\.a: must have at most 2/,
    ],
    [
      "of null where there must be one",
      { a: null },
      { a: { required: true } },
      /^presets\.a: must not be null$/,
    ],
    ["of what is read-only now", { a: "x" }, { a: { readOnly: true } }, /^presets\.a: is read-only$/],
    ["by a variable that does not fit", { a: "$user.name" }, { a: { type: "int" } }, /^presets\.a: must be /],
  ])("by a preset %s does the same", async (_what, presets, change, why) => {
    const made = await table(XY);
    const { id } = await rule(made.name, { action: "create", presets });
    const create = async (): Promise<number> => (await anyone().post(`/${made.name}`, {})).status;
    expect(await create()).toBe(201);
    expect(
      (await admin.delete(`/${made.name}/${(await admin.get(`/${made.name}`)).body.data[0].id}`)).status,
    ).toBe(200);
    const [[name = "", parts] = []] = Object.entries<Row>(change);
    const body = { columns: columnsWith(made, name, parts) };
    const { changes } = expectDestructive(await patch(made.id, body), [
      { what: "rule.off", where: `svc_permission/${id}` },
    ]);
    expect(changes[0]?.why.split("because ")[1]).toMatch(why);
    await patchConfirmed(admin, made.id, body);
    expect([(await read(id)).isEnabled, await create()]).toEqual([false, 401]);
    expect((await admin.post(`/svc_table/${made.id}/undo`)).status).toBe(200);
    expect([(await read(id)).isEnabled, await create()]).toEqual([true, 201]);
  });

  it("by removing what they need says so, beside the values; what only leaves their fields does not count", async () => {
    const made = await table(XY, texts("x"));
    const [needing] = [
      await rule(made.name, { filter: { a: "x" } }),
      await rule(made.name, { fields: "a,b" }),
    ];
    const refused = await patch(made.id, { columns: [{ id: made.columns[1].id }] });
    expectDestructive(refused, [
      { what: "column.remove" },
      cost(await read(needing.id), `it needs "a" of "${made.name}", which goes`),
    ]);
  });

  it("by changing another table, through a relation, says so too", async () => {
    const far = await table(TEXT);
    const near = await table({ relations: [{ name: "up", type: "many-to-one", table: far.name }] });
    const { id } = await rule(near.name, { filter: { up: { a: { _contains: "x" } } } });
    const refused = await patch(far.id, { columns: columnsWith(far, "a", { type: "int" }) });
    const { changes } = expectDestructive(refused, [{ what: "rule.off", where: `svc_permission/${id}` }]);
    expect(changes[0]?.why).toContain(
      `because it needs "a" of "${far.name}", which is compared in another way`,
    );
  });

  it("by removing a table that they need for those of another one says so too", async () => {
    const near = await table(TEXT);
    const far = await table({
      ...TEXT,
      relations: [{ name: "up", type: "many-to-one", table: near.name, inverse: "downs" }],
    });
    const { id } = await rule(near.name, { filter: { downs: { a: "x" } } });
    await rule(far.name, { filter: { a: "x" } });
    const refused = await admin.delete(`/svc_table/${far.id}`);
    const { confirmHash } = expectDestructive(refused, [
      cost(await read(id), `it needs "downs" of "${near.name}", which goes`),
    ]);
    expect((await read(id)).isEnabled).toBe(true);
    expect((await admin.delete(`/svc_table/${far.id}?confirm=${confirmHash}`)).status).toBe(200);
    expect((await read(id)).isEnabled).toBe(false);
  });

  it("by removing their table asks nothing, and neither do rules that are off or did not fit before", async () => {
    const made = await table(XY);
    const { id } = await rule(made.name, { filter: { b: "y" } });
    expect((await admin.patch(`/svc_permission/${id}`, { isEnabled: false })).status).toBe(200);
    await apply(made.id, { columns: columnsWith(made, "b", { options: { values: ["x"] } }) });
    await rule(made.name, { filter: { b: "x" } });
    expect((await admin.delete(`/svc_table/${made.id}`)).status).toBe(200);
  });

  it("is explained where it has come about otherwise", async () => {
    const made = await table(XY);
    const { id } = await rule(made.name, { filter: { b: "y" } });
    const body = { columns: columnsWith(made, "b", { options: { values: ["x"] } }) };
    await patchConfirmed(admin, made.id, body);
    await database
      .db()
      .collection("svc_permission")
      .updateOne({ _id: ObjectId.createFromHexString(id) }, { $set: { isEnabled: true } });
    const question = { role: null, table: made.name, action: "read" };
    const why = async (): Promise<Row> =>
      (await admin.post("/svc_permission/explain", question)).body.data[0].rules[0];
    // Rules are kept for two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    expect(await why()).toMatchObject({
      id,
      applies: false,
      because: expect.stringMatching(new RegExp(`^it no longer fits "${made.name}": filter\\.b`)),
    });
  });
});

describe("a rename keeps the data", () => {
  it("of a table: the new address answers, the old one is 404, the id stays", async () => {
    const { id, name } = await table(TEXT, texts("x"));
    const renamed = await apply(id, { name: `${name}_new` });
    expect([renamed.id, renamed.name]).toEqual([id, `${name}_new`]);
    expect(await valuesOf(admin, `${name}_new`, "a")).toEqual(["x"]);
    expect((await admin.get(`/${name}`)).status).toBe(404);
  });

  it("of a table that others link to, and of one that links to itself", async () => {
    const parent = await table({
      relations: [{ name: "up", type: "many-to-one", table: `t${count + 1}`, inverse: "down" }],
    });
    const child = await table({
      relations: [{ name: "parent", type: "many-to-one", table: parent.name, inverse: "children" }],
    });
    const top = await make(admin, parent.name, {});
    const below = await make(admin, parent.name, { up: top.id });
    const kid = await make(admin, child.name, { parent: below.id });
    await apply(parent.id, { name: `${parent.name}_new` });
    const { body } = await admin.get(`/${parent.name}_new/${below.id}`, { fields: "up,children" });
    expect(body.data).toEqual([{ up: { id: top.id }, children: [{ id: kid.id }] }]);
    expect((await tableNamed(admin, child.name)).relations[0].table).toBe(`${parent.name}_new`);
  });

  it("of a column, in uniques and indexes too", async () => {
    const made = await table(
      {
        columns: [
          { name: "a", type: "string" },
          { name: "b", type: "string" },
        ],
        uniques: [["a", "b"]],
        indexes: [["-a"]],
      },
      [{ a: "x", b: "y" }],
    );
    const renamed = await apply(made.id, { columns: columnsWith(made, "a", { name: "first" }) });
    expect([renamed.uniques, renamed.indexes]).toEqual([[["first", "b"]], [["-first"]]]);
    expect(await valuesOf(admin, made.name, "first")).toEqual(["x"]);
    expect((await admin.get(`/${made.name}`, { fields: "a" })).status).toBe(400);
    expect((await admin.post(`/${made.name}`, { first: "x", b: "y" })).status).toBe(409);
  });

  it("of two columns that swap their names", async () => {
    const made = await table(
      {
        columns: [
          { name: "a", type: "string" },
          { name: "b", type: "string" },
        ],
      },
      [{ a: "1", b: "2" }],
    );
    const [a, b] = made.columns;
    await apply(made.id, {
      columns: [
        { id: a.id, name: "b" },
        { id: b.id, name: "a" },
      ],
    });
    const { body } = await admin.get(`/${made.name}`, { fields: "a,b" });
    expect(body.data[0]).toMatchObject({ a: "2", b: "1" });
  });

  it("of a relation and of its other end", async () => {
    const person = await make(admin, "people", { name: "Ann" });
    const made = await table({
      relations: [{ name: "author", type: "many-to-one", table: "people", inverse: "texts" }],
    });
    const text = await make(admin, made.name, { author: person.id });
    const [relation] = made.relations;
    await apply(made.id, { relations: [{ id: relation.id, name: "writer", inverse: "writings" }] });
    expect((await admin.get(`/${made.name}/${text.id}`, { fields: "writer" })).body.data).toEqual([
      { writer: { id: person.id } },
    ]);
    expect((await admin.get(`/people/${person.id}`, { fields: "writings" })).body.data).toEqual([
      { writings: [{ id: text.id }] },
    ]);
  });

  it("leaves the former name free for a new table, with records of its own", async () => {
    const { id, name } = await table(TEXT, texts("old"));
    await apply(id, { name: `${name}_moved` });
    await makeTable(admin, { name, ...TEXT });
    await make(admin, name, { a: "new" });
    expect([await valuesOf(admin, name, "a"), await valuesOf(admin, `${name}_moved`, "a")]).toEqual([
      ["new"],
      ["old"],
    ]);
  });
});

describe("an additive change applies at once", () => {
  it("a new column without an id; members keep theirs, and what a member does not name stays", async () => {
    const made = await table({ columns: [{ name: "a", type: "string", description: "first" }] }, texts("x"));
    const [a] = made.columns;
    const changed = await apply(made.id, { columns: [{ id: a.id }, { name: "b", type: "int" }] });
    expect(changed.columns[0]).toEqual(a);
    expect(changed.columns.map(({ name }: Row) => name)).toEqual(["a", "b"]);
    await make(admin, made.name, { a: "y", b: 1 });
    expect(await valuesOf(admin, made.name, "b")).toEqual([null, 1]);
  });

  it("a record that is sent back as it was read changes nothing", async () => {
    const made = await table({
      ...TEXT,
      relations: [
        { name: "author", type: "many-to-one", table: "people", required: true },
        { name: "readers", type: "many-to-many", table: "people" },
      ],
      uniques: [["a", "author"]],
    });
    const again = await apply(made.id, made);
    expect(again).toEqual(made);
  });

  it("a new column's default is given to the records that are there, required or not", async () => {
    const made = await table(TEXT, texts("x", "y"));
    const added = [
      { name: "stars", type: "int", required: true, default: 3 },
      { name: "note", type: "text", default: "none" },
    ];
    await apply(made.id, { columns: [...made.columns, ...added] });
    expect(await valuesOf(admin, made.name, "stars")).toEqual([3, 3]);
    expect(await valuesOf(admin, made.name, "note")).toEqual(["none", "none"]);
  });

  it("a column that becomes required gives its default to records without a value", async () => {
    const made = await table(TEXT, texts("x", null));
    await apply(made.id, { columns: columnsWith(made, "a", { required: true, default: "none" }) });
    expect(await valuesOf(admin, made.name, "a")).toEqual(["none", "x"]);
  });

  it("flags, descriptions, enum values, looser rules, indexes, a unique that holds", async () => {
    const made = await table(
      {
        columns: [
          { name: "a", type: "string", rules: { maxLength: 5 } },
          { name: "e", type: "enum", options: { values: ["red"] } },
        ],
      },
      [
        { a: "x", e: "red" },
        { a: "y", e: "red" },
      ],
    );
    const [a, e] = made.columns;
    const changed = await apply(made.id, {
      description: "letters",
      columns: [
        { id: a.id, rules: { maxLength: 9 }, unique: true, description: "one" },
        { id: e.id, options: { values: ["red", "blue"] }, hidden: true },
      ],
      indexes: [["e", "-a"]],
    });
    expect(changed.description).toBe("letters");
    expect((await admin.post(`/${made.name}`, { a: "x" })).status).toBe(409);
    expect((await admin.post(`/${made.name}`, { a: "123456", e: "blue" })).status).toBe(201);
    const { body } = await admin.get(`/${made.name}`, { fields: "a", filter: { e: "blue" } });
    expect(body.data).toEqual([{ a: "123456" }]);
  });

  it("a relation of each type onto tables that are there shows at both ends", async () => {
    const made = await table(TEXT, texts("x"));
    const relations = [
      { name: "one", type: "one-to-one", table: "people", inverse: `one_${made.name}` },
      { name: "owner", type: "many-to-one", table: "people", inverse: `owned_${made.name}` },
      { name: "fans", type: "many-to-many", table: "people", inverse: `fan_of_${made.name}` },
    ];
    await apply(made.id, { relations });
    const { id: person } = await make(admin, "people", { name: "Ann" });
    const { id } = await make(admin, made.name, { one: person, owner: person, fans: [person] });
    const fields = relations.map(({ inverse }) => inverse).join(",");
    expect((await admin.get(`/people/${person}`, { fields })).body.data).toEqual([
      {
        [`one_${made.name}`]: { id },
        [`owned_${made.name}`]: [{ id }],
        [`fan_of_${made.name}`]: [{ id }],
      },
    ]);
    expect((await admin.post(`/${made.name}`, { one: person })).status).toBe(409);
  });

  it("onDelete of a relation holds for the next delete", async () => {
    const made = await table({ relations: [{ name: "owner", type: "many-to-one", table: "people" }] });
    const { id: person } = await make(admin, "people", {});
    const { id } = await make(admin, made.name, { owner: person });
    await apply(made.id, { relations: [{ id: made.relations[0].id, onDelete: "RESTRICT" }] });
    expect((await admin.delete(`/people/${person}`)).status).toBe(409);
    await apply(made.id, { relations: [{ id: made.relations[0].id, onDelete: "CASCADE" }] });
    expect((await admin.delete(`/people/${person}`)).status).toBe(200);
    expect((await admin.get(`/${made.name}/${id}`)).status).toBe(404);
  });

  it("a column or a table without any value loses nothing when it goes", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "b", type: "int" }] }, texts("x"));
    await apply(made.id, { columns: [{ id: made.columns[0].id }] });
    const empty = await table(TEXT);
    expect((await admin.delete(`/svc_table/${empty.id}`)).status).toBe(200);
    expect((await admin.get(`/${empty.name}`)).status).toBe(404);
  });

  it("a column of a former one's name begins empty", async () => {
    const made = await table(TEXT, texts("secret"));
    await patchConfirmed(admin, made.id, { columns: [] });
    await apply(made.id, TEXT);
    expect(await valuesOf(admin, made.name, "a")).toEqual([null]);
  });
});

describe("a change that loses data or may fail is refused with what it would cost, and applied when confirmed", () => {
  it.each(["columns", "relations"])("null for %s, which empties that list alone", async (list) => {
    const relations = [{ name: "author", type: "many-to-one", table: "people" }];
    const made = await table({ ...TEXT, relations });
    const { id: author } = await make(admin, "people", {});
    await make(admin, made.name, { a: "x", author });
    const where = list === "columns" ? "columns.a" : "relations.author";
    expectDestructive(await admin.patch(`/svc_table/${made.id}`, { [list]: null }), [{ where, rows: 1 }]);
    const { columns, relations: left } = await patchConfirmed(admin, made.id, { [list]: null });
    const both = { columns: made.columns, relations: made.relations };
    expect({ columns, relations: left }).toEqual({ ...both, [list]: [] });
  });

  it("sending a column or relation by its name alone, which means another one: the message says how to keep it", async () => {
    const up = { name: "up", type: "many-to-one", table: `t${count + 1}` };
    const made = await table({ ...TEXT, relations: [up] }, texts("x"));
    const { id } = (await admin.get(`/${made.name}`)).body.data[0];
    await admin.patch(`/${made.name}/${id}`, { up: id });
    const gone = (what: string, of: string) =>
      `1 of the records have a ${what} in it, and it would be removed, and a new one made in its place; give its id ("${of}") to keep it`;
    const { body } = await patch(made.id, {
      columns: [{ ...TEXT.columns[0], unique: true }],
      relations: [up],
    });
    expect(body.message).toEqual([
      `columns.a: ${gone("value", made.columns[0].id)}`,
      `relations.up: ${gone("link", made.relations[0].id)}`,
    ]);
    const kept = [{ id: made.columns[0].id, unique: true }];
    expect((await patch(made.id, { columns: kept })).status).toBe(200);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x"]);
  });

  it("leaving a column out whose name another takes: the message says nothing of a new one", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "b", type: "string" }] }, [{ b: "x" }]);
    const [a, b] = made.columns;
    const { body } = await patch(made.id, { columns: [{ id: a.id, name: "b" }] });
    expect(body.message).toEqual([
      `columns.b: 1 of the records have a value in it, and it would be removed: "columns" is the full set; list it there with its id ("${b.id}") to keep it`,
    ]);
  });

  it("leaving a column or relation out: the message says that the lists are full sets, and by what to keep it", async () => {
    const up = { name: "up", type: "many-to-one", table: `t${count + 1}` };
    const made = await table({ ...TEXT, relations: [up] }, texts("x"));
    const { id } = (await admin.get(`/${made.name}`)).body.data[0];
    await admin.patch(`/${made.name}/${id}`, { up: id });
    const gone = (list: string, what: string, of: string) =>
      `1 of the records have a ${what} in it, and it would be removed: "${list}" is the full set; list it there with its id ("${of}") to keep it`;
    const { body } = await patch(made.id, { columns: [{ name: "b", type: "int" }], relations: [] });
    expect(body.message).toEqual([
      `columns.a: ${gone("columns", "value", made.columns[0].id)}`,
      `relations.up: ${gone("relations", "link", made.relations[0].id)}`,
    ]);
  });

  it("giving a column another name without its id: the message says how to rename it", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "n", type: "int" }] }, texts("x"));
    const [a, n] = made.columns;
    const messageOf = async (...columns: object[]) => (await patch(made.id, { columns })).body.message;
    const went = "columns.a: 1 of the records have a value in it, and it would be removed";
    expect(await messageOf({ id: n.id }, { name: "b", type: "string" })).toEqual([
      `${went}; if "b" is its new name, give that its id ("${a.id}")`,
    ]);
    const two = [
      { name: "b", type: "string" },
      { name: "c", type: "string" },
    ];
    expect(await messageOf({ id: n.id }, ...two)).toEqual([
      expect.stringContaining('"columns" is the full set'),
    ]);
    const renamed = await patch(made.id, {
      columns: [{ id: a.id, name: "b", type: "string" }, { id: n.id }],
    });
    expect(renamed.status).toBe(200);
    expect(await valuesOf(admin, made.name, "b")).toEqual(["x"]);
  });

  it("times that become days, of which the message says what goes", async () => {
    const made = await table({ columns: [{ name: "a", type: "datetime" }] }, texts("2026-05-06T07:08:09Z"));
    const { body } = await patch(made.id, { columns: columnsWith(made, "a", { type: "date" }) });
    const why = "1 of the records have a time of day, which would be dropped";
    expect(body.message).toEqual([`columns.a: ${why}`]);
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "date" }) });
    expect(await valuesOf(admin, made.name, "a")).toEqual(["2026-05-06"]);
  });

  it("times of which a year has no day: they go, and are told apart from those that lose their time of day", async () => {
    const far = ["+010000-01-01T00:00:00.000Z", "-000001-12-31T00:00:00.000Z"];
    const times = texts("2026-05-06T07:08:09Z", "2026-05-07T00:00:00Z", ...far);
    const made = await table({ columns: [{ name: "a", type: "datetime" }] }, times);
    const columns = columnsWith(made, "a", { type: "date" });
    const changed = '"2026-05-06T07:08:09.000Z" → "2026-05-06"';
    const why = `have a value that does not fit (2 become null, 1 changes: ${changed})`;
    expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 3, why }]);
    await patchConfirmed(admin, made.id, { columns });
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, null, "2026-05-06", "2026-05-07"]);
    expect((await admin.post(`/svc_table/${made.id}/undo`)).status).toBe(200);
    expect(await valuesOf(admin, made.name, "a")).toEqual(expect.arrayContaining(far));
  });

  it("removing a column that has values", async () => {
    const made = await table(TEXT, texts("x", "y", null));
    const answer = await patch(made.id, { columns: [] });
    const { confirmHash } = expectDestructive(answer, [
      { what: "column.remove", where: "columns.a", rows: 2 },
    ]);
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, "x", "y"]);
    const { status } = await patch(made.id, { columns: [] }, { confirm: confirmHash });
    expect(status).toBe(200);
    expect((await admin.get(`/${made.name}`, { fields: "a" })).status).toBe(400);
  });

  it("removing a relation that has links, and leading it to another table", async () => {
    const made = await table({
      relations: [{ name: "owner", type: "many-to-one", table: "people", inverse: `things_t${count + 1}` }],
    });
    const { id: person } = await make(admin, "people", {});
    await make(admin, made.name, { owner: person });
    const elsewhere = await table(TEXT);
    const relations = [{ id: made.relations[0].id, table: elsewhere.name }];
    expectDestructive(await patch(made.id, { relations }), [
      { what: "relation.change", where: "relations.owner", rows: 1 },
    ]);
    await patchConfirmed(admin, made.id, { relations });
    expect((await admin.get(`/${made.name}`, { fields: "owner" })).body.data).toEqual([{ owner: null }]);
    const again = await make(admin, made.name, { owner: (await make(admin, elsewhere.name, {})).id });
    expectDestructive(await patch(made.id, { relations: [] }), [
      { what: "relation.remove", where: "relations.owner", rows: 1 },
    ]);
    await patchConfirmed(admin, made.id, { relations: [] });
    expect((await admin.get(`/${made.name}/${again.id}`, { fields: "owner" })).status).toBe(400);
    expect((await admin.get(`/people/${person}`, { fields: `things_${made.name}` })).status).toBe(400);
  });

  it("a type change keeps what converts; the rest becomes null", async () => {
    const made = await table(TEXT, texts("12", " 7 ", "many", null));
    const columns = columnsWith(made, "a", { type: "int" });
    expectDestructive(await patch(made.id, { columns }), [
      { what: "column.change", where: "columns.a", rows: 2 },
    ]);
    await patchConfirmed(admin, made.id, { columns });
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, null, 7, 12]);
  });

  it("a type change tells values that become null from those that change, with one of these for the client alone", async () => {
    const made = await table(TEXT, texts("abc", "07", "5", "x".repeat(50), "", null));
    const asked = async (changes: object) => {
      const { body } = await patch(made.id, { columns: columnsWith(made, "a", changes) });
      return [body.message, body.error.details.changes[0].why];
    };
    const why = "have a value that does not fit";
    expect(await asked({ type: "int" })).toEqual([
      [`columns.a: 4 of the records ${why} (3 become null, 1 changes)`],
      `${why} (3 become null, 1 changes: "07" → 7)`,
    ]);
    expect((await asked({ type: "int", required: true, default: 1 }))[1]).toBe(
      `${why} (3 become the default, 1 changes: "07" → 7)`,
    );
    expect((await asked({ type: "boolean" }))[1]).toBe(`${why} (5 become null)`);
    // Of a hidden column no value is shown.
    expect((await asked({ type: "int", hidden: true }))[1]).toBe(`${why} (3 become null, 1 changes)`);
  });

  it("a confirmation of a type change goes on being one while the numbers change", async () => {
    const made = await table(TEXT, texts("abc"));
    const columns = columnsWith(made, "a", { type: "int" });
    const { confirmHash } = (await patch(made.id, { columns })).body.error.details;
    await make(admin, made.name, { a: "def" });
    const { status } = await admin.patch(`/svc_table/${made.id}`, { columns }, { confirm: confirmHash });
    expect(status).toBe(200);
  });

  it("a type change that keeps a value only in part is one too, and undo has it as it was", async () => {
    const made = await table(TEXT, texts("01067", "7"));
    const columns = columnsWith(made, "a", { type: "int" });
    expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 1 }]);
    await patchConfirmed(admin, made.id, { columns });
    expect(await valuesOf(admin, made.name, "a")).toEqual([7, 1067]);
    expect((await admin.post(`/svc_table/${made.id}/undo`, {})).status).toBe(200);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["01067", "7"]);
  });

  it("JSON that becomes text, and that undo has as it was", async () => {
    const values = [["sale", "eco"], "x", { n: 1 }];
    const made = await table(
      { columns: [{ name: "a", type: "json" }] },
      values.map((a) => ({ a })),
    );
    const columns = columnsWith(made, "a", { type: "string" });
    const why = 'have a value that does not fit (2 change: ["sale","eco"] → "[\\"sale\\",\\"eco\\"]")';
    expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 2, why }]);
    await patchConfirmed(admin, made.id, { columns });
    expect((await admin.post(`/svc_table/${made.id}/undo`)).status).toBe(200);
    const { body } = await admin.get(`/${made.name}`, { fields: "a" });
    expect(body.data.map(({ a }: Row) => a)).toEqual(expect.arrayContaining(values));
  });

  it("a list of enums needs no confirmation to become text and a list again, as it was", async () => {
    const type = { type: "enumList", options: { values: ["eco", "sale"] } };
    const lists = [["sale", "eco"], ["eco"], []];
    const made = await table(
      { columns: [{ name: "a", ...type }] },
      lists.map((a) => ({ a })),
    );
    await apply(made.id, { columns: columnsWith(made, "a", { type: "string", options: null }) });
    await apply(made.id, { columns: columnsWith(made, "a", type) });
    const { body } = await admin.get(`/${made.name}`, { fields: "a", sort: "createdAt" });
    expect(body.data.map(({ a }: Row) => a)).toEqual(lists);
  });

  it("text that is no member leaves no list of enums, and undo has it as it was", async () => {
    const made = await table(TEXT, texts("new,sale", "eco"));
    const columns = columnsWith(made, "a", { type: "enumList", options: { values: ["eco"] } });
    const why = "have a value that does not fit (1 becomes null)";
    expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 1, why }]);
    await patchConfirmed(admin, made.id, { columns });
    const { body } = await admin.get(`/${made.name}`, { fields: "a", filter: { a: null } });
    expect(body.data).toEqual([{ a: null }]);
    expect((await admin.post(`/svc_table/${made.id}/undo`)).status).toBe(200);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["eco", "new,sale"]);
  });

  it("a type change that loses nothing needs no confirmation", async () => {
    const made = await table({ columns: [{ name: "a", type: "int", unique: true }] }, [{ a: 1 }, { a: 22 }]);
    await apply(made.id, { columns: columnsWith(made, "a", { type: "string" }) });
    expect(await valuesOf(admin, made.name, "a", { a: { _starts_with: "2" } })).toEqual(["22"]);
    expect((await admin.post(`/${made.name}`, { a: "1" })).status).toBe(409);
  });

  it("a required column can't lose values: there is no hash to confirm it with", async () => {
    const made = await table({ columns: [{ name: "a", type: "string", required: true }] }, texts("1", "02"));
    const columns = columnsWith(made, "a", { type: "int" });
    // A value that would go, and came after the change was shown, is no less in its way.
    const shown = expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 1 }]);
    await make(admin, made.name, { a: "x" });
    const answer = await patch(made.id, { columns }, { confirm: shown.confirmHash });
    const { confirmHash, changes } = expectDestructive(answer, [{ where: "columns.a", rows: 2 }]);
    expect([confirmHash, changes[0]?.confirmable]).toEqual([null, false]);
    expect(changes[0]?.why).toBe(
      "have a value that does not fit; the column is required, so give it a default, make it optional, or " +
        'change the values first (1 would be left without a value, 1 changes: "02" → 2)',
    );
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int", default: 0 }) });
    expect(await valuesOf(admin, made.name, "a")).toEqual([0, 1, 2]);
  });

  const [CAPITALS, OTHER_ID] = [
    "0190163D-8694-739B-AEA5-966C26F8AD91",
    "0190163d-8694-739b-aea5-966c26f8ad92",
  ];

  it.each<[string, string, string, string, unknown, string]>([
    ["decimal", "float", "1.10", "1.1", 1.1, 'have a value that does not fit (1 changes: "1.10" → 1.1)'],
    ["string", "int", "07", "7", 7, 'have a value that does not fit (1 changes: "07" → 7)'],
    [
      ...(["string", "uuid", CAPITALS, OTHER_ID, CAPITALS.toLowerCase()] as const),
      `have a value that does not fit (1 changes: "${CAPITALS}" → "${CAPITALS.toLowerCase()}")`,
    ],
    [
      ...(["datetime", "date", "2026-05-06T07:08:09Z", "2026-05-07T00:00:00Z", "2026-05-06"] as const),
      "have a time of day, which would be dropped",
    ],
  ])("a required column of %s becomes one of %s where values would only change, not go", async (...row) => {
    const [from, to, changed, kept, converted, why] = row;
    const made = await table({ columns: [{ name: "a", type: from, required: true }] }, texts(changed, kept));
    const before = await valuesOf(admin, made.name, "a");
    const columns = columnsWith(made, "a", { type: to });
    const costs = [{ where: "columns.a", rows: 1, confirmable: true, why }];
    expectDestructive(await patch(made.id, { columns }), costs);
    const [column] = (await patchConfirmed(admin, made.id, { columns })).columns;
    expect(column).toMatchObject({ type: to, required: true });
    expect(await valuesOf(admin, made.name, "a")).toContainEqual(converted);
    expect((await admin.post(`/svc_table/${made.id}/undo`)).status).toBe(200);
    expect(await valuesOf(admin, made.name, "a")).toEqual(before);
  });

  it("removing enum values that are in use", async () => {
    const made = await table(
      {
        columns: [
          { name: "e", type: "enum", options: { values: ["red", "blue"] } },
          { name: "l", type: "enumList", options: { values: ["x", "y"] } },
        ],
      },
      [
        { e: "red", l: ["x", "y"] },
        { e: "blue", l: ["x"] },
      ],
    );
    const [e, l] = made.columns;
    const columns = [
      { id: e.id, options: { values: ["blue"] } },
      { id: l.id, options: { values: ["x"] } },
    ];
    expectDestructive(await patch(made.id, { columns }), [
      { where: "columns.e", rows: 1 },
      { where: "columns.l", rows: 1 },
    ]);
    await patchConfirmed(admin, made.id, { columns });
    const { body } = await admin.get(`/${made.name}`, { fields: "e,l", sort: "e" });
    expect(body.data).toEqual([
      { e: null, l: ["x"] },
      { e: "blue", l: ["x"] },
    ]);
  });

  it("required without a default where records have no value: confirmed, they stay as they are", async () => {
    const made = await table(TEXT, texts("x", null));
    const columns = columnsWith(made, "a", { required: true });
    expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 1 }]);
    await patchConfirmed(admin, made.id, { columns });
    expect(await valuesOf(admin, made.name, "a")).toEqual([null, "x"]);
    expect((await admin.post(`/${made.name}`, {})).status).toBe(400);
  });

  it("tighter rules that records break: confirmed, they stay as they are", async () => {
    const made = await table(TEXT, texts("long enough", "x"));
    const columns = columnsWith(made, "a", { rules: { minLength: 3 } });
    expectDestructive(await patch(made.id, { columns }), [{ where: "columns.a", rows: 1 }]);
    await patchConfirmed(admin, made.id, { columns });
    expect(await valuesOf(admin, made.name, "a")).toEqual(["long enough", "x"]);
    expect((await admin.post(`/${made.name}`, { a: "y" })).status).toBe(400);
  });

  it("a new unique over repeated values names how many and some of them, and can't be confirmed", async () => {
    const made = await table(TEXT, texts("x", "x", "y", "y", "z", null, null));
    const answer = await patch(made.id, { columns: columnsWith(made, "a", { unique: true }) });
    const { confirmHash, changes } = expectDestructive(answer, [{ where: "columns.a", rows: 4 }]);
    expect(confirmHash).toBe(null);
    expect(changes[0].examples.length).toBeGreaterThanOrEqual(2);
    for (const id of changes[0].examples)
      expect((await admin.get(`/${made.name}/${id}`)).body.data[0].a).toMatch(/^[xy]$/);
    await apply(made.id, { uniques: [["a", "id"]] });
  });

  it("values that become equal by conversion are found, and nothing is changed", async () => {
    const times = ["2024-05-31T10:00:00Z", "2024-05-31T12:00:00+02:00"];
    const made = await table({ columns: [{ name: "a", type: "string", unique: true }] }, texts(...times));
    const answer = await patch(made.id, { columns: columnsWith(made, "a", { type: "datetime" }) });
    expect(expectDestructive(answer, [{ where: "a", rows: 2 }]).confirmHash).toBe(null);
    expect(await valuesOf(admin, made.name, "a")).toEqual(times);
    expect((await admin.post(`/${made.name}`, { a: "2" })).status).toBe(201);
    expect((await tableNamed(admin, made.name)).change).toMatchObject({ state: "failed" });
  });

  it("a to-many relation that becomes to-one keeps the first link, and the other way round all", async () => {
    const made = await table({ relations: [{ name: "r", type: "many-to-many", table: "people" }] });
    const people = [await make(admin, "people", {}), await make(admin, "people", {})].map(({ id }) => id);
    const { id } = await make(admin, made.name, { r: people });
    const relations = [{ id: made.relations[0].id, type: "many-to-one" }];
    expectDestructive(await patch(made.id, { relations }), [{ where: "relations.r", rows: 1 }]);
    await patchConfirmed(admin, made.id, { relations });
    const read = async () => (await admin.get(`/${made.name}/${id}`, { fields: "r" })).body.data[0].r;
    expect(await read()).toEqual({ id: people[0] });
    await apply(made.id, { relations: [{ id: made.relations[0].id, type: "many-to-many" }] });
    expect(await read()).toEqual([{ id: people[0] }]);
  });

  it("a list of links that is empty, or has nothing but null in it, is no value", async () => {
    const relation = { name: "r", type: "many-to-many", table: "people", inverse: "of_emptied" };
    const made = await table({ relations: [relation] });
    const { id: person } = await make(admin, "people", {});
    const emptied = await make(admin, made.name, { r: [person] });
    await admin.patch(`/people/${person}`, { of_emptied: [] });
    const { id: other } = await make(admin, made.name, {});
    const records = database.db().collection(made.name);
    const [document] = await records.find({ _id: new ObjectId(emptied.id) }).toArray();
    expect(Object.keys(document ?? {})).not.toContain("rIds");
    await records.updateOne({ _id: new ObjectId(emptied.id) }, { $set: { rIds: [] } });
    await records.updateOne({ _id: new ObjectId(other) }, { $set: { rIds: [null] } });
    const idsWhere = async (filter: object) =>
      (await admin.get(`/${made.name}`, { filter, fields: "id" })).body.data;
    expect(await idsWhere({ r: null })).toHaveLength(2);
    expect(await idsWhere({ r: {} })).toEqual([]);
    const relations = [
      { id: made.relations[0].id, type: "many-to-one", required: true, onDelete: "RESTRICT" },
    ];
    expectDestructive(await patch(made.id, { relations }), [
      { where: "relations.r", rows: 2, why: expect.stringMatching(/no value where one would be required/) },
    ]);
    expect((await patch(made.id, { relations: [] })).status).toBe(200);
  });

  it("encryption on and off keeps every value", async () => {
    const made = await table(TEXT, texts("secret"));
    await apply(made.id, { columns: columnsWith(made, "a", { encrypted: true }) });
    const { body } = await admin.get(`/${made.name}`, { fields: "a" });
    expect(body.data).toEqual([{ a: "secret" }]);
    expect((await admin.get(`/${made.name}`, { filter: { a: "secret" } })).status).toBe(400);
    await apply(made.id, { columns: columnsWith(made, "a", { encrypted: false }) });
    expect(await valuesOf(admin, made.name, "a", { a: "secret" })).toEqual(["secret"]);
  });

  it("deleting a table that has records", async () => {
    const made = await table(TEXT, texts("x"));
    const answer = await admin.delete(`/svc_table/${made.id}`);
    const { confirmHash } = expectDestructive(answer, [{ what: "table.remove", where: made.name, rows: 1 }]);
    expect((await admin.delete(`/svc_table/${made.id}?confirm=${confirmHash}`)).status).toBe(200);
    expect((await admin.get(`/${made.name}`)).status).toBe(404);
    expect((await admin.get(`/svc_table/${made.id}`)).status).toBe(404);
  });
});

describe("a confirmation", () => {
  it("is good for the change that was shown, and for no other", async () => {
    const made = await table({ columns: [...TEXT.columns, { name: "b", type: "string" }] }, [
      { a: "x", b: "y" },
    ]);
    const [a, b] = made.columns;
    const shown = expectDestructive(await patch(made.id, { columns: [{ id: b.id }] }), [
      { where: "columns.a" },
    ]);
    const other = await patch(made.id, { columns: [{ id: a.id }] }, { confirm: shown.confirmHash });
    expectDestructive(other, [{ where: "columns.b" }]);
    expect(other.body.message[0]).toContain("confirm: ");
  });

  it("is stale once the table was changed", async () => {
    const made = await table(TEXT, texts("x"));
    const shown = expectDestructive(await patch(made.id, { columns: [] }), [{ where: "columns.a" }]);
    await apply(made.id, { description: "changed meanwhile" });
    const late = await patch(made.id, { columns: [] }, { confirm: shown.confirmHash });
    expectDestructive(late, [{ where: "columns.a" }]);
    expect(await valuesOf(admin, made.name, "a")).toEqual(["x"]);
  });

  it("holds for a change with new members too", async () => {
    const made = await table(TEXT, texts("x"));
    await patchConfirmed(admin, made.id, {
      columns: [{ name: "b", type: "int", required: true, default: 1 }],
    });
    expect(await valuesOf(admin, made.name, "b")).toEqual([1]);
  });
});

describe("refused", () => {
  it("whatever is asked of a table by its name, with its id", async () => {
    const made = await table(TEXT);
    const byName = "Tables are addressed by their id, not by their name.";
    for (const [name, message] of [
      [made.name, `${byName} That of "${made.name}" is ${made.id}.`],
      ["nothing", byName],
      ["svc_user", '"svc_user" is a table of Portico itself; it stays as it is.'],
    ]) {
      const path = `/svc_table/${name}`;
      const answers = [
        await admin.get(path),
        await admin.get(`${path}/advice`),
        await admin.get(`${path}/history`),
        await admin.patch(path, {}),
        await admin.delete(path),
        await admin.post(`${path}/undo`),
        await admin.post(`${path}/restore`),
      ];
      const told = answers.map(({ status, body }) => [status, body.message]);
      expect(told).toEqual(answers.map(() => [404, message]));
    }
    const visitor = apiOf(`${stack.appUrl}/api`);
    for (const refused of [
      await visitor.get(`/svc_table/${made.name}`),
      await visitor.patch(`/svc_table/${made.name}`, {}),
    ])
      expect([refused.status, JSON.stringify(refused.body).includes(made.id)]).toEqual([401, false]);
  });

  it("a name like any other text, where a rule lets somebody read tables", async () => {
    const [made, other] = [await table(TEXT), await table(TEXT)];
    const rule = { role: null, table: "svc_table", action: "read", filter: { name: other.name } };
    const { id } = await make(admin, "svc_permission", rule);
    const visitor = apiOf(`${stack.appUrl}/api`);
    expect((await visitor.get(`/svc_table/${other.id}`)).status).toBe(200);
    const { status, body } = await visitor.get(`/svc_table/${made.name}`);
    expect([status, body.message]).toEqual([404, 'There is no such record in "svc_table".']);
    await admin.delete(`/svc_permission/${id}`);
  });

  it("no call of all tables whose word is the name of one", async () => {
    await makeTable(admin, { name: "import", ...TEXT });
    const text = { body: "{}\n", headers: { "Content-Type": "application/x-ndjson" } };
    const imported = await admin.send("POST", "/svc_table/import", text);
    expect(imported.body.message).not.toContain("addressed by");
    expect((await admin.get("/svc_table/changes")).body.message).not.toContain("addressed by");
  });

  const unprocessable = async (id: string, body: object, path: string): Promise<void> => {
    const answer = await patch(id, body);
    expect([answer.status, answer.body.error.code]).toEqual([422, "SCHEMA_ERROR"]);
    expect(answer.body.message.join("\n")).toContain(`${path}: `);
  };

  it("a definition that makes no sense, with every problem", async () => {
    const made = await table({ ...TEXT, singleton: true });
    const [a] = made.columns;
    const { status, body } = await patch(made.id, {
      name: "Bad",
      columns: [
        { id: a.id, type: "nope" },
        { id: "5f5f5f5f5f5f5f5f5f5f5f5f", name: "b", type: "int" },
        { name: "id", type: "int" },
      ],
      indexes: [["gone"]],
    });
    expect(status).toBe(422);
    const text = body.message.join("\n");
    for (const path of ["name", "columns[0].type", "columns[1].id", "columns[2].name", "indexes[0]"])
      expect(text).toContain(`${path}: `);
  });

  it("a column in the place of a relation, and the other way round", async () => {
    const relations = [{ name: "r", type: "many-to-one", table: "people" }];
    const made = await table({ ...TEXT, relations });
    const [column, relation] = [made.columns[0], made.relations[0]];
    const asColumn = { columns: [column, { id: relation.id, name: "taken", type: "string" }], relations: [] };
    await unprocessable(made.id, asColumn, "columns[1].id");
    const asRelation = {
      columns: [],
      relations: [relation, { ...relations[0], id: column.id, name: "taken" }],
    };
    await unprocessable(made.id, asRelation, "relations[1].id");
  });

  it("a taken name: 409", async () => {
    const [one, other] = [await table(TEXT), await table(TEXT)];
    const { status, body } = await patch(one.id, { name: other.name });
    expect([status, body.error.code]).toEqual([409, "DUPLICATE_RESOURCE"]);
  });

  it("a name that the other end of somebody's relation has", async () => {
    const made = await table(TEXT);
    await table({ relations: [{ name: "r", type: "many-to-one", table: made.name, inverse: "others" }] });
    await unprocessable(
      made.id,
      { columns: [...made.columns, { name: "others", type: "int" }] },
      "columns[1].name",
    );
  });

  it("another idType, or a singleton, where records are against it", async () => {
    const made = await table(TEXT, texts("x", "y"));
    await unprocessable(made.id, { idType: "int" }, "idType");
    await unprocessable(made.id, { singleton: true }, "singleton");
    const empty = await table(TEXT);
    await apply(empty.id, { idType: "int" });
    expect((await make(admin, empty.name, {})).id).toBe(1);
  });

  it("a singleton only where several records are living", async () => {
    const made = await table({ ...TEXT, softDelete: true }, texts("x", "y"));
    const [{ id }] = (await admin.get(`/${made.name}`)).body.data;
    expect((await admin.delete(`/${made.name}/${id}`)).status).toBe(200);
    await apply(made.id, { singleton: true });
    await apply(made.id, { singleton: false });
    await make(admin, made.name, { a: "z" });
    await unprocessable(made.id, { singleton: true }, "singleton");
  });

  it("deleting a table that relations of others lead to: 409 naming them", async () => {
    const made = await table(TEXT);
    const other = await table({ relations: [{ name: "r", type: "many-to-one", table: made.name }] });
    const { status, body } = await admin.delete(`/svc_table/${made.id}`);
    expect([status, body.error.code]).toEqual([409, "CONFLICT"]);
    expect(body.error.details.relations).toEqual([`${other.name}.r`]);
  });

  it("unknown ids: 404; ids of system tables are unknown; no body: 422", async () => {
    const unknown = "5f5f5f5f5f5f5f5f5f5f5f5f";
    expect((await patch(unknown, {})).status).toBe(404);
    expect((await patch("svc_user", {})).status).toBe(404);
    expect((await admin.delete(`/svc_table/${unknown}`)).status).toBe(404);
    expect((await admin.post(`/svc_table/${unknown}/undo`)).status).toBe(404);
    const made = await table(TEXT);
    expect((await patch(made.id, [])).status).toBe(422);
  });

  it("for anybody but root admins", async () => {
    const made = await table(TEXT);
    await make(admin, "svc_user", { email: "reader@example.com", password: "reader's password" });
    const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", {
      email: "reader@example.com",
      password: "reader's password",
    });
    const reader = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${body.accessToken}` });
    const anonymous = apiOf(`${stack.appUrl}/api`);
    for (const [api, status] of [
      [reader, 403],
      [anonymous, 401],
    ] as const) {
      expect((await api.patch(`/svc_table/${made.id}`, { name: "mine" })).status).toBe(status);
      expect((await api.delete(`/svc_table/${made.id}`)).status).toBe(status);
      expect((await api.post(`/svc_table/${made.id}/undo`)).status).toBe(status);
    }
  });
});
