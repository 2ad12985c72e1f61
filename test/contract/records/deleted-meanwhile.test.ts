// Deletes that take records along, while these are linked, restored and taken back in the same moment: what nobody was
// answered for stays as it was. And how many records a list says there are while deleted ones go for good.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Api, search } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import {
  afterWrites,
  goingOn,
  isCommand,
  isReadOf,
  isWriteOf,
  nth,
  stopAt,
} from "../../support/command-proxy.js";
import { make, makeTable, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  const name = { name: "name", type: "string" };
  const code = { name: "code", type: "string", unique: true };
  const tags = { name: "tags", type: "many-to-many", table: "tags" };
  const to = (one: string, table: string, inverse: string, more: object = {}) => ({
    name: one,
    type: "many-to-one",
    table,
    inverse,
    onDelete: "CASCADE",
    required: true,
    ...more,
  });
  const table = (what: string, relations: object[] = [], more: object = {}) =>
    makeTable(api, { name: what, columns: [name], relations, ...more });
  const kept = { softDelete: true };
  for (const each of ["tags", "refs", "passports", "piers"]) await table(each);
  await table("books", [to("ref", "refs", "books", { required: false, onDelete: "RESTRICT" })]);
  await table("pages", [to("book", "books", "pages")]);
  await table("ports", [], kept);
  await table("coats", [], kept);
  const port = to("port", "ports", "ferries", { required: false });
  await table("ferries", [port, { ...tags, inverse: "ferries" }], kept);
  await table("barns", [], kept);
  const barn = (inverse: string) => to("barn", "barns", inverse);
  await table("stalls", [barn("stalls")], kept);
  const stall = { name: "stall", type: "many-to-one", table: "stalls", inverse: "horses" };
  await table("horses", [barn("horses"), stall], kept);
  await table("farms", [], kept);
  for (const each of ["pets", "kids"]) await table(each, [to("farm", "farms", each)], kept);
  await table("crates", [to("within", "crates", "crates", { required: false })], kept);
  await table("orders", [], kept);
  const ref = to("ref", "refs", "lines", { required: false, onDelete: "RESTRICT" });
  await table("lines", [to("order", "orders", "lines"), ref], kept);
  const passport = { name: "passport", type: "one-to-one", table: "passports" };
  await table("people", [passport, tags], { columns: [name, code] });
  await table("berths", [to("pier", "piers", "berths")]);
  await table("yachts", [to("berth", "berths", "yachts"), tags]);
  await table("shows", [], { columns: [name, code], changes: true });
  await table("acts", [to("show", "shows", "acts")]);
});

afterAll(() => system?.stop());

beforeEach(() => held.proxy.decide(() => "pass"));

const named = async (table: string, name: string): Promise<string> => (await make(api, table, { name })).id;
/** The delete of a record that its table keeps. */
const isLastOf = (table: string) => (command: string) =>
  isCommand("update", table)(command) && command.includes("updatedAt");

describe("a set of links of a record that is deleted before they are written", () => {
  it("is refused, though what linked there before has gone along", async () => {
    const [own, other] = [await named("books", "own"), await named("books", "other")];
    const there = (await make(api, "pages", { name: "there", book: other })).id;
    const page = (await make(api, "pages", { name: "old", book: own })).id;
    const change = await stopAt(held.proxy, afterWrites(isWriteOf("books"), isReadOf("pages")), () =>
      slow.patch(`/books/${other}`, { name: "new", pages: [there, page] }),
    );
    expect((await api.delete(`/books/${other}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await read(api, "pages", page, "book.name")).toMatchObject({ book: { name: "own" } });
  });
});

describe("a record that goes along with its former place before it is moved", () => {
  it.each([
    ["noted", nth(2, isReadOf("ferries"))],
    ["moved", isWriteOf("ferries")],
  ])("comes back with that, as the move is refused (before it is %s)", async (_when, when) => {
    const [former, next] = [await named("ports", "former"), await named("ports", "next")];
    const ferry = (await make(api, "ferries", { name: "f", port: former })).id;
    const move = await stopAt(held.proxy, when, () => slow.patch(`/ports/${next}`, { ferries: [ferry] }));
    expect((await api.delete(`/ports/${former}`)).status).toBe(200);
    move.goOn();
    expect((await move.answer).status).toBe(400);
    expect((await api.post(`/ports/${former}/restore`)).status).toBe(200);
    expect(await read(api, "ferries", ferry, "port.name")).toMatchObject({ port: { name: "former" } });
  });

  it("does so where a new record was to have it, of which nothing stays", async () => {
    const former = await named("ports", "former");
    const ferry = (await make(api, "ferries", { name: "f", port: former })).id;
    const making = await stopAt(held.proxy, isCommand("insert", "ports"), () =>
      slow.post("/ports", { name: "refused", ferries: [ferry] }),
    );
    expect((await api.delete(`/ports/${former}`)).status).toBe(200);
    making.goOn();
    const { status, body } = await making.answer;
    expect([status, body.error.details]).toEqual([400, undefined]);
    expect((await api.get("/ports", { filter: { name: "refused" } })).body.data).toEqual([]);
    expect((await api.post(`/ports/${former}/restore`)).status).toBe(200);
    expect(await read(api, "ferries", ferry, "port.name")).toMatchObject({ port: { name: "former" } });
  });
});

describe("a record that goes along with the place that it was moved to, before the move is refused", () => {
  it("comes back with that", async () => {
    const [former, next] = [await named("ports", "former"), await named("ports", "next")];
    const ferry = (await make(api, "ferries", { name: "f", port: former })).id;
    const other = (await make(api, "ferries", { name: "other", port: former })).id;
    const move = await stopAt(held.proxy, afterWrites(isWriteOf("ferries"), isReadOf("ferries")), () =>
      slow.patch(`/ports/${next}`, { ferries: [ferry, other] }),
    );
    // So not all that was moved has gone along.
    expect((await api.delete(`/ferries/${other}`)).status).toBe(200);
    expect((await api.delete(`/ports/${next}`)).status).toBe(200);
    expect((await api.post(`/ferries/${other}/restore`)).status).toBe(200);
    move.goOn();
    expect((await move.answer).status).toBe(400);
    expect((await api.post(`/ports/${next}/restore`)).status).toBe(200);
    expect(await read(api, "ferries", ferry, "port.name")).toMatchObject({ port: { name: "next" } });
    expect(await read(api, "ferries", other, "port.name")).toMatchObject({ port: { name: "former" } });
  });

  it("has its former place where nothing stays of the new one", async () => {
    const former = await named("ports", "former");
    const ferry = (await make(api, "ferries", { name: "f", port: former })).id;
    const other = (await make(api, "ferries", { name: "other", port: former })).id;
    const making = await stopAt(held.proxy, afterWrites(isWriteOf("ferries"), isReadOf("ferries")), () =>
      slow.post("/ports", { name: "nowhere", ferries: [ferry, other] }),
    );
    expect((await api.delete(`/ferries/${other}`)).status).toBe(200);
    const [made] = (await api.get("/ports", { filter: { name: "nowhere" } })).body.data;
    expect((await api.delete(`/ports/${made.id}`)).status).toBe(200);
    expect((await api.post(`/ferries/${other}/restore`)).status).toBe(200);
    making.goOn();
    expect((await making.answer).status).toBe(400);
    expect((await api.post(`/ferries/${ferry}/restore`)).status).toBe(200);
    expect(await read(api, "ferries", ferry, "port.name")).toMatchObject({ port: { name: "former" } });
  });
});

describe("a record that goes along with what a refused change was to link it to, but not for that link", () => {
  it.each([
    ["had", "own", "own"],
    ["had elsewhere", "other", "own"],
  ])("comes back with the link that it %s", async (_what, before, changed) => {
    const barn = await named("barns", "barn");
    const stall = async (name: string) => (await make(api, "stalls", { name, barn })).id;
    const horse = async (name: string, in_: string, at: string | null) =>
      (await make(api, "horses", { name, barn: in_, stall: at })).id;
    const elsewhere = await named("barns", "elsewhere");
    const stalls: Record<string, string> = {
      own: await stall("own"),
      other: (await make(api, "stalls", { name: "other", barn: elsewhere })).id,
    };
    const there = await horse("there", barn, stalls[before] ?? null);
    const gone = await horse("gone", elsewhere, null);
    const horses = before === changed ? [gone] : [gone, there];
    const change = await stopAt(
      held.proxy,
      afterWrites(isWriteOf("horses"), nth(2, isReadOf("horses"))),
      () => slow.patch(`/stalls/${stalls[changed]}`, { horses }),
    );
    expect((await api.delete(`/horses/${gone}`)).status).toBe(200);
    expect((await api.delete(`/barns/${barn}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect((await api.post(`/barns/${barn}/restore`)).status).toBe(200);
    expect(await read(api, "horses", there, "stall.name")).toMatchObject({ stall: { name: before } });
  });
});

describe("a record that is deleted while a set of links", () => {
  it.each([
    ["lets go of it", "ports", "port", true, 200],
    ["lets go of it, in lists", "tags", "tags", true, 200],
    ["is to have it, in lists", "tags", "tags", false, 400],
  ])("%s comes back with the links that it went with", async (_what, table, link, isThere, expected) => {
    const to = await named(table, "T");
    const linked = link === "tags" ? [to] : to;
    const ferry = (await make(api, "ferries", { name: "f", ...(isThere && { [link]: linked }) })).id;
    const change = await stopAt(held.proxy, isWriteOf("ferries"), () =>
      slow.patch(`/${table}/${to}`, { ferries: isThere ? [] : [ferry] }),
    );
    expect((await api.delete(`/ferries/${ferry}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(expected);
    expect((await api.post(`/ferries/${ferry}/restore`)).status).toBe(200);
    const { ferries } = await read(api, table, to, "ferries.id");
    expect(ferries).toHaveLength(isThere ? 1 : 0);
  });
});

describe("a list of new records", () => {
  it("is refused where one can't have its link, though another has gone with what was linked to it", async () => {
    const [own, ref] = [await named("books", "own"), await named("refs", "R")];
    const page = (await make(api, "pages", { name: "p", book: own })).id;
    const books = [
      { name: "one of two", pages: [page] },
      { name: "two of two", ref },
    ];
    const begun = await stopAt(held.proxy, isCommand("insert", "books"), () => slow.post("/books", books));
    expect((await api.delete(`/refs/${ref}`)).status).toBe(200);
    const isLook = (command: string): boolean => isReadOf("refs")(command) || isReadOf("books")(command);
    const linked = await goingOn(held.proxy, afterWrites(isWriteOf("pages"), isLook), begun);
    const [one] = (await api.get("/books", { filter: { name: "one of two" } })).body.data;
    expect((await api.delete(`/books/${one.id}`)).status).toBe(200);
    linked.goOn();
    expect((await linked.answer).status).toBe(400);
    expect((await api.get("/books", { filter: { name: { _ends_with: "of two" } } })).body.data).toEqual([]);
  });

  it("takes along what others have linked to the first, where it is refused for a later one", async () => {
    await make(api, "shows", { code: "taken" });
    const shows = [{ name: "first" }, { name: "last", code: "taken" }];
    const refused = await stopAt(held.proxy, isCommand("delete", "shows"), () => slow.post("/shows", shows));
    const [first] = (await api.get("/shows", { filter: { name: "first" } })).body.data;
    const act = (await make(api, "acts", { name: "late", show: first.id })).id;
    refused.goOn();
    expect((await refused.answer).status).toBe(409);
    expect([await read(api, "shows", first.id), await read(api, "acts", act)]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("a delete that waits for writers who have come late", () => {
  it("takes nothing that was restored meanwhile", async () => {
    const [port, other] = [await named("ports", "P"), await named("ports", "other")];
    const ferry = (await make(api, "ferries", { name: "there", port })).id;
    const late = (await make(api, "ferries", { name: "late", port: other })).id;
    const going = await stopAt(held.proxy, isLastOf("ports"), () => slow.delete(`/ports/${port}`));
    const change = await stopAt(held.proxy, afterWrites(isWriteOf("ferries"), isReadOf("ports")), () =>
      slow.patch(`/ferries/${late}`, { port }),
    );
    const waiting = await goingOn(held.proxy, nth(3, isReadOf("ferries")), going);
    expect((await api.post(`/ports/${port}/restore`)).status).toBe(200);
    waiting.goOn();
    expect((await waiting.answer).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(200);
    for (const id of [ferry, late])
      expect(await read(api, "ferries", id, "port.name")).toMatchObject({ port: { name: "P" } });
  });

  it("is not waited for by what they take back", async () => {
    const [former, next] = [await named("farms", "former"), await named("farms", "next")];
    const pet = (await make(api, "pets", { name: "x", farm: former })).id;
    const kid = (await make(api, "kids", { name: "y", farm: former })).id;
    const isLook = (command: string): boolean => isReadOf("pets")(command) || isReadOf("kids")(command);
    const change = await stopAt(held.proxy, afterWrites(isWriteOf("farms"), isLook), () =>
      slow.patch(`/farms/${next}`, { name: "new", pets: [pet], kids: [kid] }),
    );
    const going = await stopAt(held.proxy, isLastOf("farms"), () => slow.delete(`/farms/${next}`));
    // It looks again and again at what it has linked them to.
    const waiting = await goingOn(held.proxy, nth(3, isReadOf("farms")), change);
    waiting.goOn();
    going.goOn();
    expect([(await going.answer).status, (await waiting.answer).status]).toEqual([200, 404]);
    for (const [table, id] of [
      ["pets", pet],
      ["kids", kid],
    ] as const)
      expect(await read(api, table, id, "farm.name")).toMatchObject({ farm: { name: "former" } });
  });
});

describe("a change that is refused, of a record of whose former values others have one", () => {
  it("gives back the links that are to be had", async () => {
    const [first, second] = [await named("passports", "first"), await named("passports", "second")];
    const tag = await named("tags", "T");
    const { id } = await make(api, "people", { name: "Ann", code: "A", passport: first });
    const change = await stopAt(held.proxy, afterWrites(isWriteOf("people"), isReadOf("passports")), () =>
      slow.patch(`/people/${id}`, { name: "new", code: "B", passport: second, tags: [tag] }),
    );
    await make(api, "people", { name: "Ben", code: "A" });
    expect((await api.delete(`/tags/${tag}`)).status).toBe(200);
    change.goOn();
    expect((await change.answer).status).toBe(400);
    expect(await read(api, "people", id, "name,code,passport.name")).toMatchObject({
      name: "Ann",
      code: "B",
      passport: { name: "first" },
    });
  });

  it("leaves it with what it was given where that is all that it can have, and what this hangs on", async () => {
    const pier = await named("piers", "P");
    const former = (await make(api, "berths", { name: "former", pier })).id;
    const tag = await named("tags", "T");
    const { id } = await make(api, "yachts", { name: "old", berth: former });
    const berth = { name: "made", pier: { name: "made as well" } };
    const change = await stopAt(held.proxy, afterWrites(isWriteOf("yachts"), isReadOf("berths")), () =>
      slow.patch(`/yachts/${id}`, { name: "new", berth, tags: [tag] }),
    );
    for (const path of [`/berths/${former}`, `/tags/${tag}`])
      expect((await api.delete(path)).status).toBe(200);
    change.goOn();
    const { status, body } = await change.answer;
    expect([status, body.error.details.kept]).toEqual([
      400,
      [
        { table: "piers", id: expect.any(String) },
        { table: "berths", id: expect.any(String) },
      ],
    ]);
    expect(await read(api, "yachts", id, "name,berth.name")).toMatchObject({
      name: "old",
      berth: { name: "made" },
    });
  });
});

describe("a restoration that stops between two levels", () => {
  it("is completed by who asks again, down to what lies below those that are back", async () => {
    const crate = async (within: string | null) =>
      (await make(api, "crates", { name: "crate", within })).id as string;
    const outer = await crate(null);
    const middle = await crate(outer);
    const inner = await crate(await crate(middle));
    expect((await api.delete(`/crates/${outer}`)).status).toBe(200);
    const living = async () => (await api.get("/crates", { meta: "totalCount" })).body.meta.totalCount;
    let levels = 0;
    const isThird = (command: string): boolean => isLastOf("crates")(command) && ++levels === 3;
    const restore = (who: Api) => who.post(`/crates/${outer}/restore`, undefined);
    const begun = await stopAt(held.proxy, isThird, () => restore(slow));
    expect(await living()).toBe(2);
    expect((await restore(api)).status).toBe(200);
    expect(await living()).toBe(4);
    expect((await read(api, "crates", inner))?.id).toBe(inner);
    begun.goOn();
    expect((await begun.answer).status).toBe(200);
    expect(await living()).toBe(4);
    expect(await held.db.collection("crates").countDocuments({ _deletion: { $exists: true } })).toBe(0);
  });
});

describe("a record that goes along at once with what it links to, while it is restored by itself", () => {
  it("has been restored, and comes back with that", async () => {
    const order = await named("orders", "O");
    const line = (await make(api, "lines", { name: "first", order })).id;
    await make(api, "lines", { name: "second", order });
    expect((await api.delete(`/lines/${line}`)).status).toBe(200);
    const begun = await stopAt(held.proxy, afterWrites(isLastOf("lines"), isReadOf("orders")), () =>
      slow.post(`/lines/${line}/restore`),
    );
    expect((await api.delete(`/orders/${order}`)).status).toBe(200);
    begun.goOn();
    expect((await begun.answer).status).toBe(200);
    expect((await api.post(`/orders/${order}/restore`)).status).toBe(200);
    expect((await api.get("/lines", { filter: { order } })).body.data).toHaveLength(2);
  });

  it("does so with what went with it before", async () => {
    const outer = await named("crates", "outer");
    const middle = (await make(api, "crates", { name: "middle", within: outer })).id;
    const inner = (await make(api, "crates", { name: "inner", within: middle })).id;
    expect((await api.delete(`/crates/${middle}`)).status).toBe(200);
    const begun = await stopAt(held.proxy, nth(2, isLastOf("crates")), () =>
      slow.post(`/crates/${middle}/restore`),
    );
    expect((await api.delete(`/crates/${outer}`)).status).toBe(200);
    begun.goOn();
    expect((await begun.answer).status).toBe(200);
    expect((await api.post(`/crates/${outer}/restore`)).status).toBe(200);
    expect(await read(api, "crates", inner, "within.name")).toMatchObject({ within: { name: "middle" } });
  });
});

describe("a record that is deleted again while it is restored", () => {
  it("is not said to need itself", async () => {
    const order = await named("orders", "O");
    for (const name of ["first", "second"]) await make(api, "lines", { name, order });
    const restore = (who: Api) => who.post(`/orders/${order}/restore`);
    expect((await api.delete(`/orders/${order}`)).status).toBe(200);
    const begun = await stopAt(held.proxy, afterWrites(isLastOf("lines"), isReadOf("orders")), () =>
      restore(slow),
    );
    expect((await api.delete(`/orders/${order}`)).status).toBe(200);
    begun.goOn();
    const { status, body } = await begun.answer;
    const message = `Another request has deleted this "orders" record again.`;
    expect({ status, message: body.message }).toEqual({ status: 409, message });
    expect((await restore(api)).status).toBe(200);
    expect((await api.get("/lines", { filter: { order } })).body.data).toHaveLength(2);
  });
});

describe("a delete for good that begins while its record is restored", () => {
  it("takes what the restoration has brought back", async () => {
    const order = await named("orders", "O");
    const names = ["back", "back as well"];
    for (const name of names) await make(api, "lines", { name, order });
    expect((await api.delete(`/orders/${order}`)).status).toBe(200);
    const begun = await stopAt(held.proxy, isLastOf("lines"), () => slow.post(`/orders/${order}/restore`));
    const going = await stopAt(held.proxy, isCommand("delete", "lines"), () =>
      slow.delete(`/orders/${order}?permanent=true`),
    );
    const restored = await goingOn(held.proxy, isReadOf("orders"), begun);
    going.goOn();
    restored.goOn();
    expect([(await going.answer).status, (await restored.answer).status]).toEqual([200, 409]);
    expect(await held.db.collection("lines").countDocuments({ name: { $in: names } })).toBe(0);
  });
});

describe("the number of all records of a list", () => {
  const isCountOfDeleted = (command: string): boolean =>
    isCommand("aggregate", "coats")(command) && command.includes("$ne");
  const total = async (who: Api) => (await who.get("/coats", { meta: "totalCount" })).body.meta.totalCount;
  const purge = (name: string) =>
    api.send("DELETE", `/coats${search({ deleted: "only", permanent: "true", filter: { name } })}`);

  beforeAll(async () => {
    await named("coats", "stays");
    for (const name of ["first", "second"]) await api.delete(`/coats/${await named("coats", name)}`);
    // From the second look on, the number that the database keeps is known to be right.
    for (let looks = 0; looks < 2; looks += 1) await total(slow);
  });

  it.each([
    ["before the deleted ones are counted", "first", isCountOfDeleted],
    ["after that", "second", nth(2, isCommand("count", "coats"))],
  ])("leaves out those that go for good %s", async (_when, name, isNext) => {
    const list = await stopAt(held.proxy, isNext, () => total(slow));
    await purge(name);
    list.goOn();
    expect(await list.answer).toBe(1);
  });
});
