// Which changes have led a column's values from one field to another.
import { describe, expect, it } from "@jest/globals";
import type { Transition } from "../catalog/changed-fields.js";
import { bareColumn, bareTable } from "../catalog/definition-fixture.js";
import { valuePath } from "./value-path.js";

/** A change that moves the values of a column. */
function move(from: string, to: string): Transition {
  const stored = (field: string) =>
    bareTable("t", { columns: [bareColumn("a")], storage: { collection: "t", fields: { a: field } } });
  return { before: stored(from), after: stored(to) };
}

const [first, second, third] = [move("a", "a_2"), move("a_2", "a_3"), move("a_3", "a_4")];
const settings = move("a_2", "a_2");

describe("the path of values", () => {
  it("is all changes from field to field, in their order, whatever else was changed", () => {
    const changes = [third, settings, first, second];
    expect(valuePath("a", { from: "a", to: "a_4" }, changes)).toEqual([first, second, third]);
    expect(valuePath("a", { from: "a_2", to: "a_3" }, changes)).toEqual([second]);
  });

  it("is empty where they have not been moved", () => {
    expect(valuePath("a", { from: "a", to: "a" }, [first])).toEqual([]);
  });

  it("is not known where one of the changes is not, or they come from elsewhere", () => {
    expect(valuePath("a", { from: "a", to: "a_4" }, [first, third])).toBe(undefined);
    expect(valuePath("a", { from: "b", to: "a_3" }, [first, second])).toBe(undefined);
    expect(valuePath("a", { from: "a", to: undefined }, [first])).toBe(undefined);
    expect(valuePath("b", { from: "a", to: "a_2" }, [first])).toBe(undefined);
  });
});
