// A schema file with roles and rules, while other instances are in the middle of something: what it does at a start is in
// test/flow/schema-file.
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { ObjectId } from "mongodb";
import { readSchemaFile, type SchemaFile } from "../catalog/schema-file.js";
import type { Deps } from "../deps.js";
import type { TestDatabase } from "../mongo/database-fixture.js";
import { makeInstanceStore } from "../mongo/instance-store.js";
import { SERVICE } from "../principal.js";
import { PLAIN } from "../records/body/bind-body.js";
import { repairUnfinished } from "../records/whole/repair-unfinished.js";
import { update } from "../records/write/update.js";
import { openInstances, type StartedInstances } from "../started-fixture.js";
import { until } from "../until.js";
import { applyAccess, storedRoles } from "./apply-access.js";
import { applyWholeFile, compareWholeFile, type PulledFile, pullWholeFile } from "./apply-whole-file.js";
import { changeTable } from "./change-table.js";

let instances: StartedInstances;
let database: TestDatabase;

beforeEach(async () => {
  instances = await openInstances();
  ({ database } = instances);
});
afterEach(() => instances.close());

/** One of several on the same database. */
async function startInstance(): Promise<Deps["records"]> {
  return (await instances.start()).records;
}

function fileOf(content: object): SchemaFile {
  const { problems, ...file } = readSchemaFile(JSON.stringify(content));
  expect(problems).toEqual([]);
  return file;
}

/** A table with one column, which everyone may read. */
function fileWith(column: string): SchemaFile {
  const columns = [{ id: "0190163d8694739baea50003", name: column, type: "string" }];
  const everyone = [{ table: "notes", action: "read", fields: column }];
  return fileOf({ tables: [{ name: "notes", columns }], everyone });
}

const ruleIds = async ({ rules }: Deps["records"]): Promise<string[]> =>
  (await rules.described()).map(({ id }) => id);

/** Whoever has looked at the catalog so often is waiting for the rules to follow. */
const LOOKS_OF_A_WAIT = 20;

/** An instance, the ids of its rules, and what lets them follow a change that is in use. */
async function whileRenaming() {
  const [one, other] = [await startInstance(), await startInstance()];
  await applyWholeFile(one, fileWith("title"));
  const before = await ruleIds(one);
  const [notes] = await one.catalogStore.load();
  let letFollow = (): void => {};
  const held = new Promise<void>((resolve) => {
    letFollow = resolve;
  });
  const follow: typeof other.rules.follow = async (...change) => {
    await held;
    return other.rules.follow(...change);
  };
  const columns = [{ id: notes?.columns[0]?.id ?? "", name: "heading" }];
  const slow = { ...other, rules: { ...other.rules, follow } };
  const { done } = await changeTable(slow, notes?.id ?? "", { columns }, undefined);
  const isInUse = async () => (await one.catalogs.refresh()).change?.isFollowed === false;
  await until(isInUse, { patienceMs: 10_000, everyMs: 20, tooLate: () => {} });
  /** Lets them follow once something else has been waiting for that. */
  const endDuring = async <Result>(waiting: Promise<Result>): Promise<Result> => {
    const looks = jest.spyOn(one.catalogs, "refresh");
    let isOver = false;
    const over = waiting.finally(() => {
      isOver = true;
    });
    const isWaiting = async () => isOver || looks.mock.calls.length >= LOOKS_OF_A_WAIT;
    await until(isWaiting, { patienceMs: 10_000, everyMs: 20, tooLate: () => {} });
    letFollow();
    await done;
    return over;
  };
  return { one, before, endDuring };
}

describe("rules that do not follow a rename by another instance yet", () => {
  it("are waited for, and neither made again nor edited by the names of the file", async () => {
    const { one, before, endDuring } = await whileRenaming();
    expect(await endDuring(applyAccess(one, fileWith("heading").access))).toEqual([]);
    expect(await ruleIds(one)).toEqual(before);
  });

  it("are waited for before the tables are compared, which tells what a file would switch off", async () => {
    const { one, before, endDuring } = await whileRenaming();
    const { tables } = await endDuring(applyWholeFile(one, fileOf({ tables: [{ name: "notes" }] })));
    expect(tables).toMatchObject([
      { name: "notes", problems: [expect.stringContaining(before[0] ?? "none")] },
    ]);
  });
});

describe("a file that is compared or pulled while another instance renames a column", () => {
  it("is compared with rules that have followed", async () => {
    const { one, endDuring } = await whileRenaming();
    const same = { tables: [], access: [] };
    expect(await endDuring(compareWholeFile(one, fileWith("heading")))).toEqual(same);
  });

  it("has rules that have followed", async () => {
    const { one, endDuring } = await whileRenaming();
    expect(namesIn(await endDuring(pullWholeFile(one)))).toEqual(["heading", "heading"]);
  });

  it("is read again where that happens between the tables and the rules", async () => {
    const [one, other] = [await startInstance(), await startInstance()];
    await applyWholeFile(one, fileWith("title"));
    let renaming: Promise<unknown> | undefined;
    const load: typeof one.catalogStore.load = async () => {
      const definitions = await one.catalogStore.load();
      renaming ??= applyWholeFile(other, fileWith("heading"));
      await renaming;
      return definitions;
    };
    const pulled = await pullWholeFile({ ...one, catalogStore: { ...one.catalogStore, load } });
    expect(namesIn(pulled)).toEqual(["heading", "heading"]);
  });
});

/** The column of the only table, and what the only rule calls it. */
function namesIn({ tables, access }: PulledFile) {
  const [[notes], [rule]] = [tables, access.rules];
  return [notes?.columns[0]?.name, rule?.fields];
}

describe("a rule that somebody removes while the file is about to edit it", () => {
  it("is made as the file has it", async () => {
    const one = await startInstance();
    await applyWholeFile(one, fileWith("title"));
    const [former = ""] = await ruleIds(one);
    let looks = 0;
    const described: typeof one.rules.described = async () => {
      const rules = await one.rules.described();
      looks += 1;
      // After the look that decides, which follows the one that asks whether there is anything to do.
      if (looks === 2)
        await database.db.collection("svc_permission").deleteOne({ _id: new ObjectId(former) });
      return rules;
    };
    const { access } = fileOf({ tables: [], everyone: [{ table: "notes", action: "read" }] });
    const done = await applyAccess({ ...one, rules: { ...one.rules, described } }, access);
    expect(done.map(({ changes }) => changes)).toEqual([["rule.add read notes"]]);
    expect(await one.rules.described()).toMatchObject([{ table: "notes", action: "read", fields: null }]);
  });
});

describe("a file that is interrupted between its rules for reading and those for writing", () => {
  const fileWithRules = (reading: object, writing: object) => {
    const rules = [
      { table: "notes", action: "read", ...reading },
      ...["update", "delete"].map((action) => ({ table: "notes", action, filter: writing })),
      { table: "notes", action: "create", check: writing },
    ];
    const columns = [{ name: "title", type: "string" }];
    return fileOf({ tables: [{ name: "notes", columns }], roles: [{ name: "editor", rules }] });
  };
  const mine = { title: "mine" };
  const conditions = async ({ rules }: Deps["records"]) =>
    (await rules.described()).map(({ action, filter, check }) => [action, filter ?? check]);

  it("leaves writing closed, and goes on when it is applied again", async () => {
    const one = await startInstance();
    await applyWholeFile(one, fileWithRules({}, mine));
    const before = await ruleIds(one);
    // The database refuses the new rule for reading, as if it were away just then.
    const stored = database.db.collection("svc_permission");
    await stored.insertOne({ table: "notes", action: "read", filter: mine, isEnabled: false });
    const index = await stored.createIndex({ action: 1, "filter.title": 1 }, { unique: true });
    const file = fileWithRules({ filter: mine }, {});
    await expect(applyWholeFile(one, file)).rejects.toThrow();
    const nothing = { id: { _in: [] } };
    expect(await conditions(one)).toEqual([
      ["read", null],
      ["update", nothing],
      ["delete", nothing],
      ["create", nothing],
    ]);
    await stored.dropIndex(index);
    await applyWholeFile(one, file);
    expect(await conditions(one)).toEqual([
      ["read", mine],
      ["update", {}],
      ["delete", {}],
      ["create", {}],
    ]);
    expect(await ruleIds(one)).toEqual(before);
  });
});

describe("a file that is interrupted between its tables and its rules", () => {
  const fileWithColumns = (names: readonly string[], rule: object) => {
    const columns = names.map((name) => ({ name, type: "string" }));
    const everyone = [{ table: "notes", action: "read", ...rule }];
    return fileOf({ tables: [{ name: "notes", columns }], everyone });
  };

  it("removes the rules that its tables have switched off when it is applied again", async () => {
    const one = await startInstance();
    await applyWholeFile(one, fileWithColumns(["title", "state"], { filter: { state: "public" } }));
    const [former] = await ruleIds(one);
    const file = fileWithColumns(["title"], { fields: "title" });
    const dies = { ...one, accessLock: () => Promise.reject(new Error("killed")) };
    await expect(applyWholeFile(dies, file, true)).rejects.toThrow("killed");
    expect(await one.rules.switchedOff()).toMatchObject([{ id: former }]);
    const removal = 'rule.remove read notes {"filter":{"state":"public"}}';
    const { access } = await compareWholeFile(one, file);
    expect(access).toMatchObject([{ changes: ['rule.add read notes {"fields":"title"}', removal] }]);
    await applyWholeFile(one, fileOf({ tables: [] }));
    await applyWholeFile(one, file);
    expect(await one.rules.switchedOff()).toEqual([]);
    expect([...(await one.goingRules.load())]).toEqual([]);
  });

  it("leaves a rule that its tables have not come to, and that somebody switches off by hand", async () => {
    const one = await startInstance();
    const before = fileWithColumns(["title", "state"], { filter: { state: "public" } });
    await applyWholeFile(one, before);
    const [former = ""] = await ruleIds(one);
    await one.goingRules.note([former]);
    const off = { principal: SERVICE, parameters: PLAIN, body: { isEnabled: false } };
    await update(one, { ...off, table: "svc_permission", id: former });
    await applyWholeFile(one, before);
    expect(await one.rules.switchedOff()).toMatchObject([{ id: former }]);
    expect([...(await one.goingRules.load())]).toEqual([]);
  });
});

describe("what an instance that died a moment ago has left half done", () => {
  const note = async (ids: readonly string[]): Promise<void> => {
    const steps = [{ kind: "made", table: "svc_permission", ids: ids.map((id) => new ObjectId(id)) }];
    await database.db.collection("_unfinished").insertOne({ ...(await dead()), steps });
  };
  /** Who has noted something just before it died. */
  const dead = async () => {
    const instance = "a dead process";
    // It may even be listed among the living.
    await makeInstanceStore(database.db).announce(instance, 1_000);
    return { instance, at: new Date() };
  };

  it("is taken back before a file is compared, so that the file makes it again", async () => {
    const one = await startInstance();
    const file = fileWith("title");
    await applyWholeFile(one, file);
    const before = await ruleIds(one);
    await note(before);
    await applyWholeFile(one, file);
    const after = await ruleIds(one);
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });

  it("is deleted wholly before a file is compared, so that the file makes it again", async () => {
    const one = await startInstance();
    const file = fileOf({ tables: [], roles: [{ name: "editor", rules: [] }] });
    await applyWholeFile(one, file);
    const [former] = await storedRoles(one);
    const [_id, group] = [new ObjectId(former?.id), new ObjectId()];
    const going = { table: "svc_role", ids: [_id], group, judged: true, first: true, permanent: false };
    await database.db.collection("_deletes").insertOne({ ...(await dead()), ...going, done: false });
    const mark = { $set: { _leaving_for: { [group.toHexString()]: true } } };
    await database.db.collection("svc_role").updateOne({ _id }, mark);
    await applyWholeFile(one, file);
    await repairUnfinished(one, { alone: true });
    const now = await storedRoles(one);
    expect(now.map(({ id, name }) => [name, id === former?.id])).toEqual([["editor", false]]);
  });
});
