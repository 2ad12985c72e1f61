// Security rows H1 to H18 and I1 to I8: what a query may ask, and what a write may do. Each row once and plainly; the
// corpora, the permission matrix and the races go into the breadth. H13, a question of time, is the planner's.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { make, makeTable, type Row, tally } from "../contract/records/make.js";
import { type Answer, type Api, asAdmin, signIn } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const TITLES = ["$secret", "plain", "theirs"];

let stack: Stack;
let database: MongoClient;
let admin: Api;
let ann: Api;
let role: string;
let annId: string;
let team: string;

beforeAll(async () => {
  stack = await startStack();
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  role = (await make(admin, "svc_role", { name: "Writer" })).id;
  annId = (await make(admin, "svc_user", { ...ANN, role })).id;
  await makeTable(admin, { name: "teams", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "notes",
    idType: "int",
    columns: [
      { name: "title", type: "string", unique: true },
      { name: "salary", type: "int" },
      { name: "secret", type: "string", hidden: true },
    ],
    relations: [
      { name: "owner", type: "many-to-one", table: "svc_user" },
      { name: "team", type: "many-to-one", table: "teams", inverse: "notes" },
    ],
  });
  team = (await make(admin, "teams", { name: "red" })).id;
  const mine = { filter: { owner: "$user.id" }, fields: "title,owner,team" };
  const rule = (action: string, parts: Row) =>
    make(admin, "svc_permission", { role, table: "notes", action, ...parts });
  for (const action of ["read", "update"]) await rule(action, mine);
  await rule("delete", { filter: mine.filter });
  await rule("create", { fields: mine.fields, check: mine.filter });
  for (const action of ["read", "update"])
    await make(admin, "svc_permission", { role, table: "teams", action });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
});

afterAll(async () => {
  await database.close();
  await stack.stop();
});

/** Three notes: two of Ann's, and one of nobody's. */
beforeEach(async () => {
  await admin.send("DELETE", `/notes?filter=${encodeURIComponent('{"id":{"_is_not_null":true}}')}`);
  for (const [at, title] of TITLES.entries()) {
    const owner = at < 2 ? annId : null;
    await make(admin, "notes", { title, salary: at, secret: `s${at}`, owner, team });
  }
});

const filtered = (api: Api, filter: unknown): Promise<Answer> => api.get("/notes", { filter });
const titles = ({ body }: Answer): string[] => body.data.map(({ title }: Row) => title).sort();
const said = ({ status, body }: Answer): [number, string] => [status, String(body.message)];
const idOf = async (title: string): Promise<number> => {
  const { body } = await admin.get("/notes", { filter: { title }, fields: "id" });
  return body.data[0].id;
};
/** What lies in the database, whatever the API says. */
const stored = async () => (await admin.get("/notes", { fields: "*,secret", sort: "id" })).body.data;

describe("a query", () => {
  it.each([
    ['{"$where":"1"}'],
    ['{"title":{"$ne":null}}'],
    ['{"title":{"＄ne":null}}'],
    ['{"title":{"_eq":{"$numberInt":"1"}}}'],
    ['{"id":{"$oid":"6b0178523b8b088967070406"}}'],
  ])("H1 knows no operators but its own: %s", async (filter) => {
    expect((await ann.get("/notes", { filter })).status).toBe(400);
  });

  it("H2 takes a text with a dollar for a text", async () => {
    expect(titles(await filtered(ann, { title: "$secret" }))).toEqual(["$secret"]);
    expect(titles(await filtered(ann, { title: { _in: ["$secret", "$$ROOT"] } }))).toEqual(["$secret"]);
    expect(titles(await filtered(admin, { team: { notes: { title: "$title" } } }))).toEqual([]);
  });

  it.each([['{"__proto__":{"title":"plain"}}'], ['{"title":{"__proto__":"plain"}}'], ['{"constructor":1}']])(
    "H3 refuses a key that an object has of itself, and drops none: %s",
    async (filter) => {
      expect((await ann.get("/notes", { filter })).status).toBe(400);
    },
  );

  const withName = (name: string): Record<string, Record<string, unknown>> => ({
    "H4 in a filter": { filter: { [name]: 1 } },
    "H4 in a logic node": { filter: { _or: [{ _not: { [name]: { _is_null: true } } }] } },
    "H4 through a relation": { filter: { team: { notes: { [name]: 1 } } } },
    "H5 in sort": { sort: `-${name}` },
    "H6 in an aggregate": { aggregate: { [name]: { max: true } } },
    "H11 in fields": { fields: name },
  });
  it("H6 in a sort by the children a column one may not see is a column that is not there", async () => {
    const sorted = (name: string) => ann.get("/teams", { sort: `-_max(notes.${name}),id` });
    expect((await sorted("title")).status).toBe(200);
    for (const column of ["secret", "salary"]) {
      const [answer, other] = [await sorted(column), await sorted("nosuch")];
      expect(answer.status).toBe(400);
      expect(JSON.stringify(said(answer)).replaceAll(column, "nosuch")).toBe(JSON.stringify(said(other)));
    }
  });

  it.each(Object.keys(withName("")))(
    "%s a column one may not see is a column that is not there",
    async (place) => {
      for (const column of ["secret", "salary"]) {
        const [asked, absent] = [withName(column)[place], withName("nosuch")[place]];
        const [answer, other] = [await ann.get("/notes", asked), await ann.get("/notes", absent)];
        expect(answer.status).toBe(400);
        expect(JSON.stringify(said(answer)).replaceAll(column, "nosuch")).toBe(JSON.stringify(said(other)));
      }
    },
  );

  it("H6 has no place for another name of a column", async () => {
    expect((await ann.get("/notes", { fields: "s:secret" })).status).toBe(400);
    const { body } = await ann.get("/notes", { alias: { s: "secret" }, filter: { title: "plain" } });
    expect(JSON.stringify(body.data)).not.toContain("s1");
  });

  it("H7 finds nothing by a record behind a relation that may not be seen", async () => {
    const theirs = await idOf("theirs");
    const byId = await ann.get("/teams", { filter: { notes: { id: theirs } } });
    const byTitle = await ann.get("/teams", { filter: { notes: { title: "theirs" } } });
    expect([byId.body.data, byTitle.body.data]).toEqual([[], []]);
  });

  it("H8 counts what the caller may see", async () => {
    const { body } = await ann.get("/notes", { meta: "totalCount,filterCount", fields: "id" });
    expect(body.meta).toMatchObject({ totalCount: 2, filterCount: 2 });
  });

  it("H9 takes an array for _and and _or, and nothing that looks like one", async () => {
    const { status } = await filtered(ann, { _or: { 0: { title: "plain" }, length: 1 } });
    expect(status).toBe(400);
  });

  it("H10 finds nothing in an empty list", async () => {
    expect(titles(await filtered(ann, { title: { _in: [] } }))).toEqual([]);
  });

  it("H12 shows a column to nobody because another had its name once", async () => {
    const [pay, text] = ["pay", "text"].map((name) => ({ name, type: "string" }));
    const papers = await makeTable(admin, { name: "papers", columns: [pay, text] });
    const grant = { role, table: "papers", action: "read", fields: "text,pay" };
    const { id } = await make(admin, "svc_permission", grant);
    const kept = papers.columns.filter(({ name }: Row) => name === "text");
    expect((await admin.patch(`/svc_table/${papers.id}`, { columns: kept })).status).toBe(200);
    expect((await admin.patch(`/svc_table/${papers.id}`, { columns: [...kept, pay] })).status).toBe(200);
    await make(admin, "papers", { text: "t", pay: "7" });
    const { body } = await ann.get("/papers", { fields: "*" });
    expect(body.data).toEqual([{ id: expect.any(String), text: "t" }]);
    expect((await admin.get(`/svc_permission/${id}`)).body.data[0].fields).toBe("text");
  });

  it("H12 opens a table to nobody because another had its name once", async () => {
    const first = await makeTable(admin, { name: "drafts", columns: [{ name: "text", type: "string" }] });
    const { id } = await make(admin, "svc_permission", { role, table: "drafts", action: "read" });
    expect((await ann.get("/drafts")).status).toBe(200);
    await admin.delete(`/svc_table/${first.id}`);
    await makeTable(admin, { name: "drafts", columns: [{ name: "text", type: "string" }] });
    expect((await ann.get("/drafts")).status).toBe(403);
    expect((await admin.get(`/svc_permission/${id}`)).body.data[0].isEnabled).toBe(false);
  });

  it("H14 takes no pattern from a caller, and no text without end", async () => {
    expect(titles(await filtered(ann, { title: { _contains: "(a+)+$" } }))).toEqual([]);
    expect(titles(await filtered(ann, { title: { _contains: ".*" } }))).toEqual([]);
    const long = await ann.send(
      "QUERY",
      "/notes",
      json({ filter: { title: { _contains: "a".repeat(100_000) } } }),
    );
    expect(long.status).toBe(400);
  });

  it("H15 has a depth and a size", async () => {
    const deep = `${'{"_not":'.repeat(5_000)}{"title":"a"}${"}".repeat(5_000)}`;
    const wide = { _or: Array.from({ length: 5_000 }, (_, at) => ({ title: `t${at}` })) };
    const sent = [`{"filter":${deep}}`, JSON.stringify({ filter: wide })];
    for (const body of sent) {
      const { status } = await ann.send("QUERY", "/notes", { ...json({}), body });
      expect(status).toBe(400);
    }
  });

  it("H16 ends when its time is over, with 504", async () => {
    const hurried = await startStack({ twinOf: stack, env: { QUERY_TIMEOUT_MS: "1" } });
    try {
      const rows = Array.from({ length: 2_000 }, (_, at) => ({ title: `bulk ${at}`, owner: annId, team }));
      for (let at = 0; at < rows.length; at += 500) await admin.post("/notes", rows.slice(at, at + 500));
      const api = await signIn(`${hurried.appUrl}/api`, ANN);
      const { status, body } = await api.get("/notes", {
        filter: { team: { notes: { team: { notes: { title: { _contains: "k 1" } } } } } },
      });
      expect([status, body.error.code]).toEqual([504, "QUERY_TIMEOUT"]);
    } finally {
      await hurried.stop();
    }
  });

  it.each([
    ["limit=1&limit=2"],
    ["filter[title]=a&filter[title]=b"],
    ["sort[]=title"],
    ["filter={}&filter={}"],
  ])("H17 says each thing once: %s", async (search) => {
    expect((await ann.get(`/notes?${search}`)).status).toBe(400);
  });

  it("H18 shows no more in other answers: of a write, of /me", async () => {
    const { body } = await ann.patch(`/notes/${await idOf("plain")}`, { title: "changed" });
    expect(Object.keys(body.data[0]).sort()).toEqual(["id", "team", "title"]);
    expect(JSON.stringify((await ann.get("/me")).body)).not.toMatch(/password|hash/i);
  });
});

function fileForm(content: string): FormData {
  const form = new FormData();
  form.set("file", new Blob([content], { type: "text/plain" }), "a.txt");
  return form;
}

const json = (body: unknown): RequestInit => ({
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json" },
});

describe("a write", () => {
  it.each([[{ isRootAdmin: true }], [{ role: null }], [{ createdAt: "1970-01-01T00:00:00Z", id: 9 }]])(
    "I1 gives nobody more than they have: %j",
    async (body) => {
      const before = (await admin.get(`/svc_user/${annId}`)).body.data;
      await ann.patch("/me", body);
      expect((await ann.patch(`/svc_user/${annId}`, body)).status).toBe(403);
      const after = (await admin.get(`/svc_user/${annId}`)).body.data;
      expect({ ...after[0], updatedAt: null }).toEqual({ ...before[0], updatedAt: null });
    },
  );

  it("I2 changes no other record through a relation", async () => {
    const body = { title: "mine", owner: { id: annId, isRootAdmin: true } };
    expect((await ann.post("/notes", body)).status).toBe(400);
    expect((await admin.get(`/svc_user/${annId}`)).body.data[0].isRootAdmin).toBe(false);
  });

  it.each([
    [{ $set: { title: "x" } }],
    [{ "team.name": "x" }],
    [[{ $set: { title: "x" } }]],
    [{ title: { $inc: 1 } }],
  ])("I3 is never an update of the database's own: %j", async (body) => {
    const before = await stored();
    expect((await ann.patch(`/notes/${await idOf("plain")}`, body)).status).toBe(400);
    expect(await stored()).toEqual(before);
  });

  it("I4 reaches no row outside of the caller's rules", async () => {
    const [before, theirs] = [await stored(), await idOf("theirs")];
    expect((await ann.patch(`/notes/${theirs}`, { title: "x" })).status).toBe(404);
    expect((await ann.delete(`/notes/${theirs}`)).status).toBe(404);
    expect(await stored()).toEqual(before);
  });

  it("I5 that is refused has done nothing: the bytes of a file stay", async () => {
    const upload = { body: fileForm("first") };
    const file = (await admin.send("POST", "/svc_file", upload)).body.data[0];
    const other = { body: fileForm("other") };
    const chunks = () => database.db().collection("_files.chunks").countDocuments();
    const before = await chunks();
    const { status } = await ann.send("PATCH", `/svc_file/${file.id}`, other);
    expect([403, 404]).toContain(status);
    expect((await admin.send("GET", `/assets/${file.id}`)).body).toBe("first");
    expect(await chunks()).toBe(before);
  });

  it("I6 of one unique value succeeds once, whoever else tries", async () => {
    const tries = Array.from({ length: 100 }, () => admin.post("/notes", { title: "only" }));
    expect(tally(await Promise.all(tries))).toEqual({ 201: 1, 409: 99 });
  });

  it.each(["__proto__", "$x", "a.b", "system.x", "constructor", "a".repeat(300), "svc_mine", "auth"])(
    "I7 makes no table named %s",
    async (name) => {
      const { status } = await admin.post("/svc_table", { name, columns: [] });
      expect([409, 422]).toContain(status);
    },
  );
  it.each(["__proto__", "$x", "a.b", "constructor", "a".repeat(300), "_id", "id"])(
    "I7 makes no column named %s",
    async (name) => {
      const { status } = await admin.post("/svc_table", {
        name: "seven",
        columns: [{ name, type: "string" }],
      });
      expect([400, 422]).toContain(status);
    },
  );

  it.each(["_id", "_version", "__v", "_record_version", "_g_title"])(
    "I8 knows no field named %s",
    async (name) => {
      const before = await stored();
      expect((await ann.post("/notes", { title: "x", [name]: 1 })).status).toBe(400);
      expect((await admin.post("/notes", { title: "x", [name]: 1 })).status).toBe(400);
      expect(await stored()).toEqual(before);
    },
  );
});
