// What the service keeps for its own in documents can't be served from them, nor what is named as what every object has.
import { describe, expect, it } from "@jest/globals";
import { type Inferred, inferTables } from "./infer/infer-tables.js";
import { fieldProblem } from "./names.js";
import { OWN_FIELDS, type OwnField } from "./own-fields.js";

/** One field of each row. */
const FIELDS = Object.values<OwnField>(OWN_FIELDS).map((own) =>
  "name" in own ? own.name : `${own.prefix}x`,
);

/** What is made of a collection whose documents have this field and a `title`. */
function inferredWith(field: string): Inferred {
  const fields = [field, "title"].map((name) => ({
    name,
    values: [{ type: "string", count: 20 }],
    members: [],
  }));
  const profile = {
    name: "notes",
    documents: 20,
    complete: true,
    fields,
    ids: [],
    uniques: [],
    indexes: 1,
  };
  return inferTables([profile], [], { systemPrefix: "svc_", served: [] });
}

const ONLY_TITLE = [[expect.objectContaining({ name: "title" })]];

describe("a field of the service's own", () => {
  it.each(FIELDS)("%s can be no member's, and is proposed as none", (field) => {
    expect(fieldProblem(field)).toMatch(/reserved for the service itself/);
    expect(inferredWith(field).tables.map(({ columns }) => columns)).toEqual(ONLY_TITLE);
  });

  it.each(["_p_author", "_only_one", "_changed", "turn", "_wasted", "_deleted"])(
    "is none that only looks like one: %s",
    (field) => expect(fieldProblem(field)).toBe(undefined),
  );
});

describe("a field named as what every object has", () => {
  it.each(["constructor", "toString", "valueOf", "hasOwnProperty"])(
    "%s can be no member's, and is proposed as none",
    (field) => {
      expect(fieldProblem(field)).toBe("has a name that every JavaScript object has");
      const { tables, notes } = inferredWith(field);
      expect(tables.map(({ columns }) => columns)).toEqual(ONLY_TITLE);
      expect(notes).toContain(`  ${field}: left as it is, not served`);
    },
  );
});
