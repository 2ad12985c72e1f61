// Every road of the matrix, asked for a record that is deleted and kept: for everybody, root admins included, it is as if it
// were not there.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable } from "../records/make.js";
import { ROW_ROADS, type World } from "./matrix-world.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const NOBODY = "f".repeat(24);

let stack: Stack;
let admin: Api;
let callers: Readonly<Record<string, Api>>;
let world: World;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTables();
  const api = `${stack.appUrl}/api`;
  const role = (await make(admin, "svc_role", { name: "Writer" })).id;
  await make(admin, "svc_user", { ...ANN, role });
  await allowAll(admin, ["teams", "notes", "remarks"], null);
  callers = { "a visitor": apiOf(api), "a user": await signIn(api, ANN), "a root admin": admin };
  const [red, blue] = [
    (await make(admin, "teams", { name: "red" })).id,
    (await make(admin, "teams", { name: "blue" })).id,
  ];
  const seen = (await make(admin, "notes", { title: "seen", team: red })).id;
  const unseen = (await make(admin, "notes", { title: "unseen", team: blue })).id;
  for (const note of [seen, unseen]) await make(admin, "remarks", { text: "about", note });
  expect((await admin.delete(`/notes/${unseen}`)).status).toBe(200);
  world = { red, blue, seen, unseen };
}, 180_000);

afterAll(() => stack.stop());

async function makeTables(): Promise<void> {
  await makeTable(admin, { name: "teams", columns: [{ name: "name", type: "string" }] });
  await makeTable(admin, {
    name: "notes",
    softDelete: true,
    columns: [{ name: "title", type: "string" }],
    relations: [{ name: "team", type: "many-to-one", table: "teams", inverse: "notes" }],
  });
  await makeTable(admin, {
    name: "remarks",
    columns: [{ name: "text", type: "string" }],
    relations: [{ name: "note", type: "many-to-one", table: "notes" }],
  });
}

const said = ({ status, body }: Answer): string => JSON.stringify([status, body.message]);

/** An import by root moves records with their links, whatever state their ends have. */
const isMove = (name: string, road: string): boolean =>
  name === "a root admin" && road === "a link in a line of an import";

describe.each(["a visitor", "a user", "a root admin"])("%s", (name) => {
  it.each(ROW_ROADS.filter((road) => !isMove(name, road.name)).map((road) => [road.name, road] as const))(
    "%s: as if it were not there",
    async (_, road) => {
      const ask = (id: string) => road.ask(callers[name] ?? admin, id, world);
      const [answer, absent] = [await ask(world.unseen), await ask(NOBODY)];
      expect(said(answer).replaceAll(world.unseen, NOBODY)).toBe(said(absent));
      if (answer.status < 300) expect(road.tells?.(answer.body)).toBe(false);
      const kept = await admin.get(`/notes/${world.unseen}`, { deleted: "only", fields: "title,team" });
      expect(kept.body.data).toEqual([{ title: "unseen", team: { id: world.blue } }]);
    },
  );
});

it("a root admin: a link in a line of an import is taken, and is none as long as the record is deleted", async () => {
  const road = ROW_ROADS.find((each) => isMove("a root admin", each.name));
  expect((await road?.ask(admin, world.unseen, world))?.status).toBe(200);
  const body = JSON.stringify({ text: "moved", note: world.unseen });
  const headers = { "Content-Type": "application/x-ndjson" };
  expect((await admin.send("POST", "/remarks/import", { body, headers })).status).toBe(200);
  const moved = await admin.get("/remarks", { filter: { text: "moved" } });
  expect(moved.body.data).toMatchObject([{ text: "moved", note: null }]);
  const linked = await admin.get("/remarks", { filter: { note: { id: world.unseen } } });
  expect(linked.body.data).toEqual([]);
});

it.each([
  ["read", false],
  ["update", false],
  ["delete", true],
])("the explanation of who may %s it says so", async (action, allowed) => {
  const question = { role: null, table: "notes", action, id: world.unseen };
  const [why] = (await admin.post("/svc_permission/explain", question)).body.data;
  expect([why.allowed, why.rules.map((rule: { matches: boolean }) => rule.matches)]).toEqual([
    allowed,
    [allowed],
  ]);
});
