// A change that is refused because what it links to, or the record itself, is deleted in the same moment: nothing of it
// stays, whatever the delete and others have done to the record meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { type Fate, isCommand } from "../../support/command-proxy.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, read } from "./make.js";

let quick: Stack;
let api: Api;
/** An instance whose commands to the database can be held up. */
let held: BehindProxy;
let slow: Api;

beforeAll(async () => {
  quick = await startStack();
  api = await asAdmin(quick);
  const columns = [{ name: "name", type: "string" }];
  for (const name of ["homes", "tags"]) await makeTable(api, { name, columns });
  const relations = [
    { name: "home", type: "many-to-one", table: "homes", onDelete: "SET NULL", inverse: "cats" },
    { name: "tags", type: "many-to-many", table: "tags", inverse: "cats" },
  ];
  await makeTable(api, { name: "cats", columns, relations });
  await makeTable(api, { name: "ships", columns, softDelete: true });
  const ship = { name: "ship", type: "many-to-one", table: "ships", inverse: "sailors" };
  await makeTable(api, { name: "sailors", columns, relations: [ship] });
  await makeTable(api, { name: "docks", columns });
  const dock = { name: "dock", type: "many-to-one", table: "docks", onDelete: "CASCADE", required: true };
  await makeTable(api, { name: "boats", columns, relations: [dock] });
  const boat = { name: "boat", type: "many-to-one", table: "boats", onDelete: "RESTRICT", inverse: "oars" };
  await makeTable(api, { name: "oars", columns, relations: [boat] });
  held = await startBehindProxy(quick);
  slow = await asAdmin(held.stack);
});

afterAll(async () => {
  await held?.stop();
  await quick?.stop();
});

beforeEach(() => held.proxy.decide(() => "pass"));

/** What the slow instance has under way. */
interface Held {
  readonly answer: Promise<Answer>;
  /** Lets it go on. */
  readonly goOn: () => void;
}

/** Sends a request that stops at the first command of which `when` says so. */
async function stopped(when: (command: string) => boolean, send: () => Promise<Answer>): Promise<Held> {
  let goOn = (): void => undefined;
  const passed = new Promise<Fate>((resolve) => {
    goOn = () => resolve("pass");
  });
  let answer: Promise<Answer> | undefined;
  await new Promise<void>((reached) => {
    held.proxy.decide((command) => {
      if (!when(command)) return "pass";
      reached();
      return passed;
    });
    answer = send();
  });
  held.proxy.decide(() => "pass");
  if (answer === undefined) throw new Error("nothing was sent");
  return { answer, goOn };
}

/** Sends a change that stops when it is written, before it looks once more at what it links to in `target`. */
async function written(table: string, target: string, send: () => Promise<Answer>): Promise<Held> {
  const writes = [isCommand("findAndModify", table), isCommand("update", table)];
  const reads = [isCommand("find", target), isCommand("aggregate", target)];
  let isWritten = false;
  const isSecondLook = (command: string): boolean => {
    isWritten ||= writes.some((is) => is(command));
    return isWritten && reads.some((is) => is(command));
  };
  return stopped(isSecondLook, send);
}

async function named(table: string, name: string): Promise<string> {
  return (await make(api, table, { name })).id;
}

const cat = (id: string) => read(api, "cats", id, "name,home.name,tags.name");

describe("a change of a record that links to what is deleted in that moment", () => {
  it("leaves the record as it was", async () => {
    const [former, next] = [await named("homes", "former"), await named("homes", "next")];
    const { id } = await make(api, "cats", { name: "old", home: former });
    const change = await written("cats", "homes", () =>
      slow.patch(`/cats/${id}`, { name: "new", home: next }),
    );
    expect((await api.delete(`/homes/${next}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await cat(id)).toMatchObject({ name: "old", home: { name: "former" } });
  });

  it("leaves a list of links as it was, but for what others have added and taken out", async () => {
    const [a, b, c, d, next] = await Promise.all(
      ["a", "b", "c", "d", "next"].map((name) => named("tags", name)),
    );
    const { id } = await make(api, "cats", { name: "old", tags: [a, b, c] });
    const tags = [b, c, next];
    const change = await written("cats", "tags", () => slow.patch(`/cats/${id}`, { name: "new", tags }));
    expect((await api.patch(`/tags/${d}`, { cats: [id] })).status).toBe(200);
    expect((await api.patch(`/tags/${b}`, { cats: [] })).status).toBe(200);
    expect((await api.delete(`/tags/${next}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    const { name, tags: left } = await cat(id);
    const names = left.map((tag: { name: string }) => tag.name).toSorted();
    expect([name, names]).toEqual(["old", ["a", "c", "d"]]);
  });

  it("leaves the link that somebody else has given the record meanwhile", async () => {
    const [former, next, other] = await Promise.all(
      ["former", "next", "other"].map((name) => named("homes", name)),
    );
    const { id } = await make(api, "cats", { name: "old", home: former });
    const change = await written("cats", "homes", () =>
      slow.patch(`/cats/${id}`, { name: "new", home: next }),
    );
    expect((await api.patch(`/homes/${other}`, { cats: [id] })).status).toBe(200);
    expect((await api.delete(`/homes/${next}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await cat(id)).toMatchObject({ name: "old", home: { name: "other" } });
  });

  it("leaves nothing where another change of the record is refused after it as well", async () => {
    const former = await named("homes", "former");
    const [one, two] = [await named("homes", "one"), await named("homes", "two")];
    const { id } = await make(api, "cats", { name: "old", home: former });
    const change = (name: string, home: string) =>
      written("cats", "homes", () => slow.patch(`/cats/${id}`, { name, home }));
    const changes = [await change("first", one), await change("second", two)];
    for (const home of [one, two]) expect((await api.delete(`/homes/${home}`)).status).toBe(200);
    for (const each of changes.toReversed()) {
      each.goOn();
      expect((await each.answer).status).toBe(400);
    }
    expect(await cat(id)).toMatchObject({ name: "old", home: { name: "former" } });
  });

  it("leaves what somebody else has written to the record since", async () => {
    const [former, next] = [await named("homes", "former"), await named("homes", "next")];
    const { id } = await make(api, "cats", { name: "old", home: former });
    const change = await written("cats", "homes", () =>
      slow.patch(`/cats/${id}`, { name: "new", home: next }),
    );
    expect((await api.patch(`/cats/${id}`, { name: "new" })).status).toBe(200);
    expect((await api.delete(`/homes/${next}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await cat(id)).toMatchObject({ name: "new", home: { name: "former" } });
  });
});

describe("a change of a record and of what links to it, while the record is deleted", () => {
  it("leaves a record that is kept as it was, for whoever restores it", async () => {
    const { id } = await make(api, "ships", { name: "old" });
    await make(api, "sailors", { name: "Ann", ship: id });
    const change = await written("sailors", "ships", () =>
      slow.patch(`/ships/${id}`, { name: "new", sailors: [] }),
    );
    expect((await api.delete(`/ships/${id}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(404);
    const deleted = await api.get("/ships", { deleted: "only", filter: { id }, fields: "name" });
    expect(deleted.body.data).toEqual([{ name: "old" }]);
    expect((await api.post(`/ships/${id}/restore`)).status).toBe(200);
    expect(await read(api, "ships", id, "name,sailors.name")).toMatchObject({
      name: "old",
      sailors: [{ name: "Ann" }],
    });
  });

  it("gives the records back that were moved to it", async () => {
    const [former, next] = [await named("homes", "former"), await named("homes", "next")];
    const { id } = await make(api, "cats", { name: "Tom", home: former });
    const change = await written("cats", "homes", () => slow.patch(`/homes/${next}`, { cats: [id] }));
    expect((await api.delete(`/homes/${next}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(404);
    expect(await cat(id)).toMatchObject({ home: { name: "former" } });
  });
});

describe("a required link to a record that takes its own along, while that is deleted", () => {
  it.each([
    ["a change", (dock: string, boat: string) => api.patch(`/boats/${boat}`, { name: "new", dock })],
    ["a new record", (dock: string) => api.post("/boats", { name: "new", dock, oars: [{}] })],
  ])("is refused in %s, so that no record is left without it", async (_word, link) => {
    const [former, next] = [await named("docks", "former"), await named("docks", "next")];
    const boat = (await make(api, "boats", { name: "old", dock: former })).id;
    // What a boat is held by does not go along with a dock.
    await make(api, "oars", { boat });
    const isDelete = isCommand("delete", "docks");
    const going = await stopped(isDelete, () => slow.delete(`/docks/${next}`));
    const linking = link(next, boat);
    await Promise.race([linking, delay(1_000)]);
    going.goOn();
    expect([(await going.answer).status, (await linking).status]).toEqual([200, 400]);
    expect(await held.db.collection("boats").countDocuments({ dockId: null })).toBe(0);
    expect(await read(api, "boats", boat, "name,dock.name")).toMatchObject({
      name: "old",
      dock: { name: "former" },
    });
  });
});
