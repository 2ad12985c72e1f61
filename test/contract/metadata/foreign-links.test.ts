// Links that lie in other tables' records: what describes the API offers of them what their rules let pass.
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";
import { checksOf, pointerTo } from "./schema-check.js";

jest.setTimeout(120_000);

/** What may be done with comments and covers, beside all with posts but to delete them. */
const CALLERS: Readonly<Record<string, readonly Row[]>> = {
  reader: [{ action: "read" }],
  maker: [{ action: "read" }, { action: "create" }],
  linker: [{ action: "read" }, { action: "update" }],
  editor: [{ action: "read" }, { action: "create" }, { action: "update" }],
  "keeper of a check": [{ action: "read" }, { action: "update", check: { text: { _neq: "bad" } } }],
  "keeper of a preset": [{ action: "read" }, { action: "update", presets: { text: "preset" } }],
  "writer of texts": [{ action: "read" }, { action: "create" }, { action: "update", fields: "text" }],
};

let stack: Stack;
let admin: Api;
const apis: Record<string, Api> = {};

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  await makeTable(admin, { name: "posts", columns: [{ name: "title", type: "string" }] });
  for (const [name, type, inverse] of [
    ["comments", "many-to-one", "comments"],
    ["covers", "one-to-one", "cover"],
  ]) {
    const columns = [{ name: "text", type: "string" }];
    await makeTable(admin, { name, columns, relations: [{ name: "post", type, table: "posts", inverse }] });
  }
  for (const [name, rules] of Object.entries(CALLERS)) apis[name] = await callerWith(name, rules);
});
afterAll(() => stack?.stop());

async function callerWith(name: string, rules: readonly Row[]): Promise<Api> {
  const { id: role } = await make(admin, "svc_role", { name });
  const credentials = { email: `${name.replaceAll(" ", "-")}@example.com`, password: "a long password" };
  await make(admin, "svc_user", { ...credentials, role });
  for (const action of ["read", "create", "update"])
    await make(admin, "svc_permission", { role, table: "posts", action });
  for (const rule of rules)
    for (const table of ["comments", "covers"]) await make(admin, "svc_permission", { role, table, ...rule });
  return signIn(`${stack.appUrl}/api`, credentials);
}

function apiOf(caller: string): Api {
  const api = apis[caller];
  if (api === undefined) throw new Error(caller);
  return api;
}

/** Bodies that set such links, in all forms. */
async function bodies(): Promise<readonly Row[]> {
  const comment = async () => (await make(admin, "comments", {})).id;
  const cover = async () => (await make(admin, "covers", {})).id;
  const created = { text: "new" };
  return [
    ...[{ comments: [] }, { comments: [await comment()] }, { comments: [{ id: await comment() }] }],
    ...[{ comments: [created] }, { comments: [created, await comment()] }],
    ...[{ cover: null }, { cover: await cover() }, { cover: { id: await cover() } }, { cover: created }],
  ];
}

describe.each(Object.keys(CALLERS))("to a %s", (caller) => {
  it.each(["create", "update"])("the document offers the links that pass for %s", async (action) => {
    const api = apiOf(caller);
    const check = checksOf((await api.get("/openapi.json")).body);
    const { id } = await make(admin, "posts", {});
    for (const body of await bodies()) {
      const { status } =
        action === "create" ? await api.post("/posts", body) : await api.patch(`/posts/${id}`, body);
      const isOffered = check(pointerTo("components", "schemas", `posts.${action}`), body).length === 0;
      expect([body, isOffered]).toEqual([body, status < 400]);
    }
  });
});

describe("of links that a caller may set in no form", () => {
  it("metadata and permissions say so", async () => {
    const told = async (caller: string): Promise<Row> => {
      const api = apiOf(caller);
      const { relations } = (await api.get("/metadata/posts")).body.data[0];
      const comments = relations.find(({ name }: Row) => name === "comments");
      const { data } = (await api.get("/me/permissions")).body;
      const { create, update } = data.find(({ table }: Row) => table === "posts");
      const isNamed = ({ fields }: Row): boolean => fields.includes("comments");
      return [comments.creatable, comments.updatable, isNamed(create), isNamed(update)];
    };
    expect([await told("reader"), await told("maker"), await told("linker")]).toEqual([
      [false, false, false, false],
      [true, false, true, false],
      [true, true, true, true],
    ]);
  });

  it("types have no member, and of those that only new records can bring no ids", async () => {
    const membersFor = async (caller: string): Promise<string[]> => {
      const text: string = (await apiOf(caller).get("/types.ts")).body;
      return (text.match(/^ +(?:comments|cover)\?: .*(?:Link<|Omit<).*$/gm) ?? []).map((line) => line.trim());
    };
    expect(await membersFor("reader")).toEqual([]);
    expect(await membersFor("maker")).toEqual([
      'comments?: readonly Omit<CreateOf<"comments">, "post">[];',
      'cover?: Omit<CreateOf<"covers">, "post">;',
    ]);
    const links = ["comments?: readonly Link<string>[];", "cover?: Link<string> | null;"];
    expect(await membersFor("linker")).toEqual([...links, ...links]);
  });
});
