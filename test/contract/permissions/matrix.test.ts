// Roles x roads x what is kept from them: every cell asserted. A column that is kept from a role is refused in the very
// words for a name that does not exist, a row with the very answer for an id that does not exist.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin, search, signIn } from "../../support/api.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";
import { COLUMN_ROADS, DESCRIPTIONS, ROLES, ROW_ROADS, type Role, type World } from "./matrix-world.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const NOBODY = "f".repeat(24);
const VALUES = { salary: 10, secret: "s10" } as const;
const COLUMNS = ["salary", "secret"] as const;

let stack: Stack;
let admin: Api;
let callers: Readonly<Record<Role["caller"], Api>>;
let annsRole: string;
let world: World;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTables();
  annsRole = (await make(admin, "svc_role", { name: "Writer" })).id;
  await make(admin, "svc_user", { ...ANN, role: annsRole });
  await allowAll(admin, ["teams", "remarks"], null);
  const api = `${stack.appUrl}/api`;
  const user = await signIn(api, ANN);
  const { body } = await user.post("/auth/api-tokens", { name: "t", expiresAt: "never", readOnly: true });
  const token = apiOf(api, { Authorization: `Bearer ${body.data[0].token}` });
  callers = { anonymous: apiOf(api), user, token, root: admin };
  const [red, blue] = [
    await make(admin, "teams", { name: "red" }),
    await make(admin, "teams", { name: "blue" }),
  ];
  world = { red: red.id, blue: blue.id, ...(await makeNotes(red.id, blue.id)) };
});

afterAll(() => stack.stop());

async function makeTables(): Promise<void> {
  await makeTable(admin, { name: "teams", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "notes",
    columns: [
      { name: "title", type: "string" },
      { name: "status", type: "string" },
      { name: "salary", type: "int" },
      { name: "secret", type: "string", hidden: true },
    ],
    relations: [{ name: "team", type: "many-to-one", table: "teams", inverse: "notes" }],
  });
  await makeTable(admin, {
    name: "remarks",
    columns: [{ name: "text", type: "string" }],
    relations: [{ name: "note", type: "many-to-one", table: "notes" }],
  });
}

async function makeNotes(red: string, blue: string): Promise<{ seen: string; unseen: string }> {
  const seen = await make(admin, "notes", { title: "seen", status: "open", ...VALUES, team: red });
  const done = { title: "unseen", status: "done", salary: 20, secret: "s20", team: blue };
  const unseen = await make(admin, "notes", done);
  for (const note of [seen.id, unseen.id]) await make(admin, "remarks", { text: "about", note });
  return { seen: seen.id, unseen: unseen.id };
}

let hasWritten = false;

/** What a road that writes has changed is made undone. */
async function restore(): Promise<void> {
  if (!hasWritten) return;
  hasWritten = false;
  const { status } = await admin.get(`/notes/${world.unseen}`);
  if (status === 404) await recreateUnseen();
  await admin.patch(`/notes/${world.unseen}`, { title: "unseen", team: world.blue });
  await admin.patch(`/notes/${world.seen}`, { ...VALUES, team: world.red });
  await admin.send("DELETE", `/remarks${search({ filter: { text: "linked" } })}`);
  await admin.send("DELETE", `/notes${search({ filter: { title: "made" } })}`);
}

async function recreateUnseen(): Promise<void> {
  const note = { title: "unseen", status: "done", salary: 20, secret: "s20", team: world.blue };
  const { id } = await make(admin, "notes", note);
  const { body } = await admin.get("/remarks", { filter: { note: { _is_null: true } } });
  await admin.patch(`/remarks/${body.data[0].id}`, { note: id });
  world = { ...world, unseen: id };
}

const said = ({ status, body }: Answer): string => JSON.stringify([status, body.message]);
const isDone = ({ status }: Answer): boolean => status === 200 || status === 201;

describe.each(ROLES.map((role) => [role.name, role] as const))("%s", (_, role) => {
  const caller = () => callers[role.caller];
  const rules: string[] = [];

  beforeAll(async () => {
    for (const { filter, fields, ...ofAll } of role.rules)
      for (const [action, part] of Object.entries({
        read: { filter, fields },
        create: { fields },
        update: { ...(role.writesAll ? {} : { filter }), fields },
        delete: role.writesAll ? {} : { filter },
      })) {
        const rule = { role: annsRole, table: "notes", action, ...ofAll, ...part };
        rules.push((await make(admin, "svc_permission", rule)).id);
      }
  });

  afterEach(restore);
  afterAll(() => Promise.all(rules.map((id) => admin.delete(`/svc_permission/${id}`))));

  /** For those who may not come in at all, or may not write. @returns undefined when the door is open */
  function refusalAtTheDoor(road: { door: string; writes?: boolean }): (answer: Answer) => void {
    if (role.caller === "token" && road.writes) return ({ status }) => expect(status).toBe(403);
    if (role.door !== undefined && road.door === "notes")
      return ({ status }) => expect(status).toBe(role.door);
    return () => {
      throw new Error("the door is open");
    };
  }

  const isShut = ({ door, writes = false }: { door: string; writes?: boolean }): boolean =>
    (role.caller === "token" && writes) || (role.door !== undefined && door === "notes");

  describe.each(COLUMNS)("the column %s", (column) => {
    const right = role[column];
    for (const road of COLUMN_ROADS) {
      const at = { door: road.door, writes: road.need === "written" || road.writes === true };
      const ask = (name: string) => {
        hasWritten ||= at.writes;
        return road.ask(caller(), name, VALUES[column], world);
      };
      if (isShut(at)) it(`${road.name}: not let in`, async () => refusalAtTheDoor(at)(await ask(column)));
      else if (role.door !== undefined)
        it(`${road.name}: the relation is unknown`, async () => {
          const answer = await ask(column);
          expect(said(answer)).toMatch(/^\[400,.*(unknown (field|relation) .{1,2}note|note: unknown field)/);
        });
      else if (right[road.need])
        it(`${road.name}: open`, async () => {
          const answer = await ask(column);
          expect([isDone(answer), answer.body.message]).toEqual([true, expect.any(String)]);
          if (road.answersWith === "value")
            expect(JSON.stringify(answer.body.data)).toContain(JSON.stringify(VALUES[column]));
        });
      else if (right.shown && road.need === "compared")
        it(`${road.name}: not by what some rows alone show`, async () => {
          const refused = /^\[400,.*of .{1,2}notes.{1,2} is shown in some rows only, so it can't be filtered/;
          expect(said(await ask(column))).toMatch(refused);
        });
      else
        it(`${road.name}: unknown`, async () => {
          const [answer, absent] = [await ask(column), await ask("nosuch")];
          expect(answer.status).toBe(400);
          expect(said(answer).replaceAll(column, "nosuch")).toBe(said(absent));
        });
    }
  });

  describe.each(COLUMNS)("the column %s is told of", (column) => {
    const isKnown = role[column].shown || role[column].written;
    for (const { name, ask, column: named } of DESCRIPTIONS)
      it(`${name}: ${isKnown ? "yes" : "no"}`, async () => {
        expect(named(column).test(JSON.stringify((await ask(caller())).body))).toBe(isKnown);
      });
  });

  describe("a row outside of the rules", () => {
    for (const road of ROW_ROADS) {
      const ask = (id: string) => {
        hasWritten ||= road.writes ?? false;
        return road.ask(caller(), id, world);
      };
      if (isShut(road))
        it(`${road.name}: not let in`, async () => refusalAtTheDoor(road)(await ask(world.unseen)));
      else if (role.door !== undefined)
        it(`${road.name}: the relation is unknown`, async () => {
          expect(said(await ask(world.unseen))).toMatch(
            /^\[400,.*unknown (field|relation)|\[400,.*note.*unknown/,
          );
        });
      else if (role.row)
        it(`${road.name}: open`, async () => {
          const answer = await ask(world.unseen);
          expect([isDone(answer), answer.body.message]).toEqual([true, expect.any(String)]);
          expect(road.tells?.(answer.body) ?? true).toBe(true);
        });
      else
        it(`${road.name}: as if it were not there`, async () => {
          const [answer, absent] = [await ask(world.unseen), await ask(NOBODY)];
          expect(said(answer).replaceAll(world.unseen, NOBODY)).toBe(said(absent));
          if (isDone(answer)) expect(road.tells?.(answer.body)).toBe(false);
          expect(Object.keys(await unseenRow()).length).toBeGreaterThan(0);
        });
    }
  });

  async function unseenRow(): Promise<Row> {
    const { body } = await admin.get(`/notes/${world.unseen}`, { fields: "title,status,salary,secret,team" });
    expect(body.data).toEqual([
      { title: "unseen", status: "done", salary: 20, secret: "s20", team: { id: world.blue } },
    ]);
    return body.data[0];
  }
});
