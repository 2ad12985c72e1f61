// What a stream shows of its records' relations is asked for many records at once, however much each of them might show.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { isReadOf } from "../../support/command-proxy.js";
import { makeTable, type Row } from "../records/make.js";

const ROOTS = 200;
/** Each root has one child, which has one child, and so on. */
const LEVELS = 3;
/** Of each level: together a root might show 27,000 records. */
const LIMIT = 30;

let system: BehindProxy;
let admin: Api;

beforeAll(async () => {
  system = await startBehindProxy();
  admin = await asAdmin(system.stack);
  const parent = { name: "parent", type: "many-to-one", table: "nodes", inverse: "children" };
  await makeTable(admin, { name: "nodes", idType: "int", columns: [], relations: [parent] });
  const nodes = Array.from({ length: ROOTS * (1 + LEVELS) }, (_, at) => ({
    _id: at,
    parentId: at < ROOTS ? null : at - ROOTS,
  }));
  await system.db.collection<(typeof nodes)[number]>("nodes").insertMany(nodes);
});

afterAll(() => system?.stop());

/** What shows the children, down to this level. */
function childrenTo(level: number): object {
  const below = level === 1 ? {} : { deep: childrenTo(level - 1) };
  return { children: { fields: "id", limit: LIMIT, ...below } };
}

const chain = (id: number, levels: number): Row =>
  levels === 0 ? { id } : { id, children: [chain(id + ROOTS, levels - 1)] };

it("a stream asks no query for each record, though each might show thousands of others", async () => {
  let reads = 0;
  const isRead = isReadOf("nodes");
  system.proxy.decide((command) => {
    if (isRead(command)) reads += 1;
    return "pass";
  });
  const { body } = await admin.get("/nodes", {
    fields: "id",
    filter: { parent: null },
    sort: "id",
    limit: "0",
    deep: childrenTo(LEVELS),
  });
  expect(body.data).toEqual(Array.from({ length: ROOTS }, (_, id) => chain(id, LEVELS)));
  expect(reads).toBeGreaterThan(LEVELS);
  expect(reads).toBeLessThan(ROOTS / 2);
});
