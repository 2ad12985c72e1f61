// Which members of a changed table get values computed from the records that are there.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { bareColumn, bareRelation, bareTable } from "../catalog/definition-fixture.js";
import { formerGrams, newlyDerived } from "./newly-derived.js";

function table({
  searchable,
  counted,
  field,
}: {
  searchable: boolean;
  counted: boolean;
  field: string;
}): Table {
  const definition = bareTable("t", {
    columns: [bareColumn("title", { id: "c", type: "text", searchable })],
    relations: [bareRelation("parent", "t", { id: "r", counted })],
    storage: { collection: "t", fields: { c: field, r: `${field}_parent` } },
  });
  const built = buildCatalog(1, [definition], []).tables.get("t");
  if (built === undefined) throw new Error("no table");
  return built;
}

const names = (before: Table | undefined, after: Table) => {
  const derived = newlyDerived(before, after);
  return derived && [...derived.searchable, ...derived.counted].map(({ name }) => name);
};

describe("what a change has to compute for records that are there", () => {
  const off = table({ searchable: false, counted: false, field: "title" });
  const on = table({ searchable: true, counted: true, field: "title" });

  it("is what was switched on, also in a table that comes back", () => {
    expect(names(off, on)).toEqual(["title", "parent"]);
    expect(names(undefined, on)).toEqual(["title", "parent"]);
  });

  it("is what lies in another field since", () => {
    const moved = table({ searchable: true, counted: true, field: "title_2" });
    expect(names(on, moved)).toEqual(["title", "parent"]);
  });

  it("is nothing when nothing was switched on", () => {
    expect([names(off, off), names(on, on), names(on, off)]).toEqual([undefined, undefined, undefined]);
  });
});

describe("the parts of texts that nobody searches any more", () => {
  const on = table({ searchable: true, counted: false, field: "title" });

  it("lie beside a column that is not searchable since, or lies elsewhere", () => {
    const off = table({ searchable: false, counted: false, field: "title" });
    const moved = table({ searchable: true, counted: false, field: "title_2" });
    expect([formerGrams(on, off), formerGrams(on, moved)]).toEqual([["_g_title"], ["_g_title"]]);
  });

  it("are none of a new table, or of a column that stays as it was", () => {
    expect([formerGrams(undefined, on), formerGrams(on, on)]).toEqual([[], []]);
  });
});
