// Which of the notes that dead processes have left are worked off while a table is being changed.
import { describe, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { TableDefinition } from "../../catalog/definition.js";
import { bareRelation, bareTable } from "../../catalog/definition-fixture.js";
import { freeTables } from "./repair-unfinished.js";
import type { Step } from "./steps.js";
import { tablesTakenBackIn } from "./take-back.js";

const table = (name: string, linksTo: readonly string[] = []): TableDefinition =>
  bareTable(name, {
    idType: "int",
    relations: linksTo.map((to) => bareRelation(to, to, { id: `${name}.${to}`, inverse: name })),
    storage: { collection: name, fields: Object.fromEntries(linksTo.map((to) => [`${name}.${to}`, to])) },
  });

const TABLES = [table("shelves"), table("books", ["shelves"]), table("letters")];
const made = (name: string): Step => ({ kind: "made", table: name, ids: [1] });
const changed = (name: string): Step => ({
  kind: "changed",
  table: name,
  id: 1,
  changes: 1,
  moves: 0,
  by: new ObjectId(),
  at: new Date(0),
  set: {},
  unset: [],
  lists: {},
});

/** Which of the notes may be worked off, the latest first. */
function workedOff(changing: readonly string[], ...notes: readonly Step[]): boolean[] {
  const catalog = buildCatalog(1, TABLES, [], changing);
  const isFree = freeTables(catalog);
  return notes.map((step) => isFree(tablesTakenBackIn(catalog, [step])));
}

describe("what an interrupted request has left", () => {
  it("is taken back at once where no table is being changed, or only others are", () => {
    expect(workedOff([], made("books"), made("letters"))).toEqual([true, true]);
    expect(workedOff(["letters"], made("books"), changed("shelves"))).toEqual([true, true]);
  });

  it("waits for a change of a table whose records it may write: its own, and those that link there", () => {
    expect(workedOff(["books"], made("books"), made("letters"))).toEqual([false, true]);
    expect(workedOff(["books"], made("shelves"))).toEqual([false]);
    expect(workedOff(["shelves"], changed("books"))).toEqual([true]);
  });

  it("waits for what waits and came later: only the last of two changes of a record can be taken back", () => {
    expect(workedOff(["books"], made("shelves"), changed("shelves"))).toEqual([false, false]);
  });

  it("waits for nothing when its table is gone", () => {
    expect(workedOff(["books"], made("former"))).toEqual([true]);
  });
});
