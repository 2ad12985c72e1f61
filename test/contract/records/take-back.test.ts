// A request that is refused half-way takes back what it has written, and nothing that others have: their changes, their
// records, the values they have taken meanwhile.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { REPAIRING_OFTEN, type Stack, startStack } from "../../support/stack.js";
import { unfinishedIn } from "../../support/unfinished.js";
import { until } from "../../support/wait.js";
import { deleteConfirmed } from "../tables/change.js";
import { atOnce, make, makeTable, type Row, read, tally, valuesOf } from "./make.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 20);
const LONG = 600_000;
/** Long enough ago that a process which is not heard of is taken for dead. */
const LONG_AGO = () => new Date(Date.now() - 60_000);

let stack: Stack;
let api: Api;
let client: MongoClient;
let db: Db;

beforeAll(async () => {
  stack = await startStack({ env: REPAIRING_OFTEN });
  api = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  db = client.db();
  await makeTable(api, { name: "shelves", columns: [{ name: "name", type: "string" }] });
  await makeTable(api, {
    name: "items",
    columns: [
      { name: "title", type: "string" },
      { name: "slug", type: "string", unique: true },
    ],
    relations: [
      { name: "shelf", type: "many-to-one", table: "shelves", inverse: "items" },
      { name: "box", type: "one-to-one", table: "shelves", inverse: "content" },
      { name: "holds", type: "many-to-one", table: "shelves", inverse: "holders", onDelete: "RESTRICT" },
    ],
  });
  await makeTable(api, { name: "numbered", idType: "int", columns: [{ name: "title", type: "string" }] });
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const json = (body: unknown, headers = {}) => ({
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", ...headers },
});
const patch = (id: string, body: unknown, headers = {}): Promise<Answer> =>
  api.send("PATCH", `/items/${id}`, json(body, headers));
/** Tables of the system are no records, and have their names for ids. */
const tableId = async (name: string): Promise<string> =>
  (await api.get("/svc_table", { filter: { name }, fields: "id" })).body.data[0]?.id ?? name;
const shelvesNamed = (prefix: string): Promise<Row[]> =>
  valuesOf(api, "shelves", "name", { name: { _starts_with: prefix } });

describe("of changes that make a record as well and name the same version", () => {
  it(
    "one passes and stays, and the others leave nothing",
    async () => {
      const { id } = await make(api, "items", { title: "first" });
      for (let round = 0; round < ROUNDS; round += 1) {
        const tag = (await api.get(`/items/${id}`)).headers.get("etag") ?? "none";
        const body = (at: number) => ({ title: `${round}.${at}`, shelf: { name: `${round}.${at}` } });
        const answers = await atOnce(8, (at) => patch(id, body(at), { "If-Match": tag }));
        expect(tally(answers)).toEqual({ 200: 1, 412: 7 });
        const winner = answers.find(({ status }) => status === 200)?.body.data[0].title;
        const { body: now } = await api.get(`/items/${id}`, { fields: "title,shelf.name" });
        expect(now.data[0]).toMatchObject({ title: winner, shelf: { name: winner } });
        expect(await shelvesNamed(`${round}.`)).toEqual([winner]);
      }
    },
    LONG,
  );
});

describe("a change that is refused for a value that another record has", () => {
  it(
    "does not take back what somebody else has written to the same record in the same moment",
    async () => {
      await make(api, "items", { slug: "taken" });
      const shelf = (await make(api, "shelves", { name: "a shelf" })).id;
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id } = await make(api, "items", { title: "first" });
        const refused = () => patch(id, { title: "refused", slug: "taken", shelf });
        const answers = await atOnce(8, (at) => (at === 3 ? patch(id, { title: "passed" }) : refused()));
        expect(tally(answers)).toEqual({ 200: 1, 409: 7 });
        expect((await read(api, "items", id)).title).toBe("passed");
      }
    },
    LONG,
  );
});

describe("a change of a record and of what links to it, which is refused", () => {
  it("changes nothing where the record links to itself", async () => {
    await makeTable(api, {
      name: "nodes",
      columns: [
        { name: "name", type: "string" },
        { name: "place", type: "int" },
      ],
      relations: [{ name: "parent", type: "many-to-one", table: "nodes", inverse: "children" }],
      uniques: [["parent", "place"]],
    });
    const [x, y] = [
      await make(api, "nodes", { name: "x", place: 1 }),
      await make(api, "nodes", { name: "y" }),
    ];
    await api.patch(`/nodes/${y.id}`, { place: 1 });
    const { status } = await api.patch(`/nodes/${x.id}`, { name: "new", children: [x.id, y.id] });
    const { body } = await api.get("/nodes", { fields: "name,parent.id", sort: "id" });
    expect([status, body.data]).toEqual([
      409,
      [
        { name: "x", parent: null },
        { name: "y", parent: null },
      ],
    ]);
  });
});

describe("a create that is refused for its number", () => {
  it(
    "leaves the record alone that another program has given the number to",
    async () => {
      const numbered = db.collection<{ _id: number; title: string }>("numbered");
      const theirs: number[] = [];
      let isOver = false;
      const otherProgram = async (): Promise<void> => {
        while (!isOver) {
          const last = await numbered.findOne({}, { sort: { _id: -1 } });
          const _id = (last?._id ?? 0) + 1;
          const done = await numbered.insertOne({ _id, title: "theirs" }).catch(() => undefined);
          if (done !== undefined) theirs.push(_id);
        }
      };
      const other = otherProgram();
      const answers: Answer[] = [];
      const isRefused = () => answers.some(({ status }) => status === 409);
      // On until the other program was first at least once.
      for (let round = 0; round < ROUNDS / 2 || (!isRefused() && round < 20 * ROUNDS); round += 1)
        answers.push(...(await atOnce(4, () => api.post("/numbered", { title: "ours" }))));
      isOver = true;
      await other;
      const made = answers.filter(({ status }) => status === 201).length;
      expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
      expect(theirs).not.toHaveLength(0);
      expect(made).toBeLessThan(answers.length);
      expect(await numbered.countDocuments({ _id: { $in: theirs }, title: "theirs" })).toBe(theirs.length);
      expect(await numbered.countDocuments({ title: "ours" })).toBe(made);
    },
    LONG,
  );
});

describe("of many records that are linked at once in a table that tells of its changes", () => {
  it(
    "none is linked after the refusal of one",
    async () => {
      await makeTable(api, { name: "threads", columns: [{ name: "name", type: "string" }] });
      await makeTable(api, {
        name: "replies",
        changes: true,
        columns: [
          { name: "place", type: "int" },
          { name: "text", type: "string" },
        ],
        uniques: [["thread", "place"]],
        relations: [{ name: "thread", type: "many-to-one", table: "threads", inverse: "replies" }],
      });
      for (let round = 0; round < ROUNDS; round += 1) {
        const [from, to] = [await make(api, "threads", {}), await make(api, "threads", {})];
        await make(api, "replies", { thread: to.id, place: 0 });
        const bodies = Array.from({ length: 8 }, (_, place) => ({ thread: from.id, place }));
        const replies = (await api.post("/replies", bodies)).body.data.map(({ id }: Row) => id);
        // Others change them meanwhile, so that they are linked one later than the other.
        const others = atOnce(24, (at) => api.patch(`/replies/${replies[at % 8]}`, { text: `${at}` }));
        const { status } = await api.patch(`/threads/${to.id}`, { replies });
        await others;
        expect(status).toBe(409);
        const { body } = await api.get("/replies", { filter: { thread: from.id }, fields: "id", limit: "0" });
        expect(body.data).toHaveLength(8);
      }
    },
    LONG,
  );
});

describe("what a dead process has left", () => {
  /** Notes steps as a process does that dies afterwards. */
  const leave = async (...steps: object[]): Promise<void> => {
    await db.collection("_unfinished").insertOne({ instance: "a dead process", at: LONG_AGO(), steps });
  };
  const settled = (left: number): Promise<number> =>
    until(
      () => unfinishedIn(db),
      (count) => count <= left,
    );
  /** A step that has changed a record: what it was before, and what the change says of itself. */
  async function changed(id: string, set: object, { name = "items", moved = {} } = {}) {
    const items = db.collection<{ _record_version: number; updatedAt: Date }>(name);
    const by = new ObjectId();
    const names = ["_record_noted", ...Object.keys(moved).map((field) => `_moved_${field}`)];
    const named = { $set: Object.fromEntries(names.map((field) => [field, by])) };
    const document = await items.findOneAndUpdate({ _id: new ObjectId(id) }, named);
    if (document === null) throw new Error(`no ${name} ${id}`);
    const { _record_version: version, updatedAt: at } = document;
    const which = { kind: "changed", table: await tableId(name), id: new ObjectId(id) };
    const own = { by, at, set: { ...set, ...moved }, unset: names, lists: {} };
    return { ...which, changes: version - 1, moves: 0, ...own };
  }

  it("is taken back without the values that others have by now", async () => {
    const { id } = await make(api, "items", { title: "before", slug: "was mine" });
    await patch(id, { title: "half", slug: "half" });
    const step = await changed(id, { title: "before", slug: "was mine" });
    await make(api, "items", { slug: "was mine" });
    await leave(step);
    await settled(0);
    expect(await read(api, "items", id)).toMatchObject({ title: "before", slug: "half" });
  });

  it("puts no folder into one that lies in it by now", async () => {
    const outer = (await make(api, "svc_folder", { name: "outer" })).id;
    const inner = (await make(api, "svc_folder", { name: "inner", parent: outer })).id;
    const move = (id: string, parent: string | null): Promise<Answer> =>
      api.send("PATCH", `/svc_folder/${id}`, json({ parent }));
    await move(inner, null);
    const moved = { parentId: new ObjectId(outer) };
    const step = await changed(inner, { name: "before" }, { name: "svc_folder", moved });
    await move(outer, inner);
    await leave(step);
    await settled(0);
    const { body } = await api.get("/svc_folder", { fields: "name,parent.name", sort: "name" });
    expect(body.data).toMatchObject([
      { name: "inner", parent: null },
      { name: "outer", parent: { name: "inner" } },
    ]);
  });

  it("takes no new record back to which others have linked what would go along with it", async () => {
    const columns = [{ name: "name", type: "string" }];
    for (const softDelete of [false, true]) {
      const [albums, photos] = [`albums_${softDelete}`, `photos_${softDelete}`];
      await makeTable(api, { name: albums, softDelete, columns });
      const relations = [{ name: "album", type: "many-to-one", table: albums, onDelete: "CASCADE" }];
      await makeTable(api, { name: photos, softDelete: true, columns, relations });
      const album = (await make(api, albums, { name: "half" })).id;
      const photo = (await make(api, photos, { name: "theirs", album })).id;
      await leave({ kind: "made", table: await tableId(albums), ids: [new ObjectId(String(album))] });
      await settled(0);
      expect(await read(api, photos, photo, "album.name")).toMatchObject({ album: { name: "half" } });
    }
  });

  it.each([
    { whose: "a dead process", isLiving: false, ageMs: 20_000, when: "before its minute is over" },
    { whose: "a living one", isLiving: true, ageMs: 61_000, when: "after its minute" },
  ])(
    "of a delete of $whose that is done is a link that was made beside it, and is let go of $when",
    async ({ isLiving, ageMs }) => {
      const [gone, at] = [new ObjectId(), new Date(Date.now() - ageMs)];
      const { id } = await make(api, "items", { title: "linked" });
      const linked = { _id: new ObjectId(String(id)) };
      await db.collection("items").updateOne(linked, { $set: { shelfId: gone } });
      const living = await db.collection<{ _id: string }>("_instances").findOne();
      const instance = isLiving ? living?._id : "a dead process";
      const note = { instance, at, group: new ObjectId(), ids: [gone] };
      const done = {
        table: await tableId("shelves"),
        judged: true,
        first: true,
        permanent: false,
        done: true,
      };
      await db.collection("_deletes").insertOne({ ...note, ...done });
      await until(
        () => db.collection("items").findOne(linked),
        (item) => (item?.shelfId ?? null) === null,
      );
      expect(await read(api, "items", id, "shelf")).toEqual({ shelf: null });
    },
  );

  it("of thousands of deletes that are done are links to what went, which are let go of together", async () => {
    const [table, at] = [await tableId("shelves"), new Date(Date.now() - 61_000)];
    const gone = Array.from({ length: 5_000 }, () => new ObjectId());
    const { id } = await make(api, "items", { title: "linked to the last one" });
    const linked = { _id: new ObjectId(String(id)) };
    await db.collection("items").updateOne(linked, { $set: { shelfId: gone.at(-1) } });
    const note = { instance: "another", at, table, judged: true, first: true, permanent: false, done: true };
    const notes = gone.map((each) => ({ ...note, group: new ObjectId(), ids: [each] }));
    await db.collection("_deletes").insertMany(notes);
    const left = () => db.collection("_deletes").countDocuments({ ids: { $in: gone } });
    expect(await until(left, (count) => count === 0, 15_000)).toBe(0);
    expect(await read(api, "items", id, "shelf")).toEqual({ shelf: null });
  });

  it("is worked off in a deleted table once that comes back", async () => {
    const columns = [{ name: "name", type: "string" }];
    const parent = { name: "parent", type: "many-to-one", table: "crates", onDelete: "RESTRICT" };
    const { id: table } = await makeTable(api, { name: "crates", columns, relations: [parent] });
    const [going, half] = [
      (await make(api, "crates", { name: "going" })).id,
      (await make(api, "crates", { name: "half" })).id,
    ];
    await deleteConfirmed(api, table);
    const group = new ObjectId();
    const _id = new ObjectId(String(going));
    const marked = { $set: { _leaving_for: { [group.toHexString()]: true } } };
    await db.collection("crates").updateOne({ _id }, marked);
    const note = { instance: "a dead process", at: LONG_AGO(), group, ids: [_id] };
    const begun = { ...note, table, judged: false, first: true, permanent: false, done: false };
    await db.collection("_deletes").insertOne(begun);
    await leave({ kind: "made", table, ids: [new ObjectId(String(half))] });
    // Whatever is noted after these is looked at after them.
    const { id: shelf } = await make(api, "shelves", { name: "to be taken back" });
    await leave({ kind: "made", table: await tableId("shelves"), ids: [new ObjectId(String(shelf))] });
    await settled(1);
    expect((await api.send("POST", `/svc_table/${table}/undo`)).status).toBe(200);
    await settled(0);
    await until(
      () => db.collection("_deletes").countDocuments({ group }),
      (count) => count === 0,
    );
    expect(await valuesOf(api, "crates", "name")).toEqual(["going"]);
    expect((await api.patch(`/crates/${going}`, { name: "stays" })).status).toBe(200);
  });

  it("of a create that its Idempotency-Key knows to be whole goes, also in a deleted table", async () => {
    const { id: table } = await makeTable(api, { name: "jars", columns: [{ name: "name", type: "string" }] });
    const jars = json([{ name: "a" }, { name: "b" }], { "Idempotency-Key": randomUUID() });
    const made = (await api.send("POST", "/jars", jars)).body.data;
    const ids = made.map(({ id }: Row) => new ObjectId(String(id)));
    const entry = await db.collection("_once").findOne({ ids });
    await deleteConfirmed(api, table);
    const once = { key: entry?._id, owner: entry?.owner };
    const steps = [{ kind: "made", table, ids }];
    await db.collection("_unfinished").insertOne({ instance: "a dead process", at: LONG_AGO(), once, steps });
    await settled(0);
    // As a week later.
    await db.collection("_once").deleteOne({ ids });
    expect((await api.send("POST", `/svc_table/${table}/undo`)).status).toBe(200);
    expect((await api.get("/jars")).body.data).toHaveLength(2);
  });

  it.each([
    ["is sent again", "jugs", {}],
    ["is used again after a day", "cans", { until: new Date(0) }],
  ])("in a deleted table waits for it, also where its Idempotency-Key %s", async (_when, name, expired) => {
    const { id: table } = await makeTable(api, { name, columns: [{ name: "name", type: "string" }] });
    const half = new ObjectId(String((await make(api, name, { name: "half" })).id));
    await deleteConfirmed(api, table);
    const items = json({ title: "beside a jug" }, { "Idempotency-Key": randomUUID() });
    const made = (await api.send("POST", "/items", items)).body.data[0].id;
    const died = { $set: { leaseUntil: new Date(0), ...expired }, $unset: { done: "", ids: "" } } as const;
    const entry = await db.collection("_once").findOneAndUpdate({ ids: new ObjectId(String(made)) }, died);
    const once = { key: entry?._id, owner: entry?.owner };
    const steps = [{ kind: "made", table, ids: [half] }];
    await db.collection("_unfinished").insertOne({ instance: "a dead process", at: LONG_AGO(), once, steps });
    expect((await api.send("POST", "/items", items)).status).toBe(201);
    expect((await api.send("POST", `/svc_table/${table}/undo`)).status).toBe(200);
    await settled(0);
    expect((await api.get(`/${name}`)).body.data).toEqual([]);
  });

  it("takes away no record of another program that has the number of a new one", async () => {
    const { id } = await make(api, "numbered", { title: "theirs" });
    await leave({ kind: "made", table: await tableId("numbered"), ids: [id], at: LONG_AGO() });
    await settled(0);
    expect((await read(api, "numbered", id)).title).toBe("theirs");
  });

  it("is taken back but for changes that an earlier version has noted, which nobody knows again", async () => {
    const { id } = await make(api, "items", { title: "as it is" });
    const shelf = (await make(api, "shelves", { name: "half" })).id;
    const table = await tableId("items");
    const former = { version: 0, at: LONG_AGO(), set: { title: "before" }, unset: ["slug"] };
    await leave(
      { kind: "made", table: await tableId("shelves"), ids: [new ObjectId(String(shelf))] },
      { kind: "changed", table, id: new ObjectId(String(id)), ...former },
    );
    await settled(0);
    expect(await read(api, "shelves", shelf)).toBeUndefined();
    expect((await read(api, "items", id)).title).toBe("as it is");
  });

  it("is taken back in all its other steps where others have taken one", async () => {
    const shelf = (await make(api, "shelves", { name: "left by it" })).id;
    const holder = (await make(api, "shelves", { name: "wanted" })).id;
    const { id } = await make(api, "items", { title: "lost the box" });
    const by = new ObjectId();
    await db.collection("items").updateOne({ _id: new ObjectId(id) }, { $set: { _moved_boxId: by } });
    await make(api, "items", { title: "has the box", box: holder });
    await leave(
      { kind: "made", table: await tableId("shelves"), ids: [new ObjectId(shelf)] },
      {
        kind: "linked",
        table: await tableId("items"),
        field: "boxId",
        list: false,
        to: { table: await tableId("shelves"), id: new ObjectId(holder) },
        by,
        gained: [],
        lost: [{ id: new ObjectId(id), before: new ObjectId(holder), by: null }],
      },
    );
    await settled(0);
    expect(await read(api, "shelves", shelf)).toBeUndefined();
    const { body } = await api.get("/items", { filter: { box: holder }, fields: "title" });
    expect(body.data).toEqual([{ title: "has the box" }]);
  });

  describe.each([
    ["can be without its link", false],
    ["can't be without its link", true],
  ])("where a record was moved to a new one, and %s", (_words, required) => {
    const [owners, passports] = [`owners_${required}`, `passports_${required}`];

    it("and its former place is taken: it is not deleted with the new one", async () => {
      await makeTable(api, { name: owners, columns: [{ name: "name", type: "string" }] });
      const link = { name: "owner", type: "one-to-one", table: owners, inverse: "passport" };
      const relations = [{ ...link, onDelete: "CASCADE", required }];
      const columns = [{ name: "name", type: "string" }];
      await makeTable(api, { name: passports, softDelete: true, columns, relations });
      const former = (await make(api, owners, { name: "former" })).id;
      const made = (await make(api, owners, { name: "made" })).id;
      const { id } = await make(api, passports, { name: "moved", owner: made });
      const by = new ObjectId();
      await db
        .collection(passports)
        .updateOne({ _id: new ObjectId(String(id)) }, { $set: { _moved_ownerId: by } });
      await make(api, passports, { name: "new", owner: former });
      const to = { table: await tableId(owners), id: new ObjectId(String(made)) };
      const gained = [{ id: new ObjectId(String(id)), before: new ObjectId(String(former)), by: null }];
      const table = await tableId(passports);
      await leave(
        { kind: "made", table: to.table, ids: [to.id] },
        { kind: "linked", table, field: "ownerId", list: false, to, by, gained, lost: [] },
      );
      await settled(0);
      const { body } = await api.get(`/${passports}`, { fields: "name,owner.name", sort: "name" });
      expect(body.data).toMatchObject([
        { name: "moved", owner: required ? { name: "made" } : null },
        { name: "new", owner: { name: "former" } },
      ]);
      expect((await read(api, owners, made)) === undefined).toBe(!required);
    });
  });

  it("leaves records where they are rather than nowhere, whose former ones are taken or gone", async () => {
    const column = { name: "name", type: "string" };
    await makeTable(api, { name: "drawers", columns: [column] });
    const link = { name: "drawer", type: "many-to-one", table: "drawers", inverse: "papers" };
    const relations = [{ ...link, onDelete: "CASCADE", required: true }];
    await makeTable(api, { name: "papers", columns: [column], relations, uniques: [["drawer", "name"]] });
    const [taken, gone, made] = await Promise.all(
      ["taken", "gone", "made"].map(async (name) => new ObjectId((await make(api, "drawers", { name })).id)),
    );
    for (const name of ["x", "y"]) await make(api, "papers", { name, drawer: String(made) });
    const by = new ObjectId();
    const papers = db.collection("papers");
    await papers.updateMany({}, { $set: { _moved_drawerId: by } });
    const moved = await papers.find().sort({ name: 1 }).toArray();
    await make(api, "papers", { name: "x", drawer: String(taken) });
    await api.delete(`/drawers/${String(gone)}`);
    const to = { table: await tableId("drawers"), id: made };
    const gained = moved.map(({ _id: id }, at) => ({ id, before: at === 0 ? taken : gone, by: null }));
    const table = await tableId("papers");
    await leave(
      { kind: "made", table: to.table, ids: [made] },
      { kind: "linked", table, field: "drawerId", list: false, to, by, gained, lost: [] },
    );
    await settled(0);
    const left = await papers
      .find({ _id: { $in: moved.map(({ _id }) => _id) } })
      .sort({ name: 1 })
      .toArray();
    expect(left.map(({ drawerId }) => drawerId ?? null)).toEqual([made, made]);
    expect(await read(api, "drawers", String(made))).toMatchObject({ name: "made" });
  });

  it("goes but for the one that others hold by now", async () => {
    const shelves = await Promise.all(
      ["a", "b", "c"].map((of) => make(api, "shelves", { name: `batch ${of}` })),
    );
    await make(api, "items", { title: "holds b", holds: shelves[1]?.id });
    const ids = shelves.map(({ id }) => new ObjectId(String(id)));
    await leave({ kind: "made", table: await tableId("shelves"), ids });
    await settled(0);
    expect(await shelvesNamed("batch ")).toEqual(["batch b"]);
  });

  it("never did its change: the one that another request has made instead stays", async () => {
    const { id } = await make(api, "items", { title: "before" });
    await patch(id, { title: "somebody else's" });
    const step = await changed(id, { title: "before" });
    await leave({ ...step, by: new ObjectId() });
    await settled(0);
    expect((await read(api, "items", id)).title).toBe("somebody else's");
  });

  it("and can't be taken back yet keeps nothing else waiting, nor a start", async () => {
    await leave({ kind: "nobody knows it", table: await tableId("items"), ids: "no list" });
    const shelf = (await make(api, "shelves", { name: "left by it" })).id;
    await leave({ kind: "made", table: await tableId("shelves"), ids: [new ObjectId(shelf)] });
    await stack.dataService.stop();
    await stack.restartDataService();
    await settled(1);
    expect(await read(api, "shelves", shelf)).toBeUndefined();
    await db.collection("_unfinished").deleteMany({});
  });
});
