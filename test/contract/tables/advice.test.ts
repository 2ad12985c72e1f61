// GET /svc_table/{id}/advice: what reads too much, and the index that ends it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin, type Query, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";

interface Advised {
  readonly shape: { readonly table: string; readonly filter: unknown[]; readonly sort: string[] };
  readonly seen: number;
  readonly timedOut: number;
  readonly examined: number | null;
  readonly returned: number | null;
  readonly ratio: number | null;
  readonly advice: Record<string, unknown> | null;
  readonly sentence: string;
}

const ROWS = 240;

describe("advice on indexes", () => {
  let stack: Stack;
  let root: Api;

  beforeAll(async () => {
    stack = await startStack();
    root = await asAdmin(stack);
  });

  afterAll(() => stack?.stop());

  async function makeTable(definition: Record<string, unknown>): Promise<string> {
    const { status, body } = await root.post("/svc_table", definition);
    expect([status, body.message]).toEqual([201, "Success"]);
    return body.data[0].id;
  }

  async function makeRecords(table: string, records: readonly unknown[]): Promise<string[]> {
    const { status, body } = await root.post(`/${table}`, records, { fields: "id" });
    expect(status).toBe(201);
    return body.data.map((record: { id: string }) => record.id);
  }

  /** A table of notes of twenty kinds. @returns the id of the table */
  async function notes(name: string, more: Record<string, unknown> = {}): Promise<string> {
    const id = await makeTable({
      name,
      columns: [
        { name: "kind", type: "string" },
        { name: "size", type: "int" },
        { name: "text", type: "text" },
      ],
      ...more,
    });
    await makeRecords(
      name,
      Array.from({ length: ROWS }, (_, at) => ({ kind: `k${at % 20}`, size: at, text: `note ${at}` })),
    );
    return id;
  }

  async function ask(table: string, query: Query): Promise<void> {
    expect((await root.get(`/${table}`, query)).status).toBe(200);
  }

  async function adviceOn(id: string): Promise<Advised[]> {
    const { status, body } = await root.get(`/svc_table/${id}/advice`);
    expect(status).toBe(200);
    return body.data;
  }

  test("names the shape of a wasteful query, how wasteful it is, and the index that would help", async () => {
    const id = await notes("plain");
    const query = { filter: { kind: "k7", size: { _gt: 3 } }, sort: "-size", limit: "3" };
    await ask("plain", query);
    await ask("plain", { ...query, filter: { kind: "k8", size: { _lt: 200 } } });
    const [first, ...others] = await adviceOn(id);
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      shape: {
        table: "plain",
        filter: [
          { field: "kind", test: "equality" },
          { field: "size", test: "range" },
        ],
        sort: ["-size"],
      },
      seen: 2,
      examined: ROWS,
      returned: 3,
      ratio: 80,
      advice: { index: ["kind", "-size"] },
    });
    expect(first?.sentence).toBe(
      `Add ["kind","-size"] to the indexes of "plain". Now ${ROWS} records are read to answer 3.`,
    );
    expect(JSON.stringify(first)).not.toMatch(/k7|k8|200/);
  });

  test("is silent about the same queries on a table made with the index", async () => {
    const id = await notes("indexed", { indexes: [["kind", "-size"]] });
    await ask("indexed", { filter: { kind: "k7", size: { _gt: 3 } }, sort: "-size", limit: "3" });
    const explained = await root.get("/indexed", {
      filter: { kind: "k7", size: { _gt: 3 } },
      sort: "-size",
      limit: "3",
      explain: "true",
    });
    expect(explained.body.data[0].documentsExamined).toBe(3);
    expect(await adviceOn(id)).toEqual([]);
  });

  test.each<[index: string[], query: Query]>([
    [["createdAt"], { sort: "createdAt" }],
    [["kind", "-size"], { filter: { kind: "k7" }, sort: "-size" }],
    [["kind", "-createdAt", "id", "size"], { filter: { kind: "k7", size: { _gt: 20 } }, sort: "-createdAt" }],
    [["kind", "size", "-id"], { filter: { kind: "k7" }, sort: "size,-id" }],
  ])("advises an index that has what is asked for in its order: %j", async (index, asked) => {
    const id = await notes(`ordered_${index.join("").replaceAll("-", "_").toLowerCase()}`);
    const name = (await root.get(`/svc_table/${id}`)).body.data[0].name;
    const query = { ...asked, limit: "3" };
    await ask(name, query);
    expect((await adviceOn(id)).map(({ advice }) => advice)).toEqual([{ index }]);
    expect((await root.patch(`/svc_table/${id}`, { indexes: [index] })).status).toBe(200);
    const explained = await root.get(`/${name}`, { ...query, explain: "true" });
    expect(explained.body.data[0].documentsExamined).toBe(3);
    await ask(name, query);
    expect(await adviceOn(id)).toEqual([]);
  });

  test("says no more of what was taken, by whichever advice", async () => {
    const id = await notes("heeded");
    const people = await makeTable({ name: "owners", columns: [{ name: "name", type: "string" }] });
    const relations = [{ name: "owner", type: "many-to-one", table: "owners", inverse: "heeded" }];
    expect((await root.patch(`/svc_table/${id}`, { relations })).status).toBe(200);
    await makeRecords(
      "owners",
      Array.from({ length: ROWS }, (_, at) => ({ name: `n${at}` })),
    );
    await ask("heeded", { filter: { text: { _contains: "note 77" } } });
    await ask("owners", { sort: "-_count(heeded)", limit: "1" });
    const taken = async () => [await adviceOn(id), await adviceOn(people)].flat().map(({ advice }) => advice);
    expect(await taken()).toEqual([{ searchable: "text" }, { counted: "heeded" }]);
    const [{ columns, relations: made }] = (await root.get(`/svc_table/${id}`)).body.data;
    const changed = await root.patch(`/svc_table/${id}`, {
      columns: columns.map((each: Query) => ({ ...each, ...(each.name === "text" && { searchable: true }) })),
      relations: made.map((each: Query) => ({ ...each, counted: true })),
    });
    expect(changed.status).toBe(200);
    expect(await taken()).toEqual([]);
  });

  test("lists the greatest waste first, and leaves frugal queries out", async () => {
    const id = await notes("several");
    await ask("several", { filter: { kind: "k1" }, limit: "0" });
    for (let time = 0; time < 3; time += 1) await ask("several", { filter: { size: 5 } });
    await ask("several", { limit: "0" });
    await ask("several", { sort: "-createdAt", page: "9" });
    await ask("several", { filter: { text: { _contains: "note 77" } } });
    const advice = await adviceOn(id);
    expect(advice.map((each) => each.advice)).toEqual([
      { index: ["size"] },
      { searchable: "text" },
      { index: ["kind"] },
    ]);
  });

  test("covers what filters, deep and sorts read in other tables", async () => {
    const people = await makeTable({ name: "people", columns: [{ name: "name", type: "string" }] });
    const remarks = await makeTable({
      name: "remarks",
      columns: [{ name: "likes", type: "int" }],
      relations: [{ name: "person", type: "many-to-one", table: "people", inverse: "remarks" }],
    });
    const ids = await makeRecords(
      "people",
      Array.from({ length: 230 }, (_, at) => ({ name: `p${at}` })),
    );
    await makeRecords(
      "remarks",
      Array.from({ length: 500 }, (_, at) => ({ likes: at, person: ids[at % 10] })),
    );
    await ask("remarks", { filter: { person: { name: "p3" } } });
    await ask("people", {
      filter: { id: { _in: ids.slice(0, 10) } },
      deep: { remarks: { sort: "-likes", limit: 2 } },
    });
    await ask("people", { sort: "-_count(remarks)", limit: "1" });
    expect((await adviceOn(people)).map(({ shape, advice }) => ({ shape, advice }))).toEqual([
      {
        shape: { table: "people", filter: [], sort: ["-_count(remarks)"] },
        advice: { counted: "remarks" },
      },
      {
        shape: { table: "people", filter: [{ field: "name", test: "equality" }], sort: [] },
        advice: { index: ["name"] },
      },
    ]);
    expect(await adviceOn(remarks)).toMatchObject([
      {
        shape: { filter: [{ field: "person", test: "equality" }], sort: ["-likes"] },
        examined: 500,
        returned: 20,
        advice: { index: ["person", "-likes"] },
      },
    ]);
  });

  test("names what a change of the table takes, and what then ends the waste", async () => {
    const id = await makeTable({
      name: "wasteful",
      idType: "string",
      columns: [
        { name: "kind", type: "string" },
        { name: "size", type: "int" },
        { name: "code", type: "string", unique: true },
        { name: "some", type: "enumList", options: { values: ["red", "green", "blue"] } },
        { name: "more", type: "enumList", options: { values: ["red", "green", "blue"] } },
      ],
    });
    const lists = (at: number) => ({
      some: at < 3 ? ["red"] : ["green"],
      more: at < 5 ? ["red"] : ["green"],
    });
    await makeRecords(
      "wasteful",
      Array.from({ length: ROWS }, (_, at) => ({
        id: `note-${at}`,
        kind: `k${at % 20}`,
        size: at,
        ...lists(at),
        ...(at < 2 ? {} : { code: `c${at}` }),
      })),
    );
    const queries: readonly Query[] = [
      { filter: { some: { _contains: "red" }, more: { _contains: "red" } } },
      { sort: "-code", limit: "2" },
      { filter: { code: null } },
      { filter: { kind: "k7" }, sort: "-id,size", limit: "1" },
      { filter: { id: { _contains: "note-77" } } },
    ];
    for (const query of queries) await ask("wasteful", query);
    const given = (await adviceOn(id)).map(({ shape, advice }) => ({ ...shape, advice }));
    const found = (field: string, kind: string) => ({ field, test: kind });
    const shapeOf = (filter: unknown[], sort: string[], advice: unknown) => ({
      table: "wasteful",
      filter,
      sort,
      advice,
    });
    const unaided = shapeOf([found("id", "text")], [], null);
    expect(new Set(given)).toEqual(
      new Set([
        shapeOf([found("more", "equality"), found("some", "equality")], [], { index: ["more"] }),
        shapeOf([], ["-code"], { index: ["-code"] }),
        shapeOf([found("code", "null")], [], { index: ["code"] }),
        shapeOf([found("kind", "equality")], ["-id", "size"], { index: ["kind", "-id"] }),
        unaided,
      ]),
    );
    const changed = await root.patch(`/svc_table/${id}`, {
      indexes: given.flatMap(({ advice }) => (advice?.index === undefined ? [] : [advice.index])),
    });
    expect([changed.status, changed.body.message]).toEqual([200, "Success"]);
    for (const query of queries) await ask("wasteful", query);
    expect((await adviceOn(id)).map(({ shape, advice }) => ({ ...shape, advice }))).toEqual([unaided]);
  });

  test("is for root admins, and only for tables that are there", async () => {
    const id = await makeTable({ name: "guarded", columns: [] });
    const path = `/svc_table/${id}/advice`;
    const account = { email: "advice@example.com", password: "just a password" };
    await root.post("/svc_user", account);
    const user = await signIn(`${stack.appUrl}/api`, account);
    const statusOf = async (api: Api, at: string): Promise<number> => (await api.get(at)).status;
    expect(await statusOf(apiOf(`${stack.appUrl}/api`), path)).toBe(401);
    expect(await statusOf(user, path)).toBe(403);
    expect(await statusOf(root, `${path}/`)).toBe(200);
    expect(await statusOf(root, `${path}?limit=1`)).toBe(400);
    expect(await statusOf(root, `/svc_table/${"f".repeat(24)}/advice`)).toBe(404);
    expect(await statusOf(root, "/svc_table/nonsense/advice")).toBe(404);
    const post = await root.post(path, {});
    expect([post.status, post.headers.get("Allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});

describe("advice on queries that take longer than they may", () => {
  let stack: Stack;
  let root: Api;
  let id: string;

  beforeAll(async () => {
    stack = await startStack({ env: { QUERY_TIMEOUT_MS: "300" } });
    root = await asAdmin(stack);
    const columns = [{ name: "name", type: "string" }];
    const relations = [
      { name: "former", type: "many-to-one", table: "steps", inverse: "later" },
      { name: "begin", type: "many-to-one", table: "steps", inverse: "all" },
    ];
    const { status, body } = await root.post("/svc_table", {
      name: "steps",
      idType: "int",
      columns,
      relations,
    });
    expect(status).toBe(201);
    id = body.data[0].id;
    const client = await MongoClient.connect(stack.mongodbUrl);
    const steps = client
      .db()
      .collection<{ _id: number; name: string; formerId: number; beginId: number }>("steps");
    await steps.insertMany(
      Array.from({ length: 20_000 }, (_, _id) => ({ _id, name: `${_id % 7}`, formerId: _id, beginId: 0 })),
    );
    await client.close();
  });

  afterAll(() => stack?.stop());

  test("says nothing of records that were there in time, whatever was asked of related ones", async () => {
    const deep = { all: { fields: "id", sort: "former.name", limit: 2 } };
    const late = { filter: { name: "0" }, sort: "id", limit: "1", fields: "id", deep };
    expect((await root.get("/steps", late)).status).toBe(504);
    const { body } = await root.get(`/svc_table/${id}/advice`);
    expect(body.data.filter(({ timedOut }: Advised) => timedOut > 0)).toEqual([]);
  });

  test("tells them, before all others, with what they were asked for", async () => {
    const late = { fields: "id", sort: "former.name", limit: "2" };
    expect((await root.get("/steps", late)).status).toBe(504);
    await root.get("/steps", { filter: { name: "none" } });
    expect((await root.get("/steps", { ...late, limit: "0" })).status).toBe(504);
    const { body } = await root.get(`/svc_table/${id}/advice`);
    const [first, second]: Advised[] = body.data;
    expect(first).toMatchObject({
      shape: { table: "steps", filter: [], sort: ["former.name"] },
      seen: 2,
      timedOut: 2,
      examined: null,
      returned: null,
      ratio: null,
      advice: null,
      sentence: expect.stringMatching(/ 2 of 2 took longer than a query may \(QUERY_TIMEOUT_MS\)\.$/),
    });
    expect(second).toMatchObject({ timedOut: 0, advice: { index: ["name"] } });
    // A busy machine may not come through all of them within the time of a query: this is what it examined until then.
    expect(second?.examined).toBeGreaterThan(1_000);
  });
});
