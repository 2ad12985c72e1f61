// What may change while an import goes on: the room on the disk, and the role of its caller.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { unavailable } from "@portico/shared/app-error";
import type { Deps } from "../deps.js";
import { type Items, openItems, ROOT } from "../items-fixture.js";
import { LastingCaller, LOOK_AT_CALLER_MS } from "../lasting-caller.js";
import type { Rights } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import { changeTable } from "../schema/change-table.js";
import { createTable } from "../schema/create-table.js";
import { type Imported, importRecords } from "./import-records.js";

/** Records of a batch. */
const BATCH = 500;

let opened: Items;
let deps: Deps;
let asked: number;

beforeAll(async () => {
  opened = await openItems();
  deps = opened.deps;
});

afterAll(() => opened?.close());

beforeEach(() => {
  asked = 0;
});

async function* linesOf(records: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < records; at += 1) yield Buffer.from(`{"name":"${at}"}\n`);
}

const twoBatchesAndOne = { table: "items", format: "ndjson", maxRowBytes: 1_000, from: 1 } as const;
const lines = (): AsyncIterable<Uint8Array> => linesOf(2 * BATCH + 1);

/** Imports two batches and a record where there is room for one. */
function importTooMuch(dryRun: boolean): Promise<Imported> {
  const requireSpace = async (): Promise<void> => {
    asked += 1;
    if (asked > 1) throw unavailable("The disk is nearly full.", 60);
  };
  const caller = new LastingCaller(ROOT, async () => ROOT);
  return importRecords(
    { ...deps.records, requireSpace },
    { ...twoBatchesAndOne, source: lines(), caller, dryRun },
  );
}

describe("an import on a disk that fills up", () => {
  it("asks before each batch, and keeps what came before the one that there is no room for", async () => {
    await expect(importTooMuch(false)).rejects.toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      details: { imported: BATCH, next: BATCH + 1, dryRun: false },
    });
    expect([asked, await opened.db.collection("items").countDocuments()]).toEqual([2, BATCH]);
  });

  it("needs no room for a dry run, which writes nothing", async () => {
    const checked = 2 * BATCH + 1;
    expect(await importTooMuch(true)).toEqual({ imported: 0, checked, dryRun: true });
    expect(asked).toBe(0);
  });
});

describe("an import whose caller gets another role", () => {
  afterEach(() => void jest.restoreAllMocks());

  it("goes on by that role, though a batch was judged by the former one", async () => {
    let judged = 0;
    const judging = async (principal: Principal): Promise<Rights> => {
      judged += 1;
      // At the beginning, before the first batch, and for its records, which are not written yet.
      const later = performance.now() + LOOK_AT_CALLER_MS;
      if (judged === 3) jest.spyOn(performance, "now").mockReturnValue(later);
      return deps.records.rights(principal);
    };
    const rights = Object.assign(judging, { ofRole: deps.records.rights.ofRole });
    const caller = new LastingCaller(ROOT, async () => ({ ...ROOT, roleId: "64b000000000000000000002" }));
    const before = await opened.db.collection("items").countDocuments();
    const request = { ...twoBatchesAndOne, source: lines(), caller, dryRun: false };
    const imported = 2 * BATCH + 1;
    expect(await importRecords({ ...deps.records, rights }, request)).toMatchObject({ imported });
    expect(await opened.db.collection("items").countDocuments()).toBe(before + imported);
    expect(caller.principal).toMatchObject({ roleId: "64b000000000000000000002" });
  });
});

describe("an import amid whose batches a name passes to another column", () => {
  const columns = ["key", "left", "right"].map((name) => ({ name, type: "string" }));

  it.each<["csv" | "ndjson", number, (at: number) => string]>([
    ["csv", 1, (at) => `${at},l,r\n`],
    ["ndjson", 0, (at) => `{"key":"${at}","left":"l","right":"r"}\n`],
  ])("ends before it would go on into that one: %s", async (format, heads, line) => {
    const table = `swapped_${format}`;
    const id = await createTable(deps.records, { name: table, columns });
    const made = (await deps.records.catalogs.refresh()).tables.get(table)?.columns;
    const swapped = [
      ["key", "key"],
      ["left", "right"],
      ["right", "left"],
    ].map(([from = "", name = ""]) => ({ id: made?.get(from)?.id ?? "", name, type: "string" }));
    const lines = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => line(from + at)).join("");
    async function* source(): AsyncGenerator<Uint8Array> {
      // The reader may hold the last line back until there is more.
      yield Buffer.from((heads === 1 ? "key,left,right\n" : "") + lines(0, BATCH + 1));
      await (await changeTable(deps.records, id, { columns: swapped }, undefined)).done;
      yield Buffer.from(lines(BATCH + 1, BATCH));
    }
    const caller = new LastingCaller(ROOT, async () => ROOT);
    const request = { table, format, maxRowBytes: 1_000, from: 1, source: source(), caller, dryRun: false };
    await expect(importRecords(deps.records, request)).rejects.toMatchObject({
      code: "CONFLICT",
      details: { imported: BATCH, next: heads + BATCH + 1 },
    });
    const rows = await opened.db.collection(table).find().toArray();
    expect(new Set(rows.map((row) => `${row.left} ${row.right}`))).toEqual(new Set(["l r"]));
    expect(rows).toHaveLength(BATCH);
  });
});
