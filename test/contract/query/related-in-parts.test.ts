// Related records that take much memory: those of several records are read in parts, those of one come whole.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";

/** A value that takes many times the memory of its text: five of them more than the related records of several may. */
const LISTS = Array.from({ length: 50_000 }, () => [1]);

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await admin.post("/svc_table", { name: "shapes", columns: [{ name: "value", type: "json" }] });
  const ids: string[] = [];
  for (let shape = 1; shape <= 5; shape += 1) {
    const { body } = await admin.post("/shapes?fields=id", { value: LISTS });
    ids.push(body.data[0].id);
  }
  const relations = [{ name: "all", type: "many-to-many", table: "shapes" }];
  await admin.post("/svc_table", { name: "holders", columns: [], relations });
  const holders = await admin.post("/holders?fields=id", [{ all: ids.slice(0, 1) }, { all: ids }]);
  expect(holders.status).toBe(201);
});

afterAll(() => stack?.stop());

it("a list shows all of them, also of a record that is not the first and whose own take the most", async () => {
  const deep = { all: { fields: "value" } };
  const { status, body } = await admin.get("/holders", { fields: "id", sort: "id", deep });
  expect(status).toBe(200);
  const shown = body.data.map(({ all }: { all: readonly { value: unknown[] }[] }) =>
    all.map(({ value }) => value.length),
  );
  expect(shown).toEqual([[LISTS.length], Array.from({ length: 5 }, () => LISTS.length)]);
});
