// What a noted change says of the table it was asked of.
import { describe, expect, it } from "@jest/globals";
import { stubOf } from "./compare-tables.js";
import { ownAfter, ownBefore, ownTransition } from "./stored-change.js";

const definition = (name: string) => stubOf({ name, id: undefined, json: {} });
const [own, follower] = [definition("posts"), definition("comments")];

describe("the definitions of a change's own table", () => {
  it("are found by its id, wherever they stand", () => {
    const change = { table: own.id, before: [follower, own], after: [own, follower] };
    expect(ownTransition(change)).toEqual({ before: own, after: own });
  });

  it("are none before a table comes back, and none after it was removed", () => {
    expect(ownBefore({ table: own.id, before: [], after: [own] })).toBeUndefined();
    expect(ownAfter({ table: own.id, before: [own], after: [] })).toBeUndefined();
    expect(ownTransition({ table: own.id, before: [own], after: [] })).toBeUndefined();
  });
});
