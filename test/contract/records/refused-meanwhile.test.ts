// A change that is refused because what it links to, or the record itself, is deleted in the same moment: nothing of it
// stays, whatever the delete and others have done to the record meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Answer, Api } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import {
  afterWrites,
  isCommand,
  isReadOf,
  isWriteOf,
  type Stopped,
  stopAt,
} from "../../support/command-proxy.js";
import { until } from "../../support/wait.js";
import { make, makeTable, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
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
  for (const name of ["berths", "passports"]) await makeTable(api, { name, columns });
  const flags = { name: "tags", type: "many-to-many", table: "tags" };
  const berth = { name: "berth", type: "many-to-one", table: "berths", onDelete: "CASCADE", required: true };
  const guest = { ...berth, name: "guest", required: false, inverse: "guests" };
  await makeTable(api, {
    name: "yachts",
    columns,
    relations: [{ ...berth, inverse: "yachts" }, guest, flags],
  });
  const passport = { name: "passport", type: "one-to-one", table: "passports", onDelete: "CASCADE" };
  await makeTable(api, { name: "people", columns, relations: [passport, flags] });
  await makeTable(api, { name: "harbours", columns, softDelete: true });
  const harbour = { ...berth, name: "harbour", table: "harbours", inverse: "ferries" };
  await makeTable(api, { name: "ferries", columns, softDelete: true, relations: [harbour, flags] });
});

afterAll(() => system?.stop());

beforeEach(() => held.proxy.decide(() => "pass"));

/** Sends a request by the slow instance, which stops at the first command of which `when` says so. */
const stopped = (when: (command: string) => boolean, send: () => Promise<Answer>): Promise<Stopped<Answer>> =>
  stopAt(held.proxy, when, send);

/** Sends a change that stops when it is written, before it looks once more at what it links to in `target`. */
const written = (table: string, target: string, send: () => Promise<Answer>): Promise<Stopped<Answer>> =>
  stopped(afterWrites(isWriteOf(table), isReadOf(target)), send);

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
    await Promise.race([linking, delay(1_000, undefined, { ref: false })]);
    going.goOn();
    expect([(await going.answer).status, (await linking).status]).toEqual([200, 400]);
    expect(await held.db.collection("boats").countDocuments({ dockId: null })).toBe(0);
    expect(await read(api, "boats", boat, "name,dock.name")).toMatchObject({
      name: "old",
      dock: { name: "former" },
    });
  });
});

describe("a record that is refused a link to what takes its own along, while that is deleted", () => {
  it.each(["berth", "guest"])("stays as it was (%s)", async (link) => {
    const [former, next] = [await named("berths", "former"), await named("berths", "next")];
    const { id } = await make(api, "yachts", { name: "old", berth: former, guest: former });
    const linking = await stopped(isWriteOf("yachts"), () =>
      slow.patch(`/yachts/${id}`, { name: "new", [link]: next }),
    );
    const going = await stopped(isCommand("delete", "berths"), () => slow.delete(`/berths/${next}`));
    const looks = new Promise<void>((looked) => {
      held.proxy.decide((command) => {
        if (!isReadOf("berths")(command)) return "pass";
        looked();
        // An optional link waits for nothing: it is looked at when the berth has gone as well.
        return link === "guest" ? delay(300, "pass" as const) : "pass";
      });
    });
    linking.goOn();
    await looks;
    going.goOn();
    expect([(await going.answer).status, (await linking.answer).status]).toEqual([200, 400]);
    expect(await read(api, "yachts", id, "name,berth.name,guest.name")).toMatchObject({
      name: "old",
      berth: { name: "former" },
      guest: { name: "former" },
    });
  });
});

describe("a change that is refused, of a record whose former link others have taken or deleted", () => {
  it("does not take the record along with what it has made", async () => {
    const [first, tag] = [await named("passports", "first"), await named("tags", "flag")];
    const { id } = await make(api, "people", { name: "Ann", passport: first });
    const body = { name: "new", passport: { name: "second" }, tags: [tag] };
    const change = await written("people", "passports", () => slow.patch(`/people/${id}`, body));
    await make(api, "people", { name: "Ben", passport: first });
    expect((await api.delete(`/tags/${tag}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await read(api, "people", id, "name,passport.name")).toMatchObject({
      name: "Ann",
      passport: null,
    });
    expect((await api.get("/passports", { filter: { name: "second" } })).body.data).toEqual([]);
  });

  it("leaves a required link where it is rather than nowhere", async () => {
    const [former, next] = [await named("berths", "former"), await named("berths", "next")];
    const tag = await named("tags", "flag");
    const { id } = await make(api, "yachts", { name: "old", berth: former });
    const body = { name: "new", berth: next, tags: [tag] };
    const change = await written("yachts", "berths", () => slow.patch(`/yachts/${id}`, body));
    for (const path of [`/berths/${former}`, `/tags/${tag}`])
      expect((await api.delete(path)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await read(api, "yachts", id, "name,berth.name")).toMatchObject({
      name: "old",
      berth: { name: "next" },
    });
  });
});

describe("a restore", () => {
  /** The step in which records of a table are deleted and kept. */
  const isDeleteOf = (table: string) => (command: string) =>
    isCommand("update", table)(command) && command.includes("updatedAt");

  async function harbourWithFerries(): Promise<{ readonly harbour: string; readonly ferries: string[] }> {
    const harbour = await named("harbours", "H");
    const ferries = [await make(api, "ferries", { harbour }), await make(api, "ferries", { harbour })];
    return { harbour, ferries: ferries.map(({ id }) => id) };
  }

  const ferriesOf = async (harbour: string) =>
    (await api.get("/ferries", { filter: { harbour }, fields: "id", sort: "id" })).body.data.map(
      ({ id }: { id: string }) => id,
    );

  it.each([
    ["only marks are set", isCommand("update", "ferries")],
    ["nothing has gone", isDeleteOf("ferries")],
    ["all has gone but the record itself", isDeleteOf("harbours")],
  ])(
    "waits for a delete that is under way, and brings back all that goes with it (%s)",
    async (_so, isLast) => {
      const { harbour, ferries } = await harbourWithFerries();
      const going = await stopped(isLast, () => slow.delete(`/harbours/${harbour}`));
      const restored = api.post(`/harbours/${harbour}/restore`);
      await Promise.race([restored, delay(1_000, undefined, { ref: false })]);
      going.goOn();
      expect([(await going.answer).status, (await restored).status]).toEqual([200, 200]);
      expect(await ferriesOf(harbour)).toEqual(ferries);
    },
  );

  it("does not wait for the mark of the delete that it undoes", async () => {
    const { harbour, ferries } = await harbourWithFerries();
    const isUnmark = (command: string): boolean =>
      isCommand("update", "harbours")(command) && command.includes("$unsetField");
    const going = await stopped(isUnmark, () => slow.delete(`/harbours/${harbour}`));
    const restored = api.post(`/harbours/${harbour}/restore`);
    const early = await Promise.race([restored, delay(3_000, undefined, { ref: false })]);
    going.goOn();
    expect(early).toMatchObject({ status: 200 });
    expect((await going.answer).status).toBe(200);
    expect(await ferriesOf(harbour)).toEqual(ferries);
  });
});

describe("a delete of a record to which others keep linking", () => {
  it("comes to its end, also where what goes along takes others along that can't be without it", async () => {
    const columns = [{ name: "name", type: "string" }];
    const to = (name: string, table: string, required: boolean) => [
      { name, type: "many-to-one", table, onDelete: "CASCADE", required },
    ];
    await makeTable(api, { name: "authors", columns });
    await makeTable(api, { name: "posts", columns, relations: to("author", "authors", false) });
    await makeTable(api, { name: "comments", columns, relations: to("post", "posts", true) });
    const author = await named("authors", "A");
    let isOver = false;
    const write = async (): Promise<void> => {
      while (!isOver) isOver ||= (await api.post("/posts", { author })).status !== 201;
    };
    const writing = [write(), write(), write()];
    held.proxy.decide(() => delay(25, "pass" as const));
    const { status } = await slow.delete(`/authors/${author}`);
    isOver = true;
    await Promise.all(writing);
    expect(status).toBe(200);
    const left = async () => (await api.get("/posts", { filter: { author } })).body.data.length;
    expect(await until(left, (count) => count === 0, 10_000)).toBe(0);
  });
});
