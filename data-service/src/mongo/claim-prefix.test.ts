// Which SYSTEM_TABLE_PREFIX a database belongs to: that of its first start, or of what an earlier version has left there.
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { systemTableNames } from "../catalog/system-tables.js";
import { claimPrefix, hasStarted } from "./claim-prefix.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";

let database: TestDatabase;
beforeEach(async () => {
  database = await openTestDatabase();
});
afterEach(() => database.close());

const claim = (prefix: string) => claimPrefix(database.db, prefix);

/** As a start of an earlier version leaves it. */
async function started(prefix: string, tables: readonly string[] = []): Promise<void> {
  const { db } = database;
  const { tables: definitions, users, ...others } = systemTableNames(prefix);
  const names = [definitions, users, ...Object.values(others)];
  await Promise.all(names.map((name) => db.createCollection(name)));
  await db.collection(users).insertOne({ isRootAdmin: true });
  for (const name of tables) await db.collection(definitions).insertOne({ name });
  await db.collection("_signing_keys").insertOne({ x: "its public half" });
}

const belongsTo = (...prefixes: string[]) => ({
  problems: [
    expect.stringContaining(`set ${prefixes.map((each) => `SYSTEM_TABLE_PREFIX=${each}`).join(" or ")},`),
  ],
});

it("is that of the first start, whatever it has made", async () => {
  expect(await claim("app_")).toEqual([]);
  expect(await claim("app_")).toEqual([]);
  await expect(claim("svc_")).rejects.toMatchObject(belongsTo("app_"));
});

it("is one, where two first starts meet", async () => {
  const prefixes = Array.from({ length: 8 }, (_each, at) => `p${at}_`);
  const claims = await Promise.allSettled(prefixes.map(claim));
  const won = prefixes.filter((_prefix, at) => claims[at]?.status === "fulfilled");
  expect(won).toHaveLength(1);
  expect(claims.filter(({ status }) => status === "rejected")).toMatchObject(
    Array.from({ length: 7 }, () => ({ reason: belongsTo(...won) })),
  );
});

it("is that of an earlier version, which marked nothing", async () => {
  await started("app_");
  await expect(claim("svc_")).rejects.toMatchObject(belongsTo("app_"));
  expect(await claim("app_")).toEqual([]);
});

it("is not that of a start by mistake, whichever comes first now", async () => {
  await started("app_", ["orders"]);
  await started("svc_");
  await expect(claim("svc_")).rejects.toMatchObject(belongsTo("app_"));
  expect(await claim("app_")).toEqual([]);
});

it("is the one that comes first where an earlier version was used under two, which is told", async () => {
  await started("app_", ["orders"]);
  await started("svc_", ["orders"]);
  await expect(claim("own_")).rejects.toMatchObject(belongsTo("app_", "svc_"));
  expect(await claim("svc_")).toEqual(["app_"]);
  await expect(claim("app_")).rejects.toMatchObject(belongsTo("svc_"));
});

it("is not read from the tables of another program", async () => {
  const names = ["shop_table", "shop_role", "shop_user", "shop_permission"];
  for (const name of names) await database.db.createCollection(name);
  expect(await claim("svc_")).toEqual([]);
});

it("is claimed by nobody who only asks whether a service has started there", async () => {
  const { db } = database;
  expect(await hasStarted(db, "svc_")).toBe(false);
  await started("app_");
  expect(await hasStarted(db, "app_")).toBe(true);
  await expect(hasStarted(db, "svc_")).rejects.toMatchObject(belongsTo("app_"));
  expect(await db.collection("_markers").countDocuments()).toBe(0);
});
