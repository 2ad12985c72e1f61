// A delete is judged by the version that If-Match names and by the rules for its caller. What was answered to others in
// between is never lost with the record: either it stays, or they are told that it is gone.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { atOnce, make, makeTable, read, tally } from "./make.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 12);
const LONG = 600_000;
const ANN = { email: "ann@example.com", password: "ann's password" };
/** So many that their delete, each with its entry in the journal, takes a while, and few enough to be waited for. */
const MANY = 40;

let stack: Stack;
let admin: Api;
let ann: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  const columns = [
    { name: "name", type: "string" },
    { name: "sold", type: "boolean", default: false },
  ];
  const to = (table: string, onDelete: string) => ({
    name: "of",
    type: "many-to-one",
    table,
    onDelete,
    inverse: null,
  });
  await makeTable(admin, { name: "tags", columns });
  const tags = (inverse: string) => [{ name: "tags", type: "many-to-many", table: "tags", inverse }];
  await makeTable(admin, { name: "ships", columns, relations: tags("ships") });
  await makeTable(admin, { name: "sailors", changes: true, relations: [to("ships", "CASCADE")] });
  await makeTable(admin, { name: "flags", columns, relations: [to("ships", "SET NULL")] });
  await makeTable(admin, { name: "boats", softDelete: true, columns, relations: tags("boats") });
  const kept = { softDelete: true, changes: true };
  await makeTable(admin, { name: "oars", ...kept, relations: [to("boats", "CASCADE")] });
  const role = (await make(admin, "svc_role", { name: "owner" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  for (const table of ["ships", "boats"])
    await make(admin, "svc_permission", { role, table, action: "delete", filter: { sold: false } });
  ann = await signIn(`${stack.appUrl}/api`, ANN);
}, 180_000);

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const tagOf = ({ headers }: Answer): string => headers.get("etag") ?? "none";
const removeAt = (tag: string, path: string): Promise<Answer> =>
  admin.send("DELETE", path, { headers: { "If-Match": tag } });
const changeAt = (tag: string, path: string, body: object): Promise<Answer> =>
  admin.send("PATCH", path, {
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "If-Match": tag },
  });

/** Resolves when the delete of what goes along has begun. */
async function underWay(children: string, of: string): Promise<void> {
  const which = { ofId: new ObjectId(of), _deletedAt: { $exists: false } };
  const left = () => client.db().collection(children).countDocuments(which);
  await until(left, (count) => count < MANY, 30_000);
}

describe.each([
  ["ships", "sailors"],
  ["boats", "oars"],
])("a delete of %s that takes %s along", (parents, children) => {
  async function laden(body: object = {}): Promise<{ readonly id: string; readonly tag: string }> {
    const { id } = await make(admin, parents, { name: "Hope", ...body });
    await admin.post(
      `/${children}`,
      Array.from({ length: MANY }, () => ({ of: id })),
    );
    return { id, tag: tagOf(await admin.get(`/${parents}/${id}`)) };
  }

  it("leaves no change answered that it does not know of, by its version", async () => {
    const { id, tag } = await laden();
    const gone = removeAt(tag, `/${parents}/${id}`);
    await underWay(children, id);
    const changed = await admin.patch(`/${parents}/${id}`, { name: "Faith" });
    expect([(await gone).status, changed.status]).toEqual([200, 404]);
  });

  it("leaves no change answered after which the rules would forbid it", async () => {
    const { id } = await laden();
    const gone = ann.delete(`/${parents}/${id}`);
    await underWay(children, id);
    const changed = await admin.patch(`/${parents}/${id}`, { sold: true });
    expect([(await gone).status, changed.status]).toEqual([200, 404]);
  });

  it.each([
    ["takes a link out of its list", true, 200],
    ["puts a link into its list", false, 400],
  ])(
    "leaves none answered that it does not know of and %s from the other side",
    async (_how, isThere, status) => {
      const label = (await make(admin, "tags", { name: "fast" })).id;
      const { id, tag } = await laden({ tags: isThere ? [label] : [] });
      const gone = removeAt(tag, `/${parents}/${id}`);
      await underWay(children, id);
      const changed = await admin.patch(`/tags/${label}`, { [parents]: isThere ? [] : [id] });
      const left = await read(admin, parents, id);
      expect([(await gone).status, changed.status, left]).toEqual([200, status, undefined]);
    },
  );

  it("passes once, however often it is asked for with one version", async () => {
    const { id, tag } = await laden();
    const answers = await atOnce(4, () => removeAt(tag, `/${parents}/${id}`));
    expect(tally(answers)).toEqual({ 200: 1, 404: 3 });
  });
});

describe("a delete of a record that others may link to", () => {
  it(
    "and a change that rest on one version: one of them passes, and a record that stays keeps its links",
    async () => {
      const seen = new Set<number>();
      // On until both have come first at least once.
      for (let round = 0; round < ROUNDS || (seen.size < 2 && round < 20 * ROUNDS); round += 1) {
        const { id } = await make(admin, "ships", { name: "Hope" });
        const flag = await make(admin, "flags", { of: id });
        const path = `/ships/${id}`;
        const tag = tagOf(await admin.get(path));
        // Sometimes the one comes first, sometimes the other does; on a busy machine that takes a longer start.
        const start = (round % 6) * Math.ceil((round + 1) / ROUNDS);
        const [head, tail] = round % 2 === 0 ? [0, start] : [start, 0];
        const [gone, changed] = await Promise.all([
          delay(head).then(() => removeAt(tag, path)),
          delay(tail).then(() => changeAt(tag, path, { name: "Faith" })),
        ]);
        seen.add(gone.status);
        const linked = (await read(admin, "flags", flag.id, "of")).of;
        expect([
          [200, 404, null],
          [200, 412, null],
          [412, 200, { id }],
        ]).toContainEqual([gone.status, changed.status, linked]);
      }
      expect([...seen].toSorted()).toEqual([200, 412]);
    },
    LONG,
  );

  it("passes once, however often it is asked for with one version", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id } = await make(admin, "ships", { name: "Hope" });
      const tag = tagOf(await admin.get(`/ships/${id}`));
      const answers = await atOnce(6, () => removeAt(tag, `/ships/${id}`));
      expect(tally(answers)[200]).toBe(1);
    }
  });
});
