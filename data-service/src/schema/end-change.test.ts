// Which fields an abandoned change of a table clears.
import { describe, expect, it } from "@jest/globals";
import type { TableDefinition } from "../catalog/definition.js";
import { freshFields } from "./end-change.js";

const table = (fields: Readonly<Record<string, string>>, adopted: boolean): TableDefinition => ({
  id: "t",
  name: "t",
  description: null,
  singleton: false,
  idType: "objectId",
  columns: [],
  relations: [],
  uniques: [],
  indexes: [],
  storage: { collection: "t", fields, ...(adopted ? { adopted, retired: ["old"] } : {}) },
});

describe("the fields that a change which is given up clears", () => {
  it("are those that no definition used before", () => {
    const fields = freshFields(table({ a: "a", b: "b" }, false), table({ a: "a", b: "b_2", c: "c" }, false));
    expect(fields).toEqual(["b_2", "c"]);
  });

  it("in an adopted collection only those of converted values: a new member's may be somebody's data", () => {
    const fields = freshFields(table({ a: "a", b: "b" }, true), table({ a: "a", b: "b_2", c: "c" }, true));
    expect(fields).toEqual(["b_2"]);
  });
});
