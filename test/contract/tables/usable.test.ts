// Contract 6: a new table with any of its parts works in the very next request.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";

const HEX = "0123456789abcdef01234567";
const UUID = "0190163d-8694-739b-aea5-966c26f8ad91";

let stack: Stack;
let admin: Api;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
});

afterAll(async () => {
  await client.close();
  await stack.stop();
});

async function define(definition: object): Promise<void> {
  const { status, body } = await admin.post("/svc_table", definition);
  expect([status, body.error?.message]).toEqual([201, undefined]);
}

describe("a column type in the very next request", () => {
  it.each([
    ["string", "a"],
    ["text", "a"],
    ["int", 5],
    ["bigint", "5"],
    ["float", 5.5],
    ["decimal", "5.50"],
    ["boolean", true],
    ["date", "2024-05-31"],
    ["datetime", "2024-05-31T12:00:00.000Z"],
    ["enum", "a"],
    ["enumList", ["a", "b"]],
    ["json", { a: 1 }],
    ["uuid", UUID],
    ["objectId", HEX],
  ])("%s can be written, read and asked for", async (type, value) => {
    const name = `with_${type.toLowerCase()}`;
    const options = type.startsWith("enum") ? { options: { values: ["a", "b"] } } : {};
    await define({ name, columns: [{ name: "value", type, ...options }] });
    expect((await admin.post(`/${name}`, { value }, { fields: "value" })).body.data).toEqual([{ value }]);
    const isList = type === "enumList";
    const filter = type === "json" ? {} : { value: isList ? { _contains: "a" } : { _eq: value } };
    const sort = type === "json" || isList ? "id" : "-value";
    const { status, body } = await admin.get(`/${name}`, { fields: "value", filter, sort });
    expect([status, body.data]).toEqual([200, [{ value }]]);
  });
});

describe("a relation type in the very next request", () => {
  it.each([
    ["many-to-one", false, true],
    ["one-to-one", false, false],
    ["many-to-many", true, true],
  ])("%s can be set, read and filtered from both sides", async (type, many, inverseMany) => {
    const [owner, other] = [`owner_${type.replaceAll("-", "")}`, `other_${type.replaceAll("-", "")}`];
    await define({ name: other });
    const { id } = (await admin.post(`/${other}`, {})).body.data[0];
    await define({ name: owner, relations: [{ name: "rel", type, table: other, inverse: "back" }] });
    const link = (value: unknown, isMany: boolean) => (isMany ? [value] : value);
    const created = await admin.post(`/${owner}`, { rel: link(id, many) }, { fields: "id,rel" });
    expect(created.body.data).toEqual([{ id: expect.any(String), rel: link({ id }, many) }]);
    const ownerId = created.body.data[0].id;
    const back = await admin.get(`/${other}`, { fields: "back", filter: { back: { id: ownerId } } });
    expect(back.body.data).toEqual([{ back: link({ id: ownerId }, inverseMany) }]);
    const forth = await admin.get(`/${owner}`, { fields: "id", filter: { rel: { id } } });
    expect(forth.body.data).toEqual([{ id: ownerId }]);
  });

  it("is refused by its name when it is sent again, whatever else is there twice then", async () => {
    await define({ name: "shelves" });
    const relation = { name: "shelf", type: "many-to-one", table: "shelves", inverse: "boxes" };
    await define({ name: "boxes", relations: [relation] });
    const { status, body } = await admin.post("/svc_table", { name: "boxes", relations: [relation] });
    expect([status, body.message]).toEqual([409, expect.stringContaining('"boxes"')]);
  });

  it("to the table itself works at once", async () => {
    await define({
      name: "nodes",
      relations: [
        { name: "parent", type: "many-to-one", table: "nodes", inverse: "children" },
        { name: "friends", type: "many-to-many", table: "nodes", inverse: "friendOf" },
      ],
    });
    const root = (await admin.post("/nodes", {})).body.data[0].id;
    const leaf = (await admin.post("/nodes", { parent: root, friends: [root] })).body.data[0].id;
    const { body } = await admin.get(`/nodes/${root}`, { fields: "children,friendOf" });
    expect(body.data).toEqual([{ children: [{ id: leaf }], friendOf: [{ id: leaf }] }]);
  });

  it("to a system table works for root", async () => {
    await define({
      name: "diaries",
      relations: [{ name: "writer", type: "many-to-one", table: "svc_user", inverse: "diaries" }],
    });
    const me = (await admin.get("/me")).body.data[0].id;
    const { body } = await admin.post("/diaries", { writer: me }, { fields: "writer.email" });
    expect(body.data).toEqual([{ writer: { id: me, email: stack.admin.email } }]);
  });
});

describe("an id", () => {
  it.each([
    ["objectId", /^[0-9a-f]{24}$/],
    ["uuid", /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/],
  ])("of type %s is made in its form", async (idType, form) => {
    const name = `ids_${idType.toLowerCase()}`;
    await define({ name, idType });
    const { headers, body } = await admin.post(`/${name}`, {});
    const { id } = body.data[0];
    expect(id).toMatch(form);
    expect(headers.get("location")).toBe(`/api/${name}/${id}`);
    expect((await admin.get(`/${name}/${id}`)).body.data[0].id).toBe(id);
    expect((await admin.get(`/${name}`, { filter: { id: { _in: [id] } } })).body.data.length).toBe(1);
  });

  it("of type int counts from 1", async () => {
    await define({ name: "ids_int", idType: "int" });
    const ids = [];
    for (let at = 0; at < 3; at += 1) ids.push((await admin.post("/ids_int", {})).body.data[0].id);
    expect(ids).toEqual([1, 2, 3]);
    expect((await admin.get("/ids_int/2")).body.data[0].id).toBe(2);
  });

  it.each([
    ["ids_objectid", ["1", "x", `${HEX}0`]],
    ["ids_uuid", ["1", HEX, "0190163d8694739baea5966c26f8ad91"]],
    ["ids_int", ["x", "1.5", "1e0", HEX, "99", "-1"]],
  ])("of another form than the one of %s is 404", async (name, wrong) => {
    for (const id of wrong) expect([id, (await admin.get(`/${name}/${id}`)).status]).toEqual([id, 404]);
  });

  it("of type uuid grows with time, so that sorting by it is sorting by age", async () => {
    const made = [];
    for (let at = 0; at < 5; at += 1) made.push((await admin.post("/ids_uuid", {})).body.data[0].id);
    expect(made.toSorted()).toEqual(made);
  });
});

describe("a singleton", () => {
  it("holds one record and refuses a second with 409", async () => {
    await define({ name: "settings", singleton: true, columns: [{ name: "theme", type: "string" }] });
    const answers = await Promise.all([1, 2, 3, 4].map(() => admin.post("/settings", { theme: "dark" })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
    const { id } = (await admin.get("/settings")).body.data[0];
    expect((await admin.patch(`/settings/${id}`, { theme: "light" })).body.data[0].theme).toBe("light");
  });

  it.each([
    ["records", [{ v: "1" }, { v: "2" }]],
    ["records that bring others along", [{ v: "1", by: { name: "a" } }, { v: "2" }]],
  ])("refuses a list of %s for what it is, also while it is empty", async (what, list) => {
    const name = what === "records" ? "conf" : "conf_by";
    const by = { name: "by", type: "many-to-one", table: `${name}_authors` };
    const text = (each: string) => ({ name: each, type: "string" });
    await define({ name: `${name}_authors`, columns: [text("name")] });
    await define({ name, singleton: true, columns: [text("v")], relations: [by] });
    const { status, body } = await admin.post(`/${name}`, list);
    const problem = `body: must be one record, as "${name}" holds a single one`;
    expect([status, body.message]).toEqual([400, [problem]]);
    expect((await admin.post(`/${name}`, list.slice(0, 1))).status).toBe(201);
  });

  it("is made once by records that bring it along", async () => {
    await define({ name: "flags", singleton: true, columns: [{ name: "v", type: "string" }] });
    const flag = { name: "flag", type: "many-to-one", table: "flags" };
    await define({ name: "flagged", columns: [{ name: "v", type: "string" }], relations: [flag] });
    const { status, body } = await admin.post("/flagged", [{ flag: { v: "1" } }, { flag: { v: "2" } }]);
    const problem = '[1].flag: "flags" holds a single record, and another one is to be made here already';
    expect([status, body.message]).toEqual([400, [problem]]);
  });

  it("takes a new record when its only one was deleted", async () => {
    const { id } = (await admin.get("/settings")).body.data[0];
    await admin.delete(`/settings/${id}`);
    expect((await admin.post("/settings", {})).status).toBe(201);
  });
});

describe("a default", () => {
  it("stands in for what is left out, of every type, and not for null", async () => {
    const defaults = {
      string: "s",
      int: 0,
      bigint: "7",
      float: 0.5,
      decimal: "1.10",
      boolean: false,
      date: "2024-01-01",

      datetime: "2024-01-01T00:00:00.000Z",
      enum: "b",
      enumList: ["a"],
      json: [1, { a: 2 }],
      uuid: UUID,
    };
    await define({
      name: "defaults",
      columns: Object.entries(defaults).map(([type, standard]) => ({
        name: `${type}_column`,
        type,
        default: standard,
        ...(type.startsWith("enum") ? { options: { values: ["a", "b"] } } : {}),
      })),
    });
    const named = Object.entries(defaults).map(([type, value]) => [`${type}_column`, value]);
    expect((await admin.post("/defaults", {})).body.data[0]).toMatchObject(Object.fromEntries(named));
    const nulls = Object.fromEntries(named.map(([name]) => [name, null]));
    expect((await admin.post("/defaults", nulls)).body.data[0]).toMatchObject(nulls);
  });
});

describe("in the database", () => {
  const keysOf = async (collection: string) =>
    (await db.collection(collection).indexes()).map(({ key, unique }) => ({
      fields: Object.entries(key as Record<string, number>).map(
        ([field, order]) => `${order < 0 ? "-" : ""}${field}`,
      ),
      unique: unique === true,
    }));

  it("there are indexes on foreign keys, createdAt, updatedAt, dates, uniques and declared ones", async () => {
    await define({ name: "places" });
    await define({
      name: "events",
      columns: [
        { name: "code", type: "string", unique: true },
        { name: "day", type: "date" },
        { name: "starts", type: "datetime" },
        { name: "title", type: "string" },
        { name: "rank", type: "int" },
      ],
      relations: [
        { name: "place", type: "many-to-one", table: "places" },
        { name: "twin", type: "one-to-one", table: "places" },
        { name: "stages", type: "many-to-many", table: "places" },
      ],
      uniques: [["title", "day"]],
      indexes: [["rank", "-createdAt"]],
    });
    const keys = await keysOf("events");
    const starting = (field: string) => keys.filter(({ fields }) => fields[0]?.replace("-", "") === field);
    for (const field of ["placeId", "stagesIds", "createdAt", "updatedAt", "day", "starts"]) {
      expect([field, starting(field).some(({ unique }) => !unique)]).toEqual([field, true]);
    }
    expect(keys).toContainEqual({ fields: ["code"], unique: true });
    expect(keys).toContainEqual({ fields: ["twinId"], unique: true });
    expect(keys).toContainEqual({ fields: ["title", "day"], unique: true });
    expect(keys.some(({ fields }) => fields.join().startsWith("rank,-createdAt"))).toBe(true);
  });

  it("the system tables have theirs too", async () => {
    expect(await keysOf("svc_user")).toContainEqual({ fields: ["email"], unique: true });
    expect(await keysOf("svc_table")).toContainEqual({ fields: ["name"], unique: true });
  });

  it("null is never stored, only absence", async () => {
    await define({ name: "sparse", columns: [{ name: "a", type: "string" }] });
    const { id } = (await admin.post("/sparse", { a: null })).body.data[0];
    await admin.patch(`/sparse/${id}`, { a: "x" });
    await admin.patch(`/sparse/${id}`, { a: null });
    const documents = await db.collection("sparse").find().toArray();
    expect(documents.map((document) => Object.keys(document))).toEqual([
      ["_id", "createdAt", "updatedAt", "_record_version"],
    ]);
  });
});
