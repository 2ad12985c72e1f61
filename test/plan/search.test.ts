// Searchable columns: text searches read candidates instead of the table, and never depend on how far indexing has come.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { type Api, asAdmin, signIn } from "../support/api.js";
import { type Stack, startAnother, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

const RECORDS = 3_000;
const RARE = 7;
const WORDS = ["amber", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper"];

let stack: Stack;
let api: Api;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  stack = await startStack();
  api = await asAdmin(stack);
  client = new MongoClient(stack.mongodbUrl);
  db = client.db();
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

function textAt(at: number): string {
  const words = [1, 3, 7].map((step) => WORDS[(at * step) % WORDS.length]);
  return `${words.join(" ")} ${at}${at % Math.ceil(RECORDS / RARE) === 0 ? " Quetzal" : ""}`;
}

async function fill(table: string, count: number, body: (at: number) => unknown): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < count; from += 1_000) {
    const bodies = Array.from({ length: Math.min(1_000, count - from) }, (_, at) => body(from + at));
    const answer = await api.post(`/${table}`, bodies, { fields: "id" });
    expect(answer.status).toBe(201);
    ids.push(...answer.body.data.map(({ id }: { id: string }) => id));
  }
  return ids;
}

const explain = async (table: string, query: Record<string, unknown>) => {
  const { status, body } = await api.get(`/${table}`, { ...query, explain: "true" });
  expect(status).toBe(200);
  return body.data[0];
};

const count = async (table: string, filter: unknown): Promise<number> => {
  const { status, body } = await api.get(`/${table}`, { filter, limit: "1", meta: "filterCount" });
  expect(status).toBe(200);
  return body.meta.filterCount;
};

describe("a search in many records", () => {
  beforeAll(async () => {
    const columns = [
      { name: "body", type: "text", searchable: true },
      { name: "plain", type: "text" },
      { name: "code", type: "string", unique: true },
    ];
    await api.post("/svc_table", { name: "notes", columns });
    const relations = [{ name: "note", type: "many-to-one", table: "notes", inverse: "remarks" }];
    await api.post("/svc_table", { name: "remarks", columns: [], relations });
    await fill("notes", RECORDS, (at) => ({ body: textAt(at), plain: textAt(at), code: `No.${at}` }));
  });

  test.each(["_contains", "_ends_with", "_icontains"])(
    "with %s reads the records that have the rarest gram",
    async (operator) => {
      const plan = await explain("notes", { filter: { body: { [operator]: "QUETZAL" } }, limit: "100" });
      expect(plan.fullScans).toBe(0);
      expect(plan.indexes).toEqual(["_g_body_1"]);
      expect(plan.documentsExamined).toBe(RARE);
      expect(plan.questions).toMatchObject([{ answers: 3, documentsExamined: 0 }]);
    },
  );

  test("with _starts_with reads candidates too", async () => {
    const plan = await explain("notes", { filter: { body: { _starts_with: "amber amber amber 10" } } });
    expect(plan.indexes).toEqual(["_g_body_1"]);
    expect(plan.documentsExamined).toBeLessThan(RECORDS / 5);
  });

  test("without `searchable` reads the table", async () => {
    const plan = await explain("notes", {
      filter: { plain: { _contains: "quetzal" } },
      limit: "0",
      sort: "plain",
    });
    expect([plan.fullScans, plan.documentsExamined]).toEqual([1, RECORDS]);
  });

  test("under _or reads the candidates of each branch", async () => {
    const filter = { _or: [{ body: { _contains: "quetzal" } }, { body: { _ends_with: " 1234" } }] };
    expect(await count("notes", filter)).toBe(RARE + 1);
    const plan = await explain("notes", { filter, limit: "100" });
    expect(plan.fullScans).toBe(0);
    expect(plan.documentsExamined).toBeLessThan(30);
  });

  test("through a relation reads the candidates of the other table", async () => {
    const filter = { note: { body: { _contains: "quetzal" } } };
    const [question] = (await explain("remarks", { filter })).questions;
    expect(question).toMatchObject({ answers: RARE, documentsExamined: RARE, fullScans: 0 });
  });

  test("negated finds all others", async () => {
    expect(await count("notes", { _not: { body: { _contains: "quetzal" } } })).toBe(RECORDS - RARE);
  });

  test("with _starts_with on an indexed column reads that part of the index", async () => {
    const plan = await explain("notes", { filter: { code: { _starts_with: "nO.12" } }, limit: "0" });
    expect(plan.fullScans).toBe(0);
    expect(plan.indexes).toEqual(["code_1"]);
    expect(plan.documentsExamined).toBe(111);
    expect(plan.keysExamined).toBeLessThan(111 + 10);
    expect(await count("notes", { code: { _starts_with: "nO.12" } })).toBe(111);
  });
});

describe("a searchable column", () => {
  let id: string;
  const found = (text: string) => count("letters", { body: { _contains: text } });

  beforeAll(async () => {
    const columns = [{ name: "body", type: "text", searchable: true }];
    await api.post("/svc_table", { name: "letters", columns });
    const relations = [{ name: "letter", type: "many-to-one", table: "letters", inverse: "stamps" }];
    const stamps = { columns: [{ name: "kind", type: "string" }], relations, uniques: [["letter", "kind"]] };
    await api.post("/svc_table", { name: "stamps", ...stamps });
    [id = ""] = await fill("letters", 1, () => ({ body: "first words" }));
  });

  test("is found by its present text after a change, and not by the former", async () => {
    await api.patch(`/letters/${id}`, { body: "second words" });
    expect([await found("first"), await found("SECOND")]).toEqual([0, 1]);
  });

  test("is found as before after a refused change", async () => {
    const stamps = await fill("stamps", 2, () => ({ kind: "red" }));
    const { status } = await api.patch(`/letters/${id}`, { body: "third words", stamps });
    expect(status).toBe(409);
    expect([await found("third"), await found("second")]).toEqual([0, 1]);
  });

  test("that becomes null is in no search, and its negation neither", async () => {
    await api.patch(`/letters/${id}`, { body: null });
    expect([await found("second"), await count("letters", { _not: { body: { _contains: "abc" } } })]).toEqual(
      [0, 0],
    );
    await api.patch(`/letters/${id}`, { body: "fourth" });
    expect(await found("fourth")).toBe(1);
  });

  test("shows its grams to nobody", async () => {
    const { body } = await api.get("/letters", { fields: "*" });
    expect(Object.keys(body.data[0]).sort()).toEqual(["body", "createdAt", "id", "updatedAt"]);
    expect((await api.get("/letters", { fields: "_g_body" })).status).toBe(400);
    expect((await api.get("/letters", { filter: { _g_body: "fou" } })).status).toBe(400);
  });

  test("finds texts with more grams than are stored", async () => {
    const long = Array.from({ length: 12_000 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join("");
    await api.post("/letters", { body: long });
    expect(await found(long.slice(5_000, 5_010))).toBe(1);
  });
});

describe("a column that becomes searchable later", () => {
  const COUNT = 2_000;

  /** What changing the table does to its definition. */
  async function setSearchable(searchable: boolean): Promise<void> {
    const change = { $set: { "columns.0.searchable": searchable } };
    await db.collection("svc_table").updateOne({ name: "diary" }, change);
    await db.collection<{ _id: string }>("_versions").updateOne({ _id: "catalog" }, { $inc: { version: 1 } });
  }

  const unindexed = () => db.collection("diary").countDocuments({ _g_body: { $exists: false } });

  async function whenIndexed(): Promise<void> {
    await until(unindexed, (count) => count === 0);
  }

  beforeAll(async () => {
    await api.post("/svc_table", { name: "diary", columns: [{ name: "body", type: "text" }] });
    await fill("diary", COUNT, (at) => ({ body: at % 10 === 0 ? null : textAt(at) }));
  });

  test("answers rightly at once, and from the index once records written before are indexed", async () => {
    const expected = await count("diary", { body: { _contains: "quetzal" } });
    expect(expected).toBeGreaterThan(0);
    const before = await db.collection("diary").findOne({ body: /Quetzal/ });
    await setSearchable(true);
    await stack.dataService.stop();
    await stack.restartDataService();
    expect(await count("diary", { body: { _contains: "quetzal" } })).toBe(expected);
    await whenIndexed();
    const plan = await explain("diary", { filter: { body: { _contains: "quetzal" } }, limit: "100" });
    expect([plan.fullScans, plan.documentsExamined]).toEqual([0, expected]);
    const after = await db.collection("diary").findOne({ body: before?.body });
    expect(after?.updatedAt).toEqual(before?.updatedAt);
  });

  test("loses no record that was written while it was not searchable in between", async () => {
    const [id] = await fill("diary", 1, () => ({ body: "written before" }));
    await setSearchable(false);
    await stack.dataService.stop();
    await stack.restartDataService();
    await api.patch(`/diary/${id}`, { body: "written between" });
    await setSearchable(true);
    await stack.dataService.stop();
    await stack.restartDataService();
    expect(await count("diary", { body: { _contains: "between" } })).toBe(1);
    expect(await count("diary", { body: { _contains: "before" } })).toBe(0);
  });

  test("is indexed to the end by two services of which one is killed, while records change", async () => {
    await db.collection("diary").updateMany({}, { $unset: { _g_body: "" } });
    await stack.dataService.stop("SIGKILL");
    const other = await startAnother(stack);
    const inside = await signIn(other.url, stack.admin);
    const { body } = await inside.get("/diary", { fields: "id", sort: "-createdAt", limit: "40" });
    const writes = body.data.map(({ id }: { id: string }) =>
      inside.patch(`/diary/${id}`, { body: `changed ${id}` }),
    );
    await stack.restartDataService();
    await Promise.all(writes);
    await other.stop("SIGKILL");
    await whenIndexed();
    expect(await count("diary", { body: { _contains: "changed " } })).toBe(40);
    const records = await db.collection("diary").find().toArray();
    for (const { body: text, _g_body: grams } of records) {
      const first = typeof text === "string" ? text.slice(0, 5).toLowerCase() : undefined;
      expect(grams).toEqual(first === undefined ? [] : expect.arrayContaining([first]));
    }
  });
});
