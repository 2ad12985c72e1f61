// A change that is taken back: the record is what it would be had there never been one, whatever has become of its links
// meanwhile, and whether it has been deleted.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Db, Decimal128, type Document, ObjectId } from "mongodb";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Table } from "../../catalog/catalog.js";
import { bareColumn, bareRelation, bareTable } from "../../catalog/definition-fixture.js";
import { DELETED_FIELD, DELETION_FIELD } from "../../catalog/soft-delete.js";
import { CountStore } from "../../mongo/count-store.js";
import { openTestDatabase, type TestDatabase } from "../../mongo/database-fixture.js";
import { RecordStore } from "../../mongo/record-store.js";
import { markDeleted } from "../delete/kept.js";
import { CountedWrites, type FieldChange } from "../derived/counted-writes.js";
import { atVersion, versionOf } from "../version.js";
import { atChanges, changesOf, formerFields, formerProjectionOf } from "./former-fields.js";
import { named, noteFields } from "./note-fields.js";
import type { ChangedStep } from "./steps.js";

const catalog = buildCatalog(
  1,
  [
    bareTable("homes", { idType: "int" }),
    bareTable("cats", {
      idType: "int",
      softDelete: true,
      columns: [bareColumn("name")],
      relations: [
        bareRelation("home", "homes", { counted: true, inverse: "cats" }),
        bareRelation("visits", "homes", { type: "many-to-many" }),
      ],
      storage: { collection: "cats", fields: { name: "name", home: "homeId", visits: "visitIds" } },
    }),
  ],
  [],
);

/** The one whose change is taken back, and the one that never had it. */
const [CHANGED, NEVER] = [1, 2];
const BOTH = { _id: { $in: [CHANGED, NEVER] } };
const AT = new Date("2026-01-01T00:00:00Z");

type Links = { readonly home?: number; readonly visits: readonly number[] };

/** What others do meanwhile. */
type Deed =
  | { readonly kind: "move" | "add" | "take" | "sweep"; readonly home: number }
  | { readonly kind: "delete" }
  | { readonly kind: "change" };

const oneOf = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
/** Homes 5 to 7 and 9 are the former ones, 4, 6, 7 and 8 the new ones, 1 to 3 those of others; 8 and 9 get lost. */
const former = fc.record(
  { home: oneOf(5, 9), visits: fc.subarray([5, 6, 7, 9]) },
  { requiredKeys: ["visits"] },
);
const next = fc.record(
  { home: oneOf(4, 8), visits: fc.subarray([4, 6, 7, 8]) },
  { requiredKeys: ["visits"] },
);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ kind: oneOf("move" as const, "add" as const), home: oneOf(1, 2, 3) }),
  fc.record({ kind: oneOf("take" as const), home: oneOf(1, 2, 3) }),
  fc.record({ kind: oneOf("sweep" as const), home: oneOf(8, 9) }),
  fc.record({ kind: oneOf("delete" as const) }),
  fc.record({ kind: oneOf("change" as const) }),
);

describe("a change that is taken back", () => {
  let database: TestDatabase;
  let db: Db;
  let cats: Table;
  let store: RecordStore;
  let writes: CountedWrites;

  beforeAll(async () => {
    database = await openTestDatabase();
    db = database.db;
    const table = catalog.tables.get("cats");
    if (table === undefined) throw new Error("no table");
    cats = table;
    store = new RecordStore(database, 10_000);
    writes = new CountedWrites(store, new CountStore(db, false, "one", () => AT));
  });

  afterAll(() => database.close());

  const fieldsOf = ({ home, visits }: Links): FieldChange => ({
    set: {
      ...(home === undefined ? {} : { homeId: home }),
      ...(visits.length === 0 ? {} : { visitIds: [...visits] }),
    },
    unset: [...(home === undefined ? ["homeId"] : []), ...(visits.length === 0 ? ["visitIds"] : [])],
  });

  /** Changes a record so that it can be taken back. */
  async function change(id: number, name: string, links: Links): Promise<ChangedStep> {
    const { set, unset } = fieldsOf(links);
    return noted(id, { set: { ...set, name, updatedAt: new Date() }, unset });
  }

  async function noted(id: number, change: FieldChange): Promise<ChangedStep> {
    const wanted = named(cats, change);
    const log = { note: async () => {}, drop: () => {} };
    const note = await noteFields({ store }, cats, id, wanted, log);
    if (note === undefined) throw new Error("no record");
    await writes.update(cats, id, wanted.change, { condition: atVersion([note.version]) });
    return note.step;
  }

  async function takeBack(step: ChangedStep): Promise<void> {
    const [now] = await store.read(cats, [
      { $match: { _id: step.id } },
      { $project: formerProjectionOf(step) },
    ]);
    const back = now && formerFields(cats, step, now);
    if (now === undefined || back === undefined) return;
    await writes.update(cats, step.id, back, { condition: atVersion([versionOf(now)]) });
  }

  async function act(done: Deed): Promise<void> {
    if (done.kind === "delete")
      return void (await markDeleted({ writes }, cats, [CHANGED, NEVER], {
        id: new ObjectId(),
        at: new Date(),
      }));
    if (done.kind === "change") {
      // Another request, which is refused as well, and comes first with taking back.
      for (const id of [CHANGED, NEVER]) await takeBack(await change(id, "third", { home: 3, visits: [2] }));
      return;
    }
    const { kind, home } = done;
    if (kind === "move") await writes.moveLink(cats, "homeId", BOTH, home, new ObjectId());
    if (kind === "add") await writes.addToList(cats, "visitIds", BOTH, home);
    if (kind === "take") await writes.takeFromList(cats, "visitIds", BOTH, [home]);
    if (kind === "sweep") {
      await writes.moveLink(cats, "homeId", { homeId: home }, null);
      await writes.takeFromList(cats, "visitIds", {}, [home]);
    }
  }

  /** A record without what counts its changes, and without links to what is not there any more. */
  async function left(id: number, gone: readonly number[]) {
    const found = await db.collection<Document>("cats").findOne({ _id: id } as Document);
    if (found === null) throw new Error("no record");
    const { _id, _record_version, _record_moves, _moved_homeId, homeId, visitIds = [], ...rest } = found;
    const visits = visitIds.filter((home: number) => !gone.includes(home)).toSorted();
    return {
      ...rest,
      home: gone.includes(homeId) ? null : (homeId ?? null),
      visits,
      changes: changesOf(found),
    };
  }

  it("leaves the record as if it had never been, whatever others do to its links", async () => {
    const property = fc.asyncProperty(
      former,
      next,
      fc.array(deed, { maxLength: 6 }),
      async (before, after, deeds) => {
        await db.collection("cats").deleteMany({});
        const { set } = fieldsOf(before);
        for (const id of [CHANGED, NEVER])
          await store.insert(cats, [{ _id: id, name: "old", createdAt: AT, updatedAt: AT, ...set }]);
        const step = await change(CHANGED, "new", after);
        for (const each of deeds) await act(each);
        await takeBack(step);
        const gone = deeds.flatMap((each) => (each.kind === "sweep" ? [each.home] : []));
        expect(await left(CHANGED, gone)).toEqual(await left(NEVER, gone));
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  it("changes nothing when it is taken back once more", async () => {
    await db.collection("cats").deleteMany({});
    await store.insert(cats, [{ _id: CHANGED, name: "old", createdAt: AT, updatedAt: AT, homeId: 5 }]);
    const step = await change(CHANGED, "new", { home: 4, visits: [4] });
    await takeBack(step);
    const once = await db.collection("cats").findOne({});
    await takeBack(step);
    expect(await db.collection("cats").findOne({})).toEqual(once);
  });

  it("deletes no record again that was restored, and that others have linked since", async () => {
    await db.collection("cats").deleteMany({});
    const deleted = { [DELETED_FIELD]: AT, [DELETION_FIELD]: new ObjectId() };
    await store.insert(cats, [{ _id: CHANGED, name: "old", createdAt: AT, updatedAt: AT, ...deleted }]);
    const wanted = { set: { updatedAt: new Date() }, unset: [DELETED_FIELD, DELETION_FIELD] };
    const restored = await noted(CHANGED, wanted);
    await takeBack(restored);
    expect(await db.collection("cats").findOne({})).toMatchObject(deleted);
    const again = await noted(CHANGED, wanted);
    await writes.moveLink(cats, "homeId", { _id: CHANGED }, 1, new ObjectId());
    await takeBack(again);
    expect((await db.collection("cats").findOne({}))?.[DELETED_FIELD]).toBe(undefined);
  });

  it("deletes a record again that was restored, and whose links have been let go of since", async () => {
    await db.collection("cats").deleteMany({});
    const deleted = { [DELETED_FIELD]: AT, [DELETION_FIELD]: new ObjectId() };
    const links = { homeId: 5, visitIds: [5, 6] };
    await store.insert(cats, [{ _id: CHANGED, createdAt: AT, updatedAt: AT, ...links, ...deleted }]);
    const restored = await noted(CHANGED, {
      set: { updatedAt: new Date() },
      unset: [DELETED_FIELD, DELETION_FIELD],
    });
    await writes.moveLink(cats, "homeId", { homeId: 5 }, null);
    await writes.takeFromList(cats, "visitIds", {}, [5]);
    await takeBack(restored);
    expect(await db.collection("cats").findOne({})).toMatchObject({ ...deleted, visitIds: [6] });
  });

  it("counts alike what is asked of the database and of what was read, whatever another program has written", async () => {
    const odd = ["x", [7], { of: 1 }, null, AT, Decimal128.fromString("3"), 2];
    const documents = odd.flatMap((count, at) => [
      { _id: at, _record_version: count },
      { _id: 10 + at, _record_version: 5, _record_moves: count },
    ]);
    await db.collection("cats").deleteMany({});
    await db.collection<Document>("cats").insertMany(documents as Document[]);
    for (const found of await db.collection("cats").find({}).toArray()) {
      const which = {
        $and: [{ _id: found._id }, atChanges(changesOf(found)), atVersion([versionOf(found)])],
      };
      expect(await db.collection("cats").findOne(which)).toEqual(found);
    }
  });

  it("leaves what another request has written to the record since", async () => {
    await db.collection("cats").deleteMany({});
    await store.insert(cats, [{ _id: CHANGED, name: "old", createdAt: AT, updatedAt: AT, homeId: 5 }]);
    const step = await change(CHANGED, "new", { home: 4, visits: [4] });
    const set = { name: "theirs", visitIds: [1], updatedAt: new Date() };
    await writes.update(cats, CHANGED, { set, unset: [] }, { condition: {} });
    await takeBack(step);
    const found = await db.collection("cats").findOne({});
    expect(found).toMatchObject({ name: "theirs", visitIds: [1], homeId: 5 });
  });
});
