// What requests of instances that died have written in half is taken back by others, one request after the other.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Collection, ObjectId } from "mongodb";
import type { Deps } from "../../deps.js";
import { createTable } from "../../schema/create-table.js";
import {
  beforeTurn,
  openInstances,
  renameFirstColumn,
  type StartedInstances,
} from "../../started-fixture.js";
import { repairUnfinished } from "./repair-unfinished.js";

let instances: StartedInstances;
let one: Deps;
let table: string;
let letters: Collection;
let notes: Collection;

beforeAll(async () => {
  instances = await openInstances();
  one = await instances.start();
  const columns = [{ name: "title", type: "string" }];
  table = await createTable(one.records, { name: "letters", columns, changes: true, history: true });
  const { db } = instances.database;
  letters = db.collection("letters");
  notes = db.collection("_unfinished");
});

afterAll(() => instances?.close());

/** A record that a request has made and not told to be whole. */
async function madeInHalf(): Promise<void> {
  const _id = new ObjectId();
  await letters.insertOne({ _id, title: "in half", _record_version: 1 });
  const steps = [{ kind: "made", table, ids: [_id] }];
  await notes.insertOne({ _id: new ObjectId(), instance: "dead", at: new Date(0), steps });
}

/** A record as a request has changed it that is not whole, either. @returns its id */
async function changedInHalf(title: string): Promise<ObjectId> {
  const [_id, by] = [new ObjectId(), new ObjectId()];
  const [before, at] = [new Date(1_000), new Date(2_000)];
  await letters.insertOne({
    _id,
    title: "in half",
    _record_version: 2,
    _record_noted: by,
    createdAt: before,
    updatedAt: at,
  });
  const [set, unset] = [{ title, updatedAt: before }, ["_record_noted"]];
  const step = { kind: "changed", table, id: _id, changes: 1, moves: 0, by, at, set, unset, lists: {} };
  await notes.insertOne({ _id: new ObjectId(), instance: "dead", at: new Date(0), steps: [step] });
  return _id;
}

it("lets a change of the table pass in between, and takes back by its new names what is left", async () => {
  const other = await instances.start();
  const changed = await changedInHalf("before");
  await madeInHalf();
  await madeInHalf();
  let left = 0;
  beforeTurn(one.records, 2, async () => {
    await renameFirstColumn(other, table, "heading");
    left = await letters.countDocuments({ title: "in half" });
  });
  await repairUnfinished(one.records, { alone: true });
  expect(left).toBe(2);
  expect(await letters.find().toArray()).toMatchObject([{ _id: changed, title: "before" }]);
});
