// What the audit log says of a change of a user.
import { describe, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import { buildCatalog } from "../catalog/build-catalog.js";
import { requireField } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";
import { systemTables } from "../catalog/system-tables.js";
import { type AccountEvent, accountEvents } from "./account-events.js";

const found = buildCatalog(0, [], systemTables("svc_")).tables.get("svc_user");
if (found === undefined) throw new Error("no table of users");
const users = found;
const [EDITORS, AUTHORS] = [new ObjectId(), new ObjectId()];

type Members = Readonly<Record<string, Stored | null>>;

/** @param written null takes a value away */
function eventsOf(before: Members, written: Members): AccountEvent[] {
  const fields = Object.entries(written).map(([name, value]) => ({
    field: requireField(users, name),
    value,
  }));
  const set = fields.flatMap(({ field, value }): [string, Stored][] =>
    value === null ? [] : [[field, value]],
  );
  const unset = fields.flatMap(({ field, value }) => (value === null ? [field] : []));
  const stored = Object.entries(before).map(([name, value]) => [requireField(users, name), value]);
  return accountEvents({
    table: users,
    before: Object.fromEntries(stored),
    written: { set: new Map(set), unset, columns: new Map() },
  });
}

describe("a changed account", () => {
  it.each<[string, Members, Members, AccountEvent]>([
    ["a password", {}, { password: "$argon2id$new" }, { event: "password.changed" }],
    ["no password any more", {}, { password: null }, { event: "password.changed" }],
    ["another address", { email: "a@x.io" }, { email: "b@x.io" }, { event: "email.changed" }],
    ["a role", {}, { role: EDITORS }, { event: "role.changed", details: { role: String(EDITORS) } }],
    [
      "another role",
      { role: EDITORS },
      { role: AUTHORS },
      { event: "role.changed", details: { role: String(AUTHORS) } },
    ],
    [
      "no role any more",
      { role: EDITORS },
      { role: null },
      { event: "role.changed", details: { role: "null" } },
    ],
    [
      "all power",
      { isRootAdmin: false },
      { isRootAdmin: true },
      { event: "role.changed", details: { isRootAdmin: "true" } },
    ],
    ["been switched on", { isActive: false }, { isActive: true }, { event: "user.activated" }],
    ["been switched off", { isActive: true }, { isActive: false }, { event: "user.deactivated" }],
  ])("that has got %s is told of", (_name, before, written, event) => {
    expect(eventsOf(before, written)).toEqual([event]);
  });

  it("has one event for its role and its power together, and one for each other thing", () => {
    const before = { email: "a@x.io", isRootAdmin: true, isActive: true };
    const written = { email: "b@x.io", role: EDITORS, isRootAdmin: false, isActive: false, password: "new" };
    expect(eventsOf(before, written)).toEqual([
      { event: "password.changed" },
      { event: "email.changed" },
      { event: "role.changed", details: { role: String(EDITORS), isRootAdmin: "false" } },
      { event: "user.deactivated" },
    ]);
  });

  it("is not told of where a form sends along what stays as it is", () => {
    const same = { email: "a@x.io", role: EDITORS, isRootAdmin: false, isActive: true };
    expect(eventsOf(same, { ...same, name: "Ann" })).toEqual([]);
    expect(eventsOf({}, { role: null })).toEqual([]);
  });
});
