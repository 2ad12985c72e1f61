// Contract 5: what is unique stays unique, however many ask at once. PORTICO_RACE_ROUNDS asks more often.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, read, tally, valuesOf } from "./make.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 3);

const CODE = { name: "code", type: "string", unique: true };

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, { name: "owners", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "items",
    columns: [
      CODE,
      { name: "number", type: "bigint", unique: true },
      { name: "day", type: "date", unique: true },
      { name: "shelf", type: "string" },
      { name: "place", type: "int" },
    ],
    relations: [{ name: "owner", type: "many-to-one", table: "owners", inverse: "items" }],
    uniques: [
      ["shelf", "place"],
      ["owner", "place"],
    ],
  });
});

afterAll(() => stack.stop());

describe("a unique column", () => {
  it("refuses a value that exists with 409 and the field's name", async () => {
    await make(admin, "items", { code: "taken" });
    const { status, body } = await admin.post("/items", { code: "taken" });
    expect([status, body.error.code, body.error.details]).toEqual([
      ...[409, "DUPLICATE_RESOURCE", { fields: ["code"] }],
    ]);
    expect(body.message).toMatch(/^code: /);
  });

  it("lets one of a hundred creates at the same moment win", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const code = `race-${round}`;
      const answers = await atOnce(100, () => admin.post("/items", { code }));
      expect([round, tally(answers)]).toEqual([round, { 201: 1, 409: 99 }]);
      expect(await valuesOf(admin, "items", "code", { code })).toEqual([code]);
    }
  }, 600_000);

  it("lets one of twenty changes at the same moment win", async () => {
    const ids = await atOnce(20, async () => (await make(admin, "items", {})).id);
    const answers = await atOnce(20, (at) => admin.patch(`/items/${ids[at]}`, { code: "changed" }));
    expect(tally(answers)).toEqual({ 200: 1, 409: 19 });
  });

  it("lets many records have no value", async () => {
    const answers = await atOnce(5, () => admin.post("/items", { code: null, number: null, day: null }));
    expect(tally(answers)).toEqual({ 201: 5 });
  });

  it("gives a value free when it is changed to null or its record is deleted", async () => {
    const first = await make(admin, "items", { code: "free" });
    await admin.patch(`/items/${first.id}`, { code: null });
    const second = await make(admin, "items", { code: "free" });
    await admin.delete(`/items/${second.id}`);
    expect((await admin.post("/items", { code: "free" })).status).toBe(201);
  });

  it("tells letters of different case apart", async () => {
    await make(admin, "items", { code: "Case" });
    expect((await admin.post("/items", { code: "case" })).status).toBe(201);
  });

  it.each([
    ["number", "9223372036854775807"],
    ["day", "2024-02-29"],
  ])("works for %s", async (column, value) => {
    await make(admin, "items", { [column]: value });
    const { status, body } = await admin.post("/items", { [column]: value });
    expect([status, body.error.details]).toEqual([409, { fields: [column] }]);
  });

  it("lets a record keep its own value", async () => {
    const { id } = await make(admin, "items", { code: "mine" });
    expect((await admin.patch(`/items/${id}`, { code: "mine", place: 1 })).status).toBe(200);
  });

  it("refuses a change and leaves the record as it was", async () => {
    await make(admin, "items", { code: "theirs" });
    const before = await make(admin, "items", { code: "ours" });
    expect((await admin.patch(`/items/${before.id}`, { shelf: "z", code: "theirs" })).status).toBe(409);
    expect(await read(admin, "items", before.id)).toEqual(before);
  });
});

describe("columns that are unique together", () => {
  it("refuse the same pair with both names, and let each value repeat alone", async () => {
    await make(admin, "items", { shelf: "a", place: 1 });
    expect((await admin.post("/items", { shelf: "a", place: 2 })).status).toBe(201);
    expect((await admin.post("/items", { shelf: "b", place: 1 })).status).toBe(201);
    const { status, body } = await admin.post("/items", { shelf: "a", place: 1 });
    expect([status, body.error.details]).toEqual([409, { fields: ["shelf", "place"] }]);
  });

  it("do not collide when one of them is null", async () => {
    const answers = await atOnce(4, () => admin.post("/items", { shelf: "half", place: null }));
    expect(tally(answers)).toEqual({ 201: 4 });
  });

  it("let one of thirty creates at the same moment win", async () => {
    const answers = await atOnce(30, () => admin.post("/items", { shelf: "race", place: 7 }));
    expect(tally(answers)).toEqual({ 201: 1, 409: 29 });
  });

  it("may hold a relation", async () => {
    const owner = (await make(admin, "owners", {})).id;
    await make(admin, "items", { owner, place: 50 });
    const { status, body } = await admin.post("/items", { owner, place: 50 });
    expect([status, body.error.details]).toEqual([409, { fields: ["owner", "place"] }]);
  });

  it("refuse links set from the inverse side of a new record, which is then not there", async () => {
    const [a, b] = await atOnce(2, async () => (await make(admin, "items", { place: 60 })).id);
    const { status } = await admin.post("/owners", { name: "greedy", items: [a, b] });
    expect(status).toBe(409);
    expect(await valuesOf(admin, "owners", "name", { name: "greedy" })).toEqual([]);
    const held = { id: { _in: [a, b] }, owner: { _is_null: false } };
    expect(await valuesOf(admin, "items", "id", held)).toEqual([]);
  });
});

describe("a list of new records with a duplicate", () => {
  it("creates none when the value exists already", async () => {
    await make(admin, "items", { code: "there" });
    const answer = await admin.post("/items", [{ code: "new-1" }, { code: "there" }, { code: "new-2" }]);
    expect([answer.status, answer.body.error.details]).toEqual([409, { fields: ["code"] }]);
    expect(await valuesOf(admin, "items", "code", { code: { _starts_with: "new-" } })).toEqual([]);
  });

  it("creates none when two of them have the same value", async () => {
    const answer = await admin.post("/items", [{ code: "twin-1" }, { code: "twin-2" }, { code: "twin-1" }]);
    expect(answer.status).toBe(409);
    expect(await valuesOf(admin, "items", "code", { code: { _starts_with: "twin-" } })).toEqual([]);
  });

  const listed = async (path: string, body: unknown) => {
    const { status, body: answer } = await admin.post(path, body);
    return [status, answer.error.code, answer.message, answer.error.details];
  };
  const one = { fields: ["code"] };

  it("says which of them, whatever is unique", async () => {
    await make(admin, "items", { code: "placed", shelf: "placed", place: 1 });
    expect(await listed("/items", [{ code: "p1" }, { code: "p2" }, { code: "placed" }])).toEqual([
      ...[409, "DUPLICATE_RESOURCE"],
      ...[['[2].code: a record of "items" with this value exists already'], one],
    ]);
    expect(await listed("/items", [{ code: "placed" }])).toEqual([
      ...[409, "DUPLICATE_RESOURCE"],
      ...[['[0].code: a record of "items" with this value exists already'], one],
    ]);
    expect(await listed("/items", [{ shelf: "placed" }, { shelf: "placed", place: 1 }])).toEqual([
      ...[409, "DUPLICATE_RESOURCE"],
      ...[['[1].shelf, place: a record of "items" with this value exists already']],
      { fields: ["shelf", "place"] },
    ]);
  });

  it("says which of them has the value that another one brings again", async () => {
    const twins = [{ code: "t1" }, { code: "t2" }, { code: "t3" }, { code: "t2" }];
    expect(await listed("/items", twins)).toEqual([
      ...[409, "DUPLICATE_RESOURCE", ["[3].code: [1] has this value already"], one],
    ]);
    const pairs = [
      { shelf: "t", place: 1 },
      { shelf: "t", place: 2 },
      { shelf: "t", place: 1 },
    ];
    expect((await listed("/items", pairs))[2]).toEqual(["[2].shelf, place: [0] has this value already"]);
    expect(await valuesOf(admin, "items", "code", { code: "t1" })).toEqual([]);
  });

  it("says which of the records inside others", async () => {
    await make(admin, "items", { code: "inner" });
    const lists = [
      { name: "n1", items: [{ code: "i1" }] },
      { name: "n2", items: [{ code: "i2" }, { code: "inner" }] },
    ];
    expect(await listed("/owners", lists)).toEqual([
      ...[409, "DUPLICATE_RESOURCE"],
      ...[['[1].items[1].code: a record of "items" with this value exists already'], one],
    ]);
    const items = [{ code: "i3" }, { code: "i4" }, { code: "i3" }];
    expect((await listed("/owners", { name: "n3", items }))[2]).toEqual([
      "items[2].code: items[0] has this value already",
    ]);
    const places = [{ name: "n4" }, { name: "n5", items: await twoOfOnePlace() }];
    expect((await listed("/owners", places))[2]).toEqual([
      '[1]: owner, place: a record of "items" with this value exists already',
    ]);
    expect(await valuesOf(admin, "owners", "name", { name: { _starts_with: "n" } })).toEqual([]);
  });

  const twoOfOnePlace = (): Promise<string[]> =>
    atOnce(2, async () => (await make(admin, "items", { place: 70 })).id);

  it("says it with an Idempotency-Key, and of a table with history", async () => {
    await makeTable(admin, { name: "noted", history: true, columns: [CODE] });
    await make(admin, "noted", { code: "there" });
    const bodies = [{ code: "a" }, { code: "there" }];
    const message = ['[1].code: a record of "noted" with this value exists already'];
    expect((await listed("/noted", bodies))[2]).toEqual(message);
    const keyed = await admin.send("POST", "/noted", {
      body: JSON.stringify(bodies),
      headers: { "Content-Type": "application/json", "Idempotency-Key": "places" },
    });
    expect([keyed.status, keyed.body.message]).toEqual([409, message]);
  });

  it("leaves the record alone that had the value", async () => {
    const before = await make(admin, "items", { code: "owner", shelf: "kept" });
    await admin.post("/items", [{ code: "x1" }, { code: "owner" }]);
    expect(await read(admin, "items", before.id)).toEqual(before);
  });
});

describe("ids", () => {
  it("of a sequence are never given twice, not even to a hundred creates at once", async () => {
    await makeTable(admin, { name: "tickets", idType: "int" });
    const rows = await atOnce(100, () => make(admin, "tickets", {}));
    const ids = rows.map((row) => row.id).toSorted((a, b) => a - b);
    expect(ids).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
  });

  it("of a sequence go on after the last record was deleted", async () => {
    await makeTable(admin, { name: "receipts", idType: "int" });
    const first = await make(admin, "receipts", {});
    await admin.delete(`/receipts/${first.id}`);
    expect((await make(admin, "receipts", {})).id).toBe(first.id + 1);
  });
});
