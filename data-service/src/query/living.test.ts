// Reads find living records, deleted ones or both, as they ask.
import { describe, expect, it } from "@jest/globals";
import { ALWAYS, type AuthorizedPredicate, NEVER } from "./ast.js";
import { catalogOf } from "./library-fixture.js";
import { inState, isLivingOnly } from "./living.js";
import { matchStages } from "./lower/condition.js";
import { Names } from "./lower/document.js";

const { tables } = catalogOf([{ name: "kept", softDelete: true }, { name: "plain" }]);
const tableNamed = (name: string) => {
  const table = tables.get(name);
  if (table === undefined) throw new Error(name);
  return table;
};
const [kept, plain] = [tableNamed("kept"), tableNamed("plain")];
const rule: AuthorizedPredicate = { kind: "test", column: kept.idColumn, test: { op: "eq", value: 1 } };

describe("rows in one state", () => {
  it.each([
    ["living", { _deletedAt: { $eq: null } }],
    ["deleted", { _deletedAt: { $ne: null } }],
  ] as const)("are tested for it where deleted ones are kept: %s", (state, condition) => {
    expect(matchStages([inState(kept, ALWAYS, state)], new Names())).toEqual([{ $match: condition }]);
    expect(matchStages([inState(kept, rule, state)], new Names())).toEqual([
      { $match: { $and: [condition, { _id: { $eq: 1 } }] } },
    ]);
  });

  it("cost nothing where none are kept, where all are wanted, and where no row is seen", () => {
    expect(inState(plain, rule, "living")).toBe(rule);
    expect(inState(plain, ALWAYS, "living")).toBe(ALWAYS);
    expect(inState(plain, ALWAYS, "deleted")).toBe(NEVER);
    expect(inState(kept, rule, "all")).toBe(rule);
    expect(inState(kept, NEVER, "living")).toBe(NEVER);
  });

  it("are all living ones only without another rule", () => {
    expect(isLivingOnly(kept, inState(kept, ALWAYS, "living"))).toBe(true);
    expect(isLivingOnly(kept, inState(kept, rule, "living"))).toBe(false);
    expect(isLivingOnly(kept, ALWAYS)).toBe(false);
    expect(isLivingOnly(plain, inState(plain, ALWAYS, "living"))).toBe(false);
  });
});
