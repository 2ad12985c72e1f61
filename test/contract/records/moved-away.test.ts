// A record that is moved to another parent while its former one is deleted with all that it takes along: whoever was told
// that it was moved has it, with everything that hangs on it.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { atOnce, make, makeTable, type Row, read } from "./make.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 6);
const LONG = 600_000;
/** So many that their delete, each with its entry in the journal, takes a while. */
const MANY = 40;

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  const link = (name: string, table: string, onDelete: string, more: object = {}) => ({
    name,
    type: "many-to-one",
    table,
    onDelete,
    inverse: null,
    ...more,
  });
  const columns = [{ name: "name", type: "string" }];
  for (const name of ["ships", "projects", "boats"])
    await makeTable(admin, { name, columns, softDelete: name === "boats" });
  const of = (table: string, inverse: string) => [link("of", table, "CASCADE", { inverse })];
  await makeTable(admin, { name: "sailors", columns, changes: true, relations: of("ships", "sailors") });
  await makeTable(admin, { name: "tasks", columns, changes: true, relations: of("projects", "tasks") });
  await makeTable(admin, { name: "notes", columns, relations: of("tasks", "notes") });
  await makeTable(admin, { name: "books", columns, relations: [link("favourite", "tasks", "SET NULL")] });
  const kept = { columns, softDelete: true };
  await makeTable(admin, { name: "oars", ...kept, changes: true, relations: of("boats", "oars") });
  await makeTable(admin, { name: "blades", ...kept, relations: of("oars", "blades") });
  await makeTable(admin, { name: "cabins", columns, relations: of("ships", "cabins") });
  await makeTable(admin, {
    name: "guests",
    columns,
    changes: true,
    relations: [...of("ships", "guests"), link("cabin", "cabins", "RESTRICT", { required: true })],
  });
  await makeTable(admin, {
    name: "hours",
    relations: [link("task", "tasks", "RESTRICT", { required: true })],
    columns,
  });
}, 180_000);

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

interface Family {
  readonly parents: string;
  readonly children: string;
  /** What hangs on the children. */
  readonly leaves?: string;
}

async function makeAll(table: string, bodies: readonly object[]): Promise<string[]> {
  const { status, body } = await admin.post(`/${table}?fields=id`, bodies);
  expect(status).toBe(201);
  return body.data.map(({ id }: Row) => id);
}

/** Moves by the child, or by the list of its new parent. */
function move({ parents, children }: Family, at: number, child: string, to: string): Promise<Answer> {
  return at % 2 === 0
    ? admin.patch(`/${children}/${child}`, { of: to })
    : admin.patch(`/${parents}/${to}`, { [children]: [child] });
}

describe.each<[string, Family]>([
  ["that nothing hangs on", { parents: "ships", children: "sailors" }],
  ["with what hangs on it", { parents: "projects", children: "tasks", leaves: "notes" }],
  ["with what hangs on it, of tables that keep it", { parents: "boats", children: "oars", leaves: "blades" }],
])("a record %s", (_words, family) => {
  const { parents, children, leaves } = family;

  it(
    "has been moved when the answer says so, and can be changed afterwards",
    async () => {
      let moved = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id: former } = await make(admin, parents, { name: "former" });
        const others = await makeAll(
          parents,
          Array.from({ length: MANY }, () => ({ name: "other" })),
        );
        const ids = await makeAll(
          children,
          Array.from({ length: MANY }, () => ({ of: former })),
        );
        if (leaves !== undefined)
          await makeAll(
            leaves,
            ids.map((of) => ({ of })),
          );
        const gone = admin.delete(`/${parents}/${former}`);
        const answers = await atOnce(MANY, async (at) => {
          await delay((at * 3) % (20 * (round + 1)));
          return move(family, at, ids[at] ?? "", others[at] ?? "");
        });
        expect((await gone).status).toBe(200);
        for (const [at, { status }] of answers.entries()) {
          expect([200, 400, 404, 409, 503]).toContain(status);
          if (status !== 200) continue;
          moved += 1;
          const path = `/${children}/${ids[at]}`;
          const { body } = await admin.get(path, {
            fields: leaves === undefined ? "of.id" : `of.id,${leaves}.id`,
          });
          expect([at, body.data?.[0]]).toMatchObject([at, { of: { id: others[at] } }]);
          if (leaves !== undefined) expect(body.data[0][leaves]).toHaveLength(1);
          expect((await admin.patch(path, { name: "moved" })).status).toBe(200);
        }
        // What was not moved has gone, and nothing leads to what is not there.
        const { body } = await admin.get(`/${children}`, { limit: "0", fields: "id,of.id" });
        for (const each of body.data) expect(each.of).not.toBeNull();
      }
      expect(moved).toBeGreaterThan(0);
    },
    LONG,
  );
});

describe("a record that holds another one, which goes with the same parent", () => {
  it(
    "is moved no more once the delete is under way, which would leave it without",
    async () => {
      let moved = 0;
      let deleted = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id: former } = await make(admin, "ships", { name: "former" });
        const { id: other } = await make(admin, "ships", { name: "other" });
        const { id: cabin } = await make(admin, "cabins", { of: former });
        const bodies = Array.from({ length: 8 * MANY }, () => ({ of: former, cabin }));
        const ids = (await makeAll("guests", bodies)).slice(-MANY);
        const ofFormer = { ofId: ObjectId.createFromHexString(former) };
        const left = () => client.db().collection("guests").countDocuments(ofFormer);
        expect(await left()).toBe(bodies.length);
        const gone = admin.delete(`/ships/${former}`);
        await until(
          () => admin.get("/guests", { filter: { of: former }, limit: "1", meta: "filterCount" }),
          ({ body }) => body.meta.filterCount < bodies.length,
          30_000,
        );
        const answers = await atOnce(MANY / 4, async (at) => {
          await delay(at);
          return admin.patch(`/guests/${ids[at * 4]}`, { of: other });
        });
        const { status: end } = await gone;
        expect([200, 409, 503]).toContain(end);
        if (end === 200) {
          deleted += 1;
          expect(await left()).toBe(0);
        }
        for (const [at, { status }] of answers.entries()) {
          if (status !== 200) {
            expect([400, 404, 409, 503]).toContain(status);
            continue;
          }
          moved += 1;
          const guest = await read(admin, "guests", ids[at * 4], "of.id,cabin.id");
          expect([at, guest]).toEqual([at, { of: { id: other }, cabin: { id: cabin } }]);
        }
      }
      expect(moved).toBe(0);
      expect(deleted).toBeGreaterThan(0);
    },
    LONG,
  );
});

describe("deletes of one record at the same moment", () => {
  it(
    "leave no link to what has gone with it, whichever of them took it",
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id: former } = await make(admin, "projects", { name: "former" });
        const tag = (await admin.get(`/projects/${former}`)).headers.get("etag") ?? "none";
        const tasks = await makeAll(
          "tasks",
          Array.from({ length: 4 * MANY }, () => ({ of: former })),
        );
        const books = await makeAll(
          "books",
          tasks.map((favourite) => ({ favourite })),
        );
        const answers = await atOnce(4, async (at) => {
          await delay(at * 5 * round);
          return admin.send("DELETE", `/projects/${former}`, { headers: { "If-Match": tag } });
        });
        expect(answers.map(({ status }) => status)).toContain(200);
        const filter = { id: { _in: books }, favourite: { _is_not_null: true } };
        const linked = await client
          .db()
          .collection("books")
          .countDocuments({ favouriteId: { $exists: true, $ne: null } });
        expect([linked, (await admin.get("/books", { filter, fields: "id" })).body.data]).toEqual([0, []]);
      }
    },
    LONG,
  );
});

describe("a new record that others are linked to", () => {
  it(
    "is there when the answer says so, whoever deletes what nothing links to",
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id: first } = await make(admin, "projects", { name: "first" });
        const { id: task } = await make(admin, "tasks", { of: first });
        const bodies = Array.from({ length: 50 }, () => ({ name: `new ${round}` }));
        const made = admin.post("/projects", [...bodies, { name: `new ${round}`, tasks: [task] }]);
        const empty = encodeURIComponent(JSON.stringify({ name: `new ${round}`, _not: { tasks: {} } }));
        await delay(round * 2);
        const removed = admin.send("DELETE", `/projects?filter=${empty}`);
        const { status, body } = await made;
        await removed;
        expect([201, 400, 409, 503]).toContain(status);
        const now = await read(admin, "tasks", task, "of.id");
        expect(now.of).toEqual({ id: status === 201 ? body.data.at(-1).id : first });
      }
    },
    LONG,
  );
});
