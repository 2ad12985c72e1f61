// What becomes of a write when others change the same links between every look and every attempt.
import { expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Table } from "../../catalog/catalog.js";
import { HOUSES_AND_CATS } from "../../catalog/definition-fixture.js";
import type { Counted } from "../../mongo/count-store.js";
import { CountedWrites } from "./counted-writes.js";

function catsTable(): Table {
  const table = buildCatalog(1, HOUSES_AND_CATS, []).tables.get("cats");
  if (table === undefined) throw new Error("no table");
  return table;
}

/** Writes to records that are always there and never found as they were a moment ago. */
function restlessWrites(): CountedWrites {
  const nothing = async () => 0;
  const store = {
    read: async () => [{ _id: 1, homeId: 1 }],
    insert: async () => {},
    updateById: async () => undefined,
    updateAndGet: async () => undefined,
    updateMany: nothing,
    pull: nothing,
    push: nothing,
    remove: nothing,
  };
  const counts = {
    mark: async (parents: readonly Counted[]) => ({ id: new ObjectId(), parents }),
    settle: async () => {},
    abandon: async () => {},
  };
  return new CountedWrites(store, counts);
}

const cats = catsTable();
it.each<[string, (writes: CountedWrites) => Promise<unknown>]>([
  ["change", (writes) => writes.update(cats, 1, { set: { homeId: 2 }, unset: [] }, { condition: {} })],
  ["move of links", (writes) => writes.moveLink(cats, "homeId", {}, 2)],
  ["delete", (writes) => writes.remove(cats, [1])],
])("a %s that others never leave a moment for may be sent again", async (_what, write) => {
  const refusal = { status: 503, headers: { "Retry-After": "1" } };
  await expect(write(restlessWrites())).rejects.toMatchObject(refusal);
});
