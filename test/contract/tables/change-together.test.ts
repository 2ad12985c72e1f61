// Contract 6: a change of a table beside other requests: on two instances, under writers, and two changes at once.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type RunningService, type Stack, startAnother, startStack } from "../../support/stack.js";
import { atOnce, make, makeTable, type Row, tally, valuesOf } from "../records/make.js";
import { columnsWith, patchConfirmed, tableNamed } from "./change.js";

let stack: Stack;
let admin: Api;
let second: RunningService;
let elsewhere: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  second = await startAnother(stack);
  elsewhere = await signIn(second.url, stack.admin);
});

afterAll(async () => {
  await second.stop();
  await stack.stop();
});

const TEXT = { columns: [{ name: "a", type: "string" }] };
let count = 0;
async function table(records: readonly object[] = []): Promise<Row> {
  count += 1;
  const made = await makeTable(admin, { name: `t${count}`, ...TEXT });
  if (records.length > 0) await admin.post(`/${made.name}`, records);
  // Both instances know it, so that neither has to look.
  await elsewhere.get(`/${made.name}`);
  return made;
}

describe("a change that was answered is seen by every instance", () => {
  it("a new relation takes new records", async () => {
    let made = await table();
    for (const name of ["first", "second", "third"]) {
      expect((await elsewhere.get(`/${made.name}`)).status).toBe(200);
      const relations = [...made.relations, { name, type: "many-to-one", table: made.name }];
      const changed = await admin.patch(`/svc_table/${made.id}`, { relations });
      expect(changed.status).toBe(200);
      [made] = changed.body.data;
      const { status, body } = await elsewhere.post(`/${made.name}`, { a: "x", [name]: { a: "inside" } });
      expect([status, body.message]).toEqual([201, "Success"]);
      const shown = await elsewhere.get(`/${made.name}/${body.data[0].id}`, { fields: `${name}.a` });
      expect(shown.body.data[0][name]).toMatchObject({ a: "inside" });
    }
  });

  it("a renamed column is unknown by its former name, in reads and in writes", async () => {
    for (let round = 0; round < 5; round += 1) {
      const made = await table([{ a: "x" }]);
      await admin.patch(`/svc_table/${made.id}`, { columns: columnsWith(made, "a", { name: "b" }) });
      const [read, write, old] = await Promise.all([
        elsewhere.get(`/${made.name}`, { fields: "b", sort: "createdAt" }),
        elsewhere.post(`/${made.name}`, { b: "y" }),
        elsewhere.post(`/${made.name}`, { a: "y" }),
      ]);
      expect([read.body.data[0], write.status, old.status]).toEqual([{ b: "x" }, 201, 400]);
    }
  });

  it("a removed table is gone, and one that is back is there", async () => {
    const made = await table();
    await admin.delete(`/svc_table/${made.id}`);
    expect((await elsewhere.post(`/${made.name}`, { a: "x" })).status).toBe(404);
    await admin.send("POST", `/svc_table/${made.id}/undo`);
    expect((await elsewhere.post(`/${made.name}`, { a: "x" })).status).toBe(201);
  });

  it("a new type, a new unique, a required column", async () => {
    const made = await table([{ a: "1" }]);
    const columns = columnsWith(made, "a", { type: "int", unique: true, required: true });
    expect((await admin.patch(`/svc_table/${made.id}`, { columns })).status).toBe(200);
    const answers = await Promise.all(
      [{ a: 1 }, { a: "2" }, {}, { a: 2 }].map((body) => elsewhere.post(`/${made.name}`, body)),
    );
    expect(answers.map(({ status }) => status)).toEqual([409, 400, 400, 201]);
  });
});

describe("writers that meet a change", () => {
  it("lose no answered record, and no value, to a change of type under their hands", async () => {
    const made = await table(Array.from({ length: 1000 }, (_, at) => ({ a: String(at) })));
    let changing = true;
    const answered: { id: string; value: number }[] = [];
    const write = async (writer: number): Promise<void> => {
      const api = writer % 2 === 0 ? admin : elsewhere;
      for (let at = 0; changing; at += 1) {
        const value = 10_000 * (writer + 1) + at;
        // The right spelling depends on the moment; exactly one of the two is right.
        const text = await api.post(`/${made.name}`, { a: String(value) });
        const number = text.status === 201 ? undefined : await api.post(`/${made.name}`, { a: value });
        const created = number ?? text;
        expect([201, 400]).toContain(created.status);
        if (created.status === 201) answered.push({ id: created.body.data[0].id, value });
      }
    };
    const writers = Array.from({ length: 6 }, (_, writer) => write(writer));
    for (const type of ["int", "string", "bigint"])
      expect(
        (await admin.patch(`/svc_table/${made.id}`, { columns: columnsWith(made, "a", { type }) })).status,
      ).toBe(200);
    changing = false;
    await Promise.all(writers);
    expect(answered.length).toBeGreaterThan(10);
    const { body } = await admin.get(`/${made.name}`, { fields: "id,a", limit: "0" });
    expect(body.data.length).toBe(1000 + answered.length);
    const values = new Map(body.data.map(({ id, a }: Row) => [id, a]));
    for (const { id, value } of answered) expect([id, values.get(id)]).toEqual([id, String(value)]);
  });

  it("never get a second record of a value past a unique that is being made", async () => {
    for (let round = 0; round < 3; round += 1) {
      const made = await table([{ a: "0" }]);
      const unique = columnsWith(made, "a", { unique: true });
      const [change, ...writes] = await Promise.all([
        admin.patch(`/svc_table/${made.id}`, { columns: unique }),
        ...Array.from({ length: 20 }, (_, at) =>
          (at % 2 ? admin : elsewhere).post(`/${made.name}`, { a: `v${at >> 1}` }),
        ),
      ]);
      const values = await valuesOf(admin, made.name, "a");
      expect(values.length).toBe(1 + writes.filter(({ status }) => status === 201).length);
      const repeated = new Set(values).size < values.length;
      expect([change.status, repeated]).toEqual(change.status === 200 ? [200, false] : [409, true]);
    }
  });

  it("leave nothing without a value in a column that becomes required", async () => {
    const made = await table([{ a: "x" }]);
    const required = columnsWith(made, "a", { required: true });
    const [change, ...writes] = await Promise.all([
      admin.patch(`/svc_table/${made.id}`, { columns: required }),
      ...Array.from({ length: 20 }, (_, at) => (at % 2 ? admin : elsewhere).post(`/${made.name}`, {})),
    ]);
    const values = await valuesOf(admin, made.name, "a");
    expect(tally(writes)[201] ?? 0).toBe(values.length - 1);
    if (change.status === 200) expect(values).toEqual(["x"]);
    else expect([change.status, change.body.error.code]).toEqual([409, "DESTRUCTIVE_CHANGE"]);
  });
});

describe("two changes at once", () => {
  it("both apply, one after the other, on whichever instance", async () => {
    const [one, other] = [await table([{ a: "1" }]), await table([{ a: "1" }])];
    const answers = await atOnce(6, (at) => {
      const target = at % 3 === 0 ? one : other;
      return (at % 2 ? admin : elsewhere).patch(`/svc_table/${target.id}`, { description: `d${at}` });
    });
    expect(tally(answers)).toEqual({ 200: 6 });
    expect((await tableNamed(admin, one.name)).description).toMatch(/^d[03]$/);
  });

  it("of one name: one gets it", async () => {
    const [one, other] = [await table(), await table()];
    const rename = (api: Api, { id }: Row): Promise<Answer> =>
      api.patch(`/svc_table/${id}`, { name: `wanted_${count}` });
    const answers = await Promise.all([rename(admin, one), rename(elsewhere, other)]);
    expect(tally(answers)).toEqual({ 200: 1, 409: 1 });
    const created = await Promise.all([
      admin.post("/svc_table", { name: `also_${count}` }),
      elsewhere.patch(`/svc_table/${one.id}`, { name: `also_${count}` }),
    ]);
    expect(created.filter(({ status }) => status < 300).length).toBe(1);
  });

  it("of one undo: it is undone once, and the change before it is not touched", async () => {
    const made = await table([{ a: "x" }]);
    await patchConfirmed(admin, made.id, { columns: [] });
    await admin.patch(`/svc_table/${made.id}`, { columns: [{ name: "b", type: "string" }] });
    await admin.post(`/${made.name}`, { b: "y" });
    await patchConfirmed(admin, made.id, { columns: [] });
    const undo = (api: Api) => api.send("POST", `/svc_table/${made.id}/undo`);
    const answers = await Promise.all([undo(admin), undo(elsewhere)]);
    const names = (await tableNamed(admin, made.name)).columns.map(({ name }: Row) => name);
    // The second may come late enough to find the earlier change.
    const both = tally(answers)[200] === 2;
    expect(names).toEqual(both ? ["b", "a"] : ["b"]);
    if (!both) expect(tally(answers)).toEqual({ 200: 1, 409: 1 });
  });

  it("a confirmation does not hold for what the other change has made of the table", async () => {
    const made = await table([{ a: "x" }]);
    const { body } = await admin.patch(`/svc_table/${made.id}`, { columns: [] });
    const confirm = body.error.details.confirmHash;
    const answers = await Promise.all([
      admin.patch(`/svc_table/${made.id}`, { columns: [] }, { confirm }),
      elsewhere.patch(`/svc_table/${made.id}`, { columns: columnsWith(made, "a", { type: "text" }) }),
    ]);
    const { columns } = await tableNamed(admin, made.name);
    const outcome = answers.map(({ status }) => status).join();
    // Either the removal came first, and there was nothing to convert; or the conversion, and the hash was stale.
    if (outcome === "409,200") expect(columns[0].type).toBe("text");
    else expect([outcome, columns]).toEqual(["200,422", []]);
  });
});

describe("an instance that dies in a change", () => {
  it("is not waited for, and another one ends what it has left", async () => {
    const made = await table(Array.from({ length: 1000 }, (_, at) => ({ a: String(at) })));
    const third = await startAnother(stack);
    const doomed = await signIn(third.url, stack.admin);
    const attempt = doomed
      .patch(`/svc_table/${made.id}`, { columns: columnsWith(made, "a", { type: "int" }) })
      .catch(() => undefined);
    while ((await tableNamed(admin, made.name)).change?.state !== "running");
    await third.stop("SIGKILL");
    await attempt;
    // Waits for the others to end it: no error, and the record is kept.
    await make(admin, made.name, { a: "last" });
    const values = await valuesOf(admin, made.name, "a");
    expect([values.length, values.includes("last"), values.includes("999")]).toEqual([1001, true, true]);
    expect((await tableNamed(admin, made.name)).change.state).toBe("failed");
    await patchConfirmed(admin, made.id, { columns: columnsWith(made, "a", { type: "int" }) });
    expect(await valuesOf(elsewhere, made.name, "a", { a: { _gte: 998 } })).toEqual([998, 999]);
  });
});
