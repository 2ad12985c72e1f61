// What the service keeps for its own in documents can't be served from them.
import { describe, expect, it } from "@jest/globals";
import { inferTables } from "./infer/infer-tables.js";
import { fieldProblem } from "./names.js";
import { OWN_FIELDS, type OwnField } from "./own-fields.js";

/** One field of each row. */
const FIELDS = Object.values<OwnField>(OWN_FIELDS).map((own) =>
  "name" in own ? own.name : `${own.prefix}x`,
);

describe("a field of the service's own", () => {
  it.each(FIELDS)("%s can be no member's, and is proposed as none", (field) => {
    expect(fieldProblem(field)).toMatch(/reserved for the service itself/);
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
    const { tables } = inferTables([profile], [], { systemPrefix: "svc_", served: [] });
    expect(tables.map(({ columns }) => columns)).toEqual([[expect.objectContaining({ name: "title" })]]);
  });

  it.each(["_p_author", "_only_one", "_changed", "turn", "_wasted", "_deleted"])(
    "is none that only looks like one: %s",
    (field) => expect(fieldProblem(field)).toBe(undefined),
  );
});
