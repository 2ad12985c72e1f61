// Which fields an abandoned change of a table clears.
import { describe, expect, it } from "@jest/globals";
import { bareTable } from "../catalog/definition-fixture.js";
import { freshFields } from "./end-change.js";

const FORMER = { a: "a", b: "b" };
const NEW = { a: "a", b: "b_2", c: "c" };

const stored = (fields: Readonly<Record<string, string>>, adopted = {}) =>
  bareTable("t", { storage: { collection: "t", fields, ...adopted } });

describe("the fields that a change which is given up clears", () => {
  it("are those that no definition used before", () => {
    expect(freshFields({ before: stored(FORMER), after: stored(NEW) })).toEqual(["b_2", "c"]);
  });

  it("in an adopted collection only those of converted values: a new member's may be somebody's data", () => {
    const adopted = { adopted: true, retired: ["old"] };
    expect(freshFields({ before: stored(FORMER, adopted), after: stored(NEW, adopted) })).toEqual(["b_2"]);
  });
});
