// Contract 6: how long what a change of tables took away is kept: for undo 30 days, in the database one more.
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { fileOf } from "../../support/run-state.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row, valuesOf } from "../records/make.js";
import { deleteConfirmed, patchConfirmed } from "./change.js";

const SHIFT = pathToFileURL(fileOf("@portico/test/resilience/support/clock-shift")).href;
const DAY_MS = 24 * 60 * 60 * 1000;

let stack: Stack;
let client: MongoClient;
let notes: Row;
let drafts: Row;

beforeEach(async () => {
  stack = await startStack();
  client = await MongoClient.connect(stack.mongodbUrl);
  const admin = await asAdmin(stack);
  const columns = [
    { name: "title", type: "string" },
    { name: "text", type: "string" },
  ];
  notes = await makeTable(admin, { name: "notes", columns });
  await make(admin, "notes", { title: "kept", text: "taken" });
  drafts = await makeTable(admin, { name: "drafts", history: true, columns });
  await make(admin, "drafts", { title: "taken" });
  await patchConfirmed(admin, notes.id, { columns: [{ id: notes.columns[0].id }] });
  await deleteConfirmed(admin, drafts.id);
  await stack.dataService.stop();
});

afterEach(async () => {
  await client.close();
  await stack.stop();
});

/** What the same database answers to services that are started so many days later. */
async function daysLater(days: number, look: (admin: Api) => Promise<void>): Promise<void> {
  const env = { PORTICO_CLOCK_SHIFT_MS: String(days * DAY_MS), NODE_OPTIONS: `--import=${SHIFT}` };
  const later = await startStack({ twinOf: stack, env });
  try {
    await look(await asAdmin(later));
  } finally {
    await later.stop();
  }
}

const undo = (admin: Api, { id }: Row) => admin.send("POST", `/svc_table/${id}/undo`);

/** The texts of all documents, wherever they lie; the journal of changes is the database's own to forget, by its clock. */
async function everything(): Promise<string> {
  const collections = await client.db().collections();
  const kept = collections.filter(({ collectionName }) => collectionName !== "_journal");
  const documents = await Promise.all(kept.map((each) => each.find().toArray()));
  return JSON.stringify(documents);
}

/** Entries of the histories of all tables. */
const histories = () => client.db().collection("_history").countDocuments();

describe("what a change of tables took away", () => {
  it("can be had back after 29 days, a deleted table with its history", async () => {
    await daysLater(29, async (admin) => {
      expect((await undo(admin, notes)).status).toBe(200);
      expect((await undo(admin, drafts)).status).toBe(200);
      expect(await valuesOf(admin, "notes", "text")).toEqual(["taken"]);
      expect(await valuesOf(admin, "drafts", "title")).toEqual(["taken"]);
      const { body } = await admin.get("/drafts", { fields: "id" });
      const history = await admin.get(`/drafts/${body.data[0].id}/history`);
      expect(history.body.data).toHaveLength(1);
    });
  });

  it("can't be had back after 30 days, and what it was about says so", async () => {
    await daysLater(30.5, async (admin) => {
      const [column, table] = [await undo(admin, notes), await undo(admin, drafts)];
      expect([column.status, table.status]).toEqual([409, 404]);
      for (const { body } of [column, table]) expect(body.message).toMatch(/30 days/);
      expect([await everything(), await histories()]).toEqual([expect.stringContaining("taken"), 1]);
    });
  });

  it("is removed after 31 days: values, records, and the history of a table", async () => {
    await daysLater(32, async (admin) => {
      await until(everything, (texts) => !texts.includes("taken"), 20_000);
      expect(await histories()).toBe(0);
      expect(await valuesOf(admin, "notes", "title")).toEqual(["kept"]);
    });
  });
});
