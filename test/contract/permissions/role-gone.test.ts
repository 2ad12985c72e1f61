// A rule, or any record, whose owner (CASCADE) has gone goes as well or leads nowhere, whatever was under way then: without
// its owner it would be nobody's, which of a rule means everybody's.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectId, type WithId } from "mongodb";
import { type Answer, type Api, apiOf, signIn } from "../../support/api.js";
import { type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import {
  afterWrites,
  goingOn,
  isCommand,
  isReadOf,
  isWriteOf,
  type Stopped,
  stopAt,
} from "../../support/command-proxy.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { until } from "../../support/wait.js";
import { make, makeTable, read } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

interface RuleDocument {
  roleId?: ObjectId;
  _record_version: number;
  updatedAt: Date;
}

let system: QuickAndSlow;
let api: Api;
let visitor: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api } = system);
  visitor = apiOf(`${system.held.stack.appUrl}/api`);
  await makeTable(api, { name: "notes", columns: [{ name: "title", type: "string" }] });
});

afterAll(() => system?.stop());

beforeEach(() => system.held.proxy.decide(() => "pass"));

const rules = () => system.held.db.collection<RuleDocument>("svc_permission");
const stopped = (when: (command: string) => boolean, send: () => Promise<Answer>): Promise<Stopped<Answer>> =>
  stopAt(system.held.proxy, when, send);
const ruleFor = async (role: string | null): Promise<string> =>
  (await make(api, "svc_permission", { role, table: "notes", action: "read", fields: "title" })).id;
const role = async (name: string): Promise<string> => (await make(api, "svc_role", { name })).id;
const removed = async (path: string): Promise<void> => void expect((await api.delete(path)).status).toBe(200);

it("a rule whose role is there no more grants nothing", async () => {
  const id = await ruleFor(null);
  expect((await visitor.get("/notes")).status).toBe(200);
  await rules().updateOne({ _id: new ObjectId(id) }, { $set: { roleId: new ObjectId() } });
  await make(api, "svc_user", ANN);
  const ann = await signIn(`${system.held.stack.appUrl}/api`, ANN);
  const status = async () => (await visitor.get("/notes")).status;
  expect(await until(status, (each) => each !== 200)).toBe(401);
  expect((await ann.get("/notes")).status).toBe(403);
  await removed(`/svc_permission/${id}`);
});

it.each([
  ["a rule", (id: string) => `/svc_permission/${id}`],
  ["rules that a filter matches", (id: string) => `/svc_permission?filter={"id":"${id}"}`],
])("a change of %s makes no role", async (_what, path) => {
  const id = await ruleFor(null);
  const { status, body } = await api.patch(path(id), { role: { name: "made with it" } });
  expect([status, body.message]).toEqual([
    400,
    ['role: a change of "svc_permission" makes no other records; make this one first, and link it'],
  ]);
  expect((await api.get("/svc_role", { filter: { name: "made with it" } })).body.data).toEqual([]);
  await removed(`/svc_permission/${id}`);
});

it("a rule whose change is refused, as its new role has gone, goes with its former one", async () => {
  const [former, next] = [await role("former"), await role("next")];
  const id = await ruleFor(former);
  const begun = await stopped(isWriteOf("svc_permission"), () =>
    system.slow.patch(`/svc_permission/${id}`, { role: next }),
  );
  await removed(`/svc_role/${next}`);
  const change = await goingOn(system.held.proxy, isReadOf("svc_role"), begun);
  await removed(`/svc_role/${former}`);
  change.goOn();
  expect((await change.answer).status).toBe(400);
  expect(await rules().findOne({ _id: new ObjectId(id) })).toBeNull();
});

it("a rule of everybody that was edited while it had a role is not opened to everybody with that", async () => {
  const next = await role("for a moment");
  const id = await ruleFor(null);
  const begun = await stopped(isWriteOf("svc_permission"), () =>
    system.slow.patch(`/svc_permission/${id}`, { role: next }),
  );
  await removed(`/svc_role/${next}`);
  const change = await goingOn(system.held.proxy, isReadOf("svc_role"), begun);
  expect((await api.patch(`/svc_permission/${id}`, { fields: "*" })).status).toBe(200);
  change.goOn();
  expect((await change.answer).status).toBe(400);
  expect(await rules().findOne({ _id: new ObjectId(id) })).toBeNull();
});

describe("a rule that a dead process has half changed, and whose former role is there no more", () => {
  /** Leaves the rule as such a process has left it: it was that of a role that has gone. */
  async function halfChanged(id: string): Promise<void> {
    const by = new ObjectId();
    const named = { $set: { _record_noted: by, _moved_roleId: by } };
    const rule: WithId<RuleDocument> | null = await rules().findOneAndUpdate(
      { _id: new ObjectId(id) },
      named,
    );
    if (rule === null) throw new Error("no rule");
    const step = {
      kind: "changed",
      table: "svc_permission",
      id: rule._id,
      changes: rule._record_version - 1,
      moves: 0,
      by,
      at: rule.updatedAt,
      set: { roleId: new ObjectId() },
      unset: ["_record_noted", "_moved_roleId"],
      lists: {},
    };
    const long = new Date(Date.now() - 60_000);
    const notes = system.held.db.collection("_unfinished");
    await notes.insertOne({ instance: "a dead process", at: long, steps: [step] });
    await until(
      () => unfinishedIn(system.held.db),
      (count) => count === 0,
      40_000,
    );
  }

  it("stays with the role that it was given", async () => {
    const next = await role("the next one");
    const id = await ruleFor(await role("before"));
    await api.patch(`/svc_permission/${id}`, { role: next });
    await halfChanged(id);
    expect(await read(api, "svc_permission", id, "role.id")).toMatchObject({ role: { id: next } });
  });

  it("goes where it was made everybody's", async () => {
    const id = await ruleFor(await role("one more"));
    await api.patch(`/svc_permission/${id}`, { role: null });
    await halfChanged(id);
    expect(await rules().findOne({ _id: new ObjectId(id) })).toBeNull();
  });
});

it("a record that came to its owner late, and can't go along, still leads to it when that has gone", async () => {
  const columns = [{ name: "name", type: "string" }];
  const to = (name: string, table: string, onDelete: string) => [
    { name, type: "many-to-one", table, onDelete },
  ];
  await makeTable(api, { name: "homes", columns });
  await makeTable(api, { name: "cats", columns, relations: to("home", "homes", "CASCADE") });
  await makeTable(api, { name: "bowls", columns, relations: to("cat", "cats", "RESTRICT") });
  const home = (await make(api, "homes", {})).id;
  const going = await stopped(isCommand("delete", "homes"), () => system.slow.delete(`/homes/${home}`));
  const cat = (await make(api, "cats", { home })).id;
  await make(api, "bowls", { cat });
  going.goOn();
  expect((await going.answer).status).toBe(200);
  const found = await system.held.db.collection("cats").findOne({ _id: new ObjectId(cat) });
  expect(String(found?.homeId)).toBe(home);
});

it("a record that is given back from a list to an owner that has gone meanwhile goes as well", async () => {
  const columns = [{ name: "name", type: "string" }];
  await makeTable(api, { name: "tags", columns });
  await makeTable(api, {
    name: "owners",
    columns,
    relations: [{ name: "tags", type: "many-to-many", table: "tags" }],
  });
  const owner = { name: "owner", type: "many-to-one", table: "owners", onDelete: "CASCADE", inverse: "dogs" };
  await makeTable(api, { name: "dogs", columns, relations: [owner] });
  const tag = (await make(api, "tags", {})).id;
  const { id } = await make(api, "owners", {});
  const dog = (await make(api, "dogs", { owner: id })).id;
  const change = await stopped(afterWrites(isWriteOf("dogs"), isReadOf("tags")), () =>
    system.slow.patch(`/owners/${id}`, { dogs: [], tags: [tag] }),
  );
  await removed(`/tags/${tag}`);
  await removed(`/owners/${id}`);
  change.goOn();
  expect((await change.answer).status).toBeGreaterThanOrEqual(400);
  expect(await system.held.db.collection("dogs").findOne({ _id: new ObjectId(dog) })).toBeNull();
});
