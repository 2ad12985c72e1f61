// What writing a user means beyond its columns.
import { describe, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { systemTables } from "../catalog/system-tables.js";
import type { FieldsChanged } from "./table-hooks.js";
import { makeUserHooks } from "./user-hooks.js";

const ID = new ObjectId();
const { tables } = buildCatalog(0, [], systemTables("svc_"));

function tableOf(name: string): Table {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}

const users = tableOf("svc_user");

function hooks(isOtherLeft = false, providers: readonly string[] = [], isRootAdmin = true) {
  const forgotten: string[] = [];
  const cleared: string[] = [];
  const made = makeUserHooks({
    hash: async (password) => `hash of ${password}`,
    forgetUser: (id) => void forgotten.push(id),
    clearAway: async (id) => {
      cleared.push(id);
      throw new Error("the database is away");
    },
    emailOf: async (id) => `${id}@example.com`,
    isRootAdmin: async () => isRootAdmin,
    takeTurn: async () => isOtherLeft,
    hasProvider: async (id) => providers.includes(id),
    adminLock: (task) => task("ours"),
  });
  return { ...made, forgotten, cleared };
}

describe("a user's body", () => {
  it("has its e-mail trimmed and in lower case before it is checked", () => {
    expect(hooks().prepare({ email: " Ann@X.io ", name: " Ann " }, "create")).toEqual({
      email: "ann@x.io",
      name: " Ann ",
    });
  });

  it("stays as it is when its e-mail is no text, for the check to refuse", () => {
    for (const body of [{ email: 5 }, { email: null }, {}, [], null]) {
      expect(hooks().prepare(body, "update")).toBe(body);
    }
  });
});

describe("a stored value", () => {
  it("of a user's password is its hash, and of everything else itself", async () => {
    const { stored } = hooks();
    const [password, name] = [users.columns.get("password"), users.columns.get("name")];
    if (password === undefined || name === undefined) throw new Error("users have both");
    expect(await stored(password, "secret")).toBe("hash of secret");
    expect(await stored(name, "secret")).toBe("secret");
  });
});

const LOSSES: [string, FieldsChanged | null][] = [
  ["deleted", null],
  ["made ordinary", { set: new Map([["isRootAdmin", false]]), unset: [] }],
  ["deactivated", { set: new Map([["isActive", false]]), unset: [] }],
  ["left without a password", { set: new Map(), unset: ["passwordHash"] }],
];

describe("an ordinary user", () => {
  it.each(LOSSES)("can be %s without a turn, unless they are root admin by then", async (_name, change) => {
    const { changing } = hooks(false, [], false);
    const condition = await changing(users, ID, change, async (given) => given);
    expect(condition).toEqual({ isRootAdmin: { $ne: true } });
  });
});

describe("the last active root admin", () => {
  it.each(LOSSES)("can't be %s", async (_name, change) => {
    const act = async () => "done";
    await expect(hooks(false).changing(users, ID, change, act)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await hooks(true).changing(users, ID, change, act)).toBe("done");
  });

  it("can do without a password where a provider signs them in", async () => {
    const change = { set: new Map(), unset: ["passwordHash"] };
    const { changing } = hooks(false, [ID.toHexString()]);
    expect(await changing(users, ID, change, async () => "done")).toBe("done");
  });

  it("does without a password only in turn: who disconnects that provider must not see the password still", async () => {
    const change = { set: new Map(), unset: ["passwordHash"] };
    const { changing } = hooks(false, [ID.toHexString()]);
    expect(await changing(users, ID, change, async (turn) => turn)).toEqual({ _turn: "ours" });
  });

  it("can be renamed", async () => {
    const change = { set: new Map([["name", "Ann"]]), unset: [] };
    expect(await hooks(false).changing(users, ID, change, async () => "done")).toBe("done");
  });
});

describe("after a change", () => {
  it("the user is forgotten and what it ended cleared away, and nobody else; failing at that fails nothing", async () => {
    const { afterWrite, forgotten, cleared } = hooks();
    await afterWrite([ID]);
    await afterWrite([]);
    expect([forgotten, cleared]).toEqual([[ID.toHexString()], [ID.toHexString()]]);
  });
});

describe("a new epoch, which ends all sessions, is written alongside", () => {
  const change = (set: Record<string, string | boolean>, unset: string[] = []) =>
    hooks().alongside(users, { set: new Map(Object.entries(set)), unset });

  it.each([
    ["a new password", change({ passwordHash: "x" })],
    ["a password that is taken away", change({}, ["passwordHash"])],
    ["a deactivation", change({ isActive: false })],
  ])("%s", (_name, fields) => {
    expect(fields).toEqual({ sessionEpoch: expect.stringMatching(/^[\w-]{12}$/) });
  });

  it("and with nothing else", () => {
    expect(change({ name: "Ann", isActive: true, isRootAdmin: false }, ["roleId"])).toEqual({});
  });
});

describe("an address that breaks the rule for new ones", () => {
  it("is held by the user who has it, and by nobody else", async () => {
    const { tolerated } = hooks();
    expect(await tolerated("<b>", { email: "<b>@example.com", name: "Ann" })).toEqual({
      email: "<b>@example.com",
    });
    expect(await tolerated("bob", { email: "<b>@example.com" })).toEqual({});
  });

  it.each([[{ email: "ann@example.com" }], [{ email: 5 }], [{}], [[]], [null]])(
    "is not asked for with %j",
    async (body) => expect(await hooks().tolerated("ann", body)).toEqual({}),
  );
});

describe("an address that is set", () => {
  const plan = (set: Record<string, string>) => ({
    own: { set: new Map(Object.entries(set)), unset: ["roleId"], columns: new Map() },
    mustExist: [],
    foreign: [],
    ownLists: [],
  });
  const form = plan({ email: "ann@example.com", name: "Ann" });

  it("by others than root is marked as unproven: whoever proves it gets the account alone (security row B1)", () => {
    const marked = hooks().plan(users, form, false);
    expect(marked.own.set.get("emailUnproven")).toBe(true);
  });

  it("by root counts as proved", () => {
    expect(hooks().plan(users, form, true).own.unset).toEqual(["roleId", "emailUnproven"]);
  });

  it.each([true, false])("means nothing where none is (by root: %p)", (isRoot) => {
    const nameless = plan({ name: "Ann" });
    expect(hooks().plan(users, nameless, isRoot)).toBe(nameless);
  });

  it.each([true, false])(
    "is left out where it is the user's already, with its mark (by root: %p)",
    async (isRoot) => {
      const marked = hooks().plan(users, form, isRoot);
      const left = await hooks().withoutKnown(users, "ann", marked);
      expect([[...left.own.set], left.own.unset]).toEqual([[["name", "Ann"]], ["roleId"]]);
    },
  );

  it.each([true, false])("stays where it is another one (by root: %p)", async (isRoot) => {
    const marked = hooks().plan(users, form, isRoot);
    expect(await hooks().withoutKnown(users, "bob", marked)).toBe(marked);
  });
});
