// kill -9 at any moment of a change of a table: afterwards the table is as before or as wanted, and no record is lost.
// A few moments on a few records in every run; `npm run test:crash` takes 20 moments on 50,000 records.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Answer, Api } from "../support/api.js";
import { asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const RECORDS = Number(process.env.PORTICO_CRASH_RECORDS ?? 2_000);
const MOMENTS = Number(process.env.PORTICO_CRASH_MOMENTS ?? 5);
const BULK = 1_000;

let directory: string;
let stack: Stack;
let admin: Api;
let table: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-change-crash-"));
  stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
  admin = await asAdmin(stack);
  const { body } = await admin.post("/svc_table", {
    name: "parts",
    columns: [{ name: "code", type: "string" }],
  });
  table = body.data[0].id;
  for (let from = 0; from < RECORDS; from += BULK) {
    const records = Array.from({ length: Math.min(BULK, RECORDS - from) }, (_, at) => ({
      code: String(from + at),
    }));
    expect((await admin.post("/parts", records, { fields: "id" })).status).toBe(201);
  }
}, 300_000);

afterAll(async () => {
  await stack.stop();
  await rm(directory, { recursive: true, force: true });
});

const BEFORE = { name: "code", type: "string", unique: false };
const WANTED = { name: "number", type: "int", unique: true };
type Shape = typeof BEFORE;

async function shape(): Promise<Shape & { id: string }> {
  const { status, body } = await admin.get(`/svc_table/${table}`);
  expect([status, body.message]).toEqual([200, "Success"]);
  const { id, name, type, unique } = body.data[0].columns[0];
  return { id, name, type, unique };
}

function changeTo(wanted: Shape, { id }: { readonly id: string }): Promise<Answer> {
  return admin.patch(`/svc_table/${table}`, { columns: [{ id, ...wanted }] });
}

/** A change of many records is answered before it is done. */
async function changeDone(wanted: Shape): Promise<void> {
  const { status } = await changeTo(wanted, await shape());
  expect([200, 202]).toContain(status);
  const { id: _id, ...now } = await settled();
  expect(now).toEqual(wanted);
}

/** The column, once no change is going on. */
async function settled(): Promise<Shape & { id: string }> {
  for (;;) {
    const { change } = (await admin.get(`/svc_table/${table}`)).body.data[0];
    if (change?.state !== "running") return shape();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Every record has the value it was made with, in the type of the moment; the unique is there, or is not. */
async function expectWhole({ name, type, unique }: Shape): Promise<void> {
  const { status, body } = await admin.get("/parts", { fields: name, limit: "0" });
  expect(status).toBe(200);
  const values = new Set(body.data.map((row: Record<string, unknown>) => row[name]));
  expect([body.data.length, values.size]).toEqual([RECORDS, RECORDS]);
  for (const each of [0, RECORDS >> 1, RECORDS - 1])
    expect(values.has(type === "int" ? each : String(each))).toBe(true);
  const again = await admin.post("/parts", { [name]: type === "int" ? 0 : "0" });
  expect(again.status).toBe(unique ? 409 : 201);
  if (again.status === 201) await admin.delete(`/parts/${again.body.data[0].id}`);
}

describe(`kill -9 in a rename with a new type and a new unique on ${RECORDS} records`, () => {
  it(`at ${MOMENTS} moments leaves the table as before or as wanted, with every record`, async () => {
    const began = performance.now();
    await changeDone(WANTED);
    const duration = performance.now() - began;
    await expectWhole(WANTED);
    const outcomes: string[] = [];
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      if ((await shape()).name !== BEFORE.name) await changeDone(BEFORE);
      // Asked before: the first moment may be so early that nothing is answered any more.
      const column = await shape();
      const attempt = changeTo(WANTED, column);
      await new Promise((resolve) => setTimeout(resolve, (duration * (moment + Math.random())) / MOMENTS));
      await stack.dataService.stop("SIGKILL");
      const { status } = await attempt;
      await stack.restartDataService();
      const { id: _id, ...now } = await shape();
      expect([BEFORE, WANTED]).toContainEqual(now);
      if (status === 200) expect(now).toEqual(WANTED);
      await expectWhole(now);
      outcomes.push(now.name);
    }
    process.stderr.write(`${Math.round(duration)} ms undisturbed; after each kill: ${outcomes.join(" ")}\n`);
    await changeDone(WANTED);
    await expectWhole(WANTED);
  }, 3_600_000);
});
