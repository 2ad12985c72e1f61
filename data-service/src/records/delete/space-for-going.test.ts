// Deletes, restorations and moved links of many records, on a disk that has no space for all that they write.
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { type Items, openItems, ROOT } from "../../items-fixture.js";
import { LastingCaller } from "../../lasting-caller.js";
import { makeBulkSpace } from "../../mongo/disk-space.js";
import { createTable } from "../../schema/create-table.js";
import { AnnouncedSpace } from "../../space-check.js";
import { create } from "../write/create.js";
import { update } from "../write/update.js";
import { remove } from "./remove.js";
import { restore } from "./restore.js";

const THINGS = 20;
const BYTES = 10_000;
const RESERVE = 1_000_000;
/** Each is written six times, with its history; deletes leave half of what is to be kept from writing. */
const TO_DELETE = RESERVE / 2 + 6 * THINGS * BYTES;

let opened: Items;
let disk: { free: number };
let box: string;

beforeAll(async () => {
  opened = await openItems();
  const kept = { softDelete: true, columns: [{ name: "text", type: "text" }] };
  const relation = {
    name: "box",
    type: "many-to-one",
    table: "boxes",
    inverse: "things",
    onDelete: "CASCADE",
  };
  const shelf = { name: "shelf", type: "many-to-one", table: "shelves", inverse: "boxes" };
  await createTable(opened.deps.records, { name: "shelves" });
  await createTable(opened.deps.records, { name: "boxes", ...kept, relations: [shelf] });
  await createTable(opened.deps.records, { name: "things", ...kept, history: true, relations: [relation] });
  await createTable(opened.deps.records, { name: "crates" });
  const crate = {
    name: "crate",
    type: "many-to-one",
    table: "crates",
    inverse: "parts",
    onDelete: "CASCADE",
  };
  await createTable(opened.deps.records, { name: "parts", ...kept, history: true, relations: [crate] });
});

afterAll(() => opened?.close());

beforeEach(async () => {
  disk = { free: Number.POSITIVE_INFINITY };
  box = await boxed();
});

/** What the records are written with that are on this disk, beside no others. */
function onDisk() {
  const { deps, db } = opened;
  const announced = new AnnouncedSpace({ free: async () => disk.free, reserveBytes: RESERVE });
  return { ...deps.records, bulkSpace: makeBulkSpace(db, announced) };
}

const parameters = { fields: "id", filterFromText: false };
const asked = { principal: ROOT, caller: new LastingCaller(ROOT, async () => ROOT), table: "boxes" };

/** Makes a box with things. @returns its id */
async function boxed(things = THINGS): Promise<string> {
  const body = { things: Array.from({ length: things }, () => ({ text: "x".repeat(BYTES) })) };
  const { ids } = await create(onDisk(), { ...asked, parameters, body });
  return String(ids[0]);
}

/** Everything about the records, marks included. */
const everything = async () => [
  await opened.db.collection("boxes").find().sort({ _id: 1 }).toArray(),
  await opened.db.collection("things").find().sort({ _id: 1 }).toArray(),
];
const tooFull = { code: "SERVICE_UNAVAILABLE", messages: expect.stringContaining("disk") };

it("a delete that takes along more than there is space for changes nothing, and goes once there is", async () => {
  const before = await everything();
  disk.free = TO_DELETE;
  await expect(remove(onDisk(), { ...asked, id: box })).rejects.toMatchObject(tooFull);
  expect(await everything()).toEqual(before);
  disk.free = TO_DELETE * 2;
  await remove(onDisk(), { ...asked, id: box });
});

it("so does a restoration, which leaves more", async () => {
  await remove(onDisk(), { ...asked, id: box });
  const before = await everything();
  disk.free = TO_DELETE * 1.2;
  const wanted = { ...asked, id: box, parameters };
  await expect(restore(onDisk(), wanted)).rejects.toMatchObject(tooFull);
  expect(await everything()).toEqual(before);
  disk.free *= 2;
  await restore(onDisk(), wanted);
});

it("of two such deletes at once only one has the space for one", async () => {
  const boxes = [box, await boxed()];
  disk.free = TO_DELETE * 1.2;
  const deps = onDisk();
  const ended = await Promise.allSettled(boxes.map((id) => remove(deps, { ...asked, id })));
  expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
});

it("one that takes along nothing is asked for no space by itself", async () => {
  const alone = await boxed(0);
  disk.free = 0;
  await remove(onDisk(), { ...asked, id: alone });
  await restore(onDisk(), { ...asked, id: alone, parameters });
});

it("links that end with a record count as well", async () => {
  const into = { ...asked, table: "shelves", parameters };
  const boxes = Array.from({ length: THINGS }, () => ({ text: "x".repeat(BYTES) }));
  const { ids } = await create(onDisk(), { ...into, body: { boxes } });
  const before = await everything();
  // Three times each, without a history.
  disk.free = RESERVE / 2 + 3 * THINGS * BYTES;
  const wanted = { ...into, id: String(ids[0]) };
  await expect(remove(onDisk(), wanted)).rejects.toMatchObject(tooFull);
  expect(await everything()).toEqual(before);
  disk.free *= 2;
  await remove(onDisk(), wanted);
  expect(await opened.db.collection("boxes").countDocuments({ text: /^x/ })).toBe(THINGS);
});

it("links that a change sets in other records count as well", async () => {
  const { ids } = await create(onDisk(), { ...asked, table: "shelves", parameters, body: {} });
  const boxes = Array.from({ length: THINGS }, () => ({ text: "x".repeat(BYTES) }));
  const { ids: theirs } = await create(onDisk(), { ...asked, parameters, body: boxes });
  const before = await everything();
  disk.free = RESERVE + 3 * THINGS * BYTES;
  const body = { boxes: theirs.map(String) };
  const shelves = () => opened.db.collection("shelves").countDocuments();
  const known = await shelves();
  await expect(create(onDisk(), { ...asked, table: "shelves", parameters, body })).rejects.toMatchObject(
    tooFull,
  );
  expect(await shelves()).toBe(known);
  const wanted = { ...asked, table: "shelves", id: String(ids[0]), parameters, body };
  await expect(update(onDisk(), wanted)).rejects.toMatchObject(tooFull);
  expect(await everything()).toEqual(before);
  disk.free *= 2;
  await update(onDisk(), wanted);
  disk.free /= 2;
  await expect(update(onDisk(), { ...wanted, body: { boxes: [] } })).rejects.toMatchObject(tooFull);
});

it.each([{ areDeleted: false }, { areDeleted: true }])(
  "records that are kept without the record that they belonged to count with their links: $areDeleted",
  async ({ areDeleted }) => {
    const parts = Array.from({ length: THINGS }, () => ({ text: "x".repeat(BYTES) }));
    const into = { ...asked, table: "crates", parameters };
    const { ids } = await create(onDisk(), { ...into, body: { parts } });
    const linked = { crateId: { $type: "objectId" } } as const;
    const theirs = () => opened.db.collection("parts").find(linked).sort({ _id: 1 }).toArray();
    if (areDeleted)
      for (const { _id } of await theirs())
        await remove(onDisk(), { ...asked, table: "parts", id: String(_id) });
    // They are marked as deleted, and lose their link: these are two changes.
    disk.free = areDeleted ? TO_DELETE : TO_DELETE * 2 - RESERVE / 2;
    const wanted = { ...into, id: String(ids[0]) };
    const before = await theirs();
    await expect(remove(onDisk(), wanted)).rejects.toMatchObject(tooFull);
    expect(await theirs()).toEqual(before);
    disk.free *= 2;
    await remove(onDisk(), wanted);
    expect(await theirs()).toEqual([]);
  },
);
