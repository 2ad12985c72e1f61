// Contract 9: folders lie in folders, each name once, never in a circle.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, signIn } from "../../support/api.js";
import { type Cluster, startCluster } from "../../support/cluster.js";
import { keptIn, uploaded } from "../../support/files.js";
import { roleFor } from "../../support/rules.js";

const ANN = { email: "ann@example.com", password: "correct horse battery" };

let cluster: Cluster;
let database: MongoClient;
let admin: Api;
/** Root at another gateway and another data service. */
let other: Api;
let ann: Api;

beforeAll(async () => {
  cluster = await startCluster();
  database = await MongoClient.connect(cluster.mongodbUrl);
  const [first, second] = cluster.gateways.map(({ url }) => `${url}/api`);
  admin = await signIn(first ?? "", cluster.admin);
  other = await signIn(second ?? "", cluster.admin);
  const role = await roleFor(admin, "editor", ["svc_file", "svc_folder"]);
  await admin.post("/svc_user", { ...ANN, role });
  ann = await signIn(first ?? "", ANN);
});
afterAll(async () => {
  await database?.close();
  await cluster?.stop();
});

async function folder(name: string, parent: string | null = null, more: object = {}): Promise<string> {
  const { status, body } = await admin.post("/svc_folder", { name, parent, ...more });
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body.message)}`);
  return body.data[0].id;
}

describe("a folder", () => {
  test("has name, slug, parent and order; the slug follows from the name unless it is given", async () => {
    const parent = await folder("Été à la mer!");
    const { body } = await ann.post("/svc_folder", { name: "写真 2024", parent, order: 3 });
    expect(body.data[0]).toMatchObject({
      name: "写真 2024",
      slug: "写真-2024",
      order: 3,
      parent: { id: parent },
    });
    expect((await admin.get(`/svc_folder/${parent}`)).body.data[0]).toMatchObject({
      slug: "ete-a-la-mer",
      parent: null,
      order: 0,
    });
    const given = await ann.post("/svc_folder", { name: "Given", slug: "of-my-own" });
    expect(given.body.data[0].slug).toBe("of-my-own");
    const bad = await ann.post("/svc_folder", { name: "Bad", slug: "a/b" });
    expect(bad.body.message).toEqual([expect.stringMatching(/^slug: must match/)]);
    expect((await ann.post("/svc_folder", { name: "***" })).body.data[0].slug).toBe("folder");
  });

  test.each([
    ["Мои файлы", "Мой файлы"],
    ["カス", "ガス"],
    ["कम", "काम"],
  ])("named %j has another slug than %j, and may be given it", async (one, other) => {
    const parent = await folder(`${one} and ${other}`);
    const within = (more: object) => ann.post("/svc_folder", { parent, ...more });
    expect((await within({ name: one })).status).toBe(201);
    const made = await within({ name: other });
    expect(made.status).toBe(201);
    const { id, slug } = made.body.data[0];
    await ann.delete(`/svc_folder/${id}`);
    expect((await within({ name: "Given", slug })).status).toBe(201);
  });

  test("gets its slug from the service also by a rule that does not let it be written", async () => {
    const role = await roleFor(admin, "namer", []);
    const rules = [
      { role, table: "svc_folder", action: "read" },
      { role, table: "svc_folder", action: "create", fields: "name,parent" },
    ];
    expect((await admin.post("/svc_permission", rules)).status).toBe(201);
    const account = { email: "namer@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...account, role });
    const namer = await signIn(`${cluster.gateways[0]?.url}/api`, account);
    const made = await namer.post("/svc_folder", { name: "Made up" });
    expect([made.status, made.body.data?.[0]?.slug]).toEqual([201, "made-up"]);
    const given = await namer.post("/svc_folder", { name: "Other", slug: "given" });
    expect([given.status, given.body.message]).toEqual([400, ["slug: you may not write it"]]);
  });

  test("has its name and its slug for itself within its parent, at the top too", async () => {
    const [a, b] = [await folder("Unique A"), await folder("Unique B")];
    await folder("Same", a);
    await folder("Same", b);
    for (const parent of [a, null]) {
      const name = parent === null ? "Unique A" : "Same";
      const twice = await admin.post("/svc_folder", { name, slug: "another", parent });
      expect([twice.status, twice.body.error.details.fields]).toEqual([409, ["parent", "name"]]);
      const slug = parent === null ? "unique-a" : "same";
      expect((await admin.post("/svc_folder", { name: "Other", slug, parent })).status).toBe(409);
    }
    expect((await admin.patch(`/svc_folder/${b}`, { name: "Unique A" })).status).toBe(409);
  });

  test("made ten times at once over two instances, at the top: one is made", async () => {
    const tries = Array.from({ length: 10 }, (_, at) =>
      (at % 2 === 0 ? admin : other).post("/svc_folder", { name: "Race" }),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status).toSorted();
    expect(statuses).toEqual([201, ...Array(9).fill(409)]);
  });

  test("never lies in itself, directly or far below: 409, and nothing moves", async () => {
    const top = await folder("Circle");
    const middle = await folder("Middle", top);
    const low = await folder("Low", middle);
    for (const parent of [top, middle, low]) {
      const { status, body } = await admin.patch(`/svc_folder/${top}`, { parent });
      expect([status, body.message]).toEqual([409, "parent: a folder can't lie inside itself"]);
    }
    expect((await admin.get(`/svc_folder/${top}`)).body.data[0].parent).toBeNull();
    expect((await admin.patch(`/svc_folder/${low}`, { parent: top })).status).toBe(200);
    expect((await admin.patch(`/svc_folder/${low}`, { parent: null })).status).toBe(200);
  });

  test("tells nobody by its moves what lies in it unseen", async () => {
    const { id: role } = (await admin.post("/svc_role", { name: "mover" })).body.data[0];
    const filter = { name: { _starts_with: "Open" } };
    for (const action of ["read", "update"])
      await admin.post("/svc_permission", { role, table: "svc_folder", action, filter });
    const bob = { email: "bob@example.com", password: "bob's password" };
    await admin.post("/svc_user", { ...bob, role });
    const mover = await signIn(`${cluster.gateways[0]?.url}/api`, bob);
    const top = await folder("Open top");
    const inside = await folder("Secret inside", top);
    const outside = await folder("Secret outside");
    const move = async (parent: string) => {
      const { status, body } = await mover.patch(`/svc_folder/${top}`, { parent });
      return [status, String(body.message).replace(parent, "…")];
    };
    const unknown = await move("0123456789abcdef01234567");
    expect(unknown).toEqual([400, 'parent: there is no "svc_folder" record with the id …']);
    expect(await move(inside)).toEqual(unknown);
    expect(await move(outside)).toEqual(unknown);
    expect((await move(top))[0]).toBe(409);
  });

  test("two that are moved into each other at once, at two instances: one moves", async () => {
    for (let round = 0; round < 10; round += 1) {
      const [a, b] = [await folder(`Left ${round}`), await folder(`Right ${round}`)];
      const moves = await Promise.all([
        admin.patch(`/svc_folder/${a}`, { parent: b }),
        other.patch(`/svc_folder/${b}`, { parent: a }),
      ]);
      expect(moves.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    }
  });
});

describe("DELETE /svc_folder/{id}", () => {
  test("an empty one goes; one with a folder or a file is 409", async () => {
    const [top, full] = [await folder("Top"), await folder("Full")];
    await folder("Inner", top);
    await uploaded(admin, "x", "x.txt", { folder: full });
    for (const id of [top, full]) {
      const { status, body } = await admin.delete(`/svc_folder/${id}`);
      const wayOut = /; delete or move them first, or send \?recursive=true\.$/;
      expect([status, body.message]).toEqual([409, expect.stringMatching(wayOut)]);
    }
    expect((await admin.delete(`/svc_folder/${await folder("Empty")}`)).status).toBe(200);
  });

  test("?recursive=true takes along all folders and files below, and their bytes", async () => {
    const before = await keptIn(database);
    const top = await folder("Deep");
    const inner = await folder("Deeper", top);
    await uploaded(admin, "1", "1.txt", { folder: top });
    await uploaded(admin, "2", "2.txt", { folder: inner });
    await uploaded(admin, "3", "3.txt", { folder: await folder("Deepest", inner) });
    expect((await admin.delete(`/svc_folder/${top}?recursive=true`)).status).toBe(200);
    expect(await keptIn(database)).toEqual(before);
    const left = await admin.get("/svc_folder", { filter: { name: { _starts_with: "Deep" } } });
    expect(left.body.data).toEqual([]);
  });

  test("?recursive=true goes only when the caller may delete all of it: else 403, and nothing goes", async () => {
    const [role] = (await admin.post("/svc_role", { name: "own files" })).body.data;
    await admin.post("/svc_permission", [
      { role: role.id, table: "svc_folder", action: "read" },
      { role: role.id, table: "svc_folder", action: "delete" },
      { role: role.id, table: "svc_file", action: "delete", filter: { title: "mine" } },
    ]);
    const ben = { email: "ben@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...ben, role: role.id });
    const api = await signIn(`${cluster.gateways[0]?.url}/api`, ben);
    const top = await folder("Shared");
    await uploaded(admin, "1", "1.txt", { folder: top, title: "mine" });
    const { id } = await uploaded(admin, "2", "2.txt", { folder: top, title: "theirs" });
    expect((await api.delete(`/svc_folder/${top}?recursive=true`)).status).toBe(403);
    expect((await admin.get("/svc_file", { filter: { folder: top } })).body.data).toHaveLength(2);
    await admin.delete(`/svc_file/${id}`);
    expect((await api.delete(`/svc_folder/${top}?recursive=true`)).status).toBe(200);
  });

  test("?recursive=true takes along of what comes too late only what the caller may delete", async () => {
    const [role] = (await admin.post("/svc_role", { name: "own late files" })).body.data;
    await admin.post("/svc_permission", [
      { role: role.id, table: "svc_folder", action: "delete" },
      { role: role.id, table: "svc_file", action: "delete", filter: { title: "mine" } },
    ]);
    const eva = { email: "eva@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...eva, role: role.id });
    const api = await signIn(`${cluster.gateways[0]?.url}/api`, eva);
    // So deep that its delete takes a while.
    const path = [await folder("Level")];
    for (let level = 1; level < 40; level += 1) path.push(await folder(`Level ${level}`, path.at(-1)));
    const [top = "", deepest = ""] = [path[0], path.at(-1)];
    const mine = await uploaded(admin, "1", "1.txt", { title: "mine" });
    const theirs = await uploaded(admin, "2", "2.txt", { title: "theirs" });
    const gone = api.delete(`/svc_folder/${top}?recursive=true`);
    const folders = database.db().collection("svc_folder");
    while ((await folders.countDocuments({ _id: new ObjectId(deepest) })) > 0);
    const both = { _id: { $in: [mine, theirs].map(({ id }) => new ObjectId(id)) } };
    await database
      .db()
      .collection("svc_file")
      .updateMany(both, { $set: { folderId: new ObjectId(top) } });
    expect(await folders.countDocuments({ _id: new ObjectId(top) })).toBe(1);
    expect((await gone).status).toBe(200);
    const left = await admin.get("/svc_file", { filter: { id: { _in: [mine.id, theirs.id] } } });
    expect(left.body.data).toMatchObject([{ id: theirs.id, folder: null }]);
  });

  test("what a user's table forbids is asked before anything goes", async () => {
    const relation = { name: "sheet", type: "many-to-one", table: "svc_file", onDelete: "RESTRICT" };
    await admin.post("/svc_table", { name: "contracts", columns: [], relations: [relation] });
    const top = await folder("Legal");
    const { id } = await uploaded(admin, "1", "1.txt", { folder: top });
    await uploaded(admin, "2", "2.txt", { folder: top });
    await admin.post("/contracts", { sheet: id });
    expect((await admin.delete(`/svc_folder/${top}?recursive=true`)).status).toBe(409);
    expect((await admin.get("/svc_file", { filter: { folder: top } })).body.data).toHaveLength(2);
  });

  test("another value of recursive is 400", async () => {
    const id = await folder("Kept");
    expect((await admin.delete(`/svc_folder/${id}?recursive=yes`)).status).toBe(400);
    expect((await admin.delete(`/svc_folder/${id}?filter={}`)).status).toBe(400);
  });
});

describe("GET /svc_folder/tree", () => {
  let top: string;
  beforeAll(async () => {
    top = await folder("Tree", null, { order: -5 });
    await folder("B", top, { order: 1 });
    const first = await folder("A", top, { order: 2 });
    await folder("Z", top, { order: 1 });
    await folder("Leaf", first);
  });

  interface Node {
    readonly name: string;
    readonly children: readonly Node[];
  }

  test("nests, each level by order and then by name", async () => {
    const { status, body } = await ann.get("/svc_folder/tree");
    const [root] = body.data;
    const names = ({ name, children }: Node): unknown => [name, children.map(names)];
    expect([status, names(root)]).toEqual([
      200,
      [
        "Tree",
        [
          ["B", []],
          ["Z", []],
          ["A", [["Leaf", []]]],
        ],
      ],
    ]);
    expect(root).toMatchObject({ id: top, slug: "tree", order: -5, parent: null });
  });

  test("?flat=true gives the same order in one list, with depth", async () => {
    const { body } = await ann.get("/svc_folder/tree?flat=true");
    const rows = body.data
      .slice(0, 5)
      .map(({ name, depth }: { name: string; depth: number }) => [name, depth]);
    expect(rows).toEqual([
      ["Tree", 0],
      ["B", 1],
      ["Z", 1],
      ["A", 1],
      ["Leaf", 2],
    ]);
    expect((await ann.get("/svc_folder/tree?flat=maybe")).status).toBe(400);
  });

  test.each([
    ["/svc_folder/tree", "limit=1", "limit"],
    ["/svc_folder/tree", "recursive=true", "recursive"],
    ["/svc_folder", "flat=true", "flat"],
    ["/svc_folder", "from=2", "from"],
    ["/svc_folder", "confirm=x", "confirm"],
  ])("GET %s?%s is 400: it is for other calls", async (path, search, name) => {
    const { status, body } = await ann.get(`${path}?${search}`);
    expect([status, body.message]).toEqual([400, `${name}: does not apply to this call`]);
  });

  /** Puts so many folders into the database, each in the one before it, for as long as something is done. */
  async function withChain(count: number, act: () => Promise<void>): Promise<void> {
    const ids = Array.from({ length: count }, () => new ObjectId());
    const now = new Date();
    const documents = ids.map((_id, at) => ({
      _id,
      name: `Deep ${at}`,
      slug: `deep-${at}`,
      order: 0,
      createdAt: now,
      updatedAt: now,
      ...(at === 0 ? {} : { parentId: ids[at - 1] }),
    }));
    const folders = database.db().collection("svc_folder");
    await folders.insertMany(documents);
    try {
      await act();
    } finally {
      await folders.deleteMany({ _id: { $in: ids } });
    }
  }

  test("is there for everyone, however deep somebody has put folders into folders", async () => {
    await withChain(2_000, async () => {
      const flat = (await ann.get("/svc_folder/tree?flat=true")).body.data;
      expect(flat.find(({ name }: { name: string }) => name === "Deep 1999").depth).toBe(1_999);
      const { status, body } = await ann.get("/svc_folder/tree");
      expect([status, body.data[0].name]).toEqual([200, "Tree"]);
      const text = JSON.stringify(body.data);
      expect([text.includes('"Deep 99"'), text.includes('"Deep 100"')]).toEqual([true, false]);
    });
  });

  test("is refused where there are more than 20,000, with a word about lists", async () => {
    await withChain(20_001, async () => {
      const { status, body } = await ann.get("/svc_folder/tree");
      const remedy = 'list them by GET /svc_folder, such as those of one "parent"';
      const message = `There are more than 20000 folders, too many for a tree; ${remedy}.`;
      expect([status, body.message]).toEqual([400, message]);
    });
  });

  test("shows what the caller may see; whose parent is hidden stands at the top", async () => {
    const [role] = (await admin.post("/svc_role", { name: "leaves" })).body.data;
    const filter = { name: { _in: ["A", "Leaf"] } };
    await admin.post("/svc_permission", { role: role.id, table: "svc_folder", action: "read", filter });
    const eve = { email: "eve@example.com", password: "correct horse battery" };
    await admin.post("/svc_user", { ...eve, role: role.id });
    const api = await signIn(`${cluster.gateways[0]?.url}/api`, eve);
    const { body } = await api.get("/svc_folder/tree?flat=true");
    expect(body.data.map(({ name, depth }: { name: string; depth: number }) => [name, depth])).toEqual([
      ["A", 0],
      ["Leaf", 1],
    ]);
  });
});
