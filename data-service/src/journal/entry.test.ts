// What an entry of the journal keeps of a record, and what it leaves out.
import { describe, expect, it } from "@jest/globals";
import { Binary, calculateObjectSize, ObjectId } from "bson";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { bareColumn, bareRelation, bareTable } from "../catalog/definition-fixture.js";
import { systemTables } from "../catalog/system-tables.js";
import type { Document } from "../query/lower/document.js";
import {
  CHANGE_FIELD,
  type Entry,
  fitted,
  imageOf,
  isCut,
  lastChangeOf,
  markOf,
  timeAfter,
  unchangedSince,
} from "./entry.js";
import { changedFields } from "./history-entry.js";

function table(): Table {
  const definition = bareTable("notes", {
    id: "t",
    columns: [
      bareColumn("title", { searchable: true }),
      bareColumn("pin", { searchable: true, encrypted: true }),
    ],
    relations: [bareRelation("parent", "notes", { id: "r", inverse: "children", counted: true })],
    storage: { collection: "notes", fields: { title: "title", pin: "pin", r: "parentId" } },
  });
  const found = buildCatalog(0, [definition], systemTables("svc_")).tables.get("notes");
  if (found === undefined) throw new Error("no table");
  return found;
}

describe("the image of a record", () => {
  it("has columns and links, and of encrypted values only that there was one", () => {
    const [_id, parentId] = [new ObjectId(), new ObjectId()];
    const document = {
      _id,
      title: "a",
      pin: new Binary(Buffer.from("sealed")),
      parentId,
      _n_r: 3,
      _g_title: ["a"],
      [CHANGE_FIELD]: { e: new ObjectId(), n: 1 },
      retired: "x",
    };
    expect(imageOf(table(), document)).toEqual({ _id, title: "a", pin: new Binary(), parentId });
  });
});

describe("the last change of a record", () => {
  it("is what a write has put into it", () => {
    const change = { id: new ObjectId(), revision: 4, at: new Date() };
    const document = { [CHANGE_FIELD]: markOf(change) };
    expect(lastChangeOf(document)).toEqual(change);
    expect(unchangedSince(document)).toEqual({ [`${CHANGE_FIELD}.e`]: change.id });
  });

  it("is not later than the next one, whichever clock that is made by", () => {
    const [early, late] = [new Date(1_000), new Date(2_000)];
    const last = { id: new ObjectId(), revision: 4 };
    expect(timeAfter({ ...last, at: late }, early)).toEqual(late);
    expect(timeAfter({ ...last, at: early }, late)).toEqual(late);
    expect(timeAfter(lastChangeOf({ [CHANGE_FIELD]: { e: last.id, n: 4 } }), early)).toEqual(early);
    expect(timeAfter(undefined, early)).toEqual(early);
  });

  it("is none while no journal was kept, and that is a condition too", () => {
    expect(lastChangeOf({})).toBeUndefined();
    expect(unchangedSince({})).toEqual({ [CHANGE_FIELD]: { $exists: false } });
  });
});

describe("an entry that is too large", () => {
  const large = "x".repeat(7 * 1024 * 1024);

  function change(before: Document, after: Document): Entry {
    return {
      id: new ObjectId(),
      table: "t",
      record: 1,
      kind: "updated",
      revision: 2,
      by: null,
      at: new Date(),
      before: { _id: 1, ...before },
      after: { _id: 1, ...after },
    };
  }

  it("loses its largest values, and keeps the others", () => {
    const fitting = fitted(change({ a: large, b: "small" }, { a: `${large}y`, b: "other" }));
    expect(fitting).toMatchObject({ before: { _id: 1, b: "small" }, after: { _id: 1, b: "other" } });
    expect(calculateObjectSize(fitting)).toBeLessThan(1024);
  });

  it("loses no more than it must, and knows which values there were", () => {
    const less = "x".repeat(3 * 1024 * 1024);
    const { before, after } = fitted(change({ a: large, b: less }, { b: less }));
    expect([before?.a, before?.b, after?.a, after?.b].map(isCut)).toEqual([true, false, false, false]);
    expect(after).not.toHaveProperty("a");
  });

  it("knows whether a value that it has lost was changed", () => {
    const entry = fitted(change({ a: large, b: `${large}y` }, { a: large, b: `${large}z` }));
    expect(Object.values(entry.before ?? {}).filter(isCut)).toHaveLength(2);
    const { before, after } = changedFields(entry);
    expect([before, after].map((image) => Object.keys(image ?? {}))).toEqual([["b"], ["b"]]);
  });

  it("takes no value of others for one that was lost", () => {
    const values = ["cut", new Binary(), new Binary(Buffer.from("cut"), Binary.SUBTYPE_USER_DEFINED), null];
    expect(values.filter(isCut)).toEqual([]);
  });
});
