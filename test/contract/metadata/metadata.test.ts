// GET /metadata: the tables as the caller may know them.
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { makeTable, type Row } from "../records/make.js";
import { type Newsroom, openNewsroom } from "./newsroom.js";

jest.setTimeout(120_000);

let room: Newsroom;

beforeAll(async () => {
  room = await openNewsroom();
});
afterAll(() => room?.stack.stop());

const names = (members: readonly Row[]): string[] => members.map(({ name }) => name);
const member = ({ columns, relations }: Row, name: string): Row =>
  [...columns, ...relations].find((each) => each.name === name);

describe("GET /metadata", () => {
  it("lists the tables one may do anything with", async () => {
    const of = async (caller: Newsroom["root"]): Promise<string[]> =>
      names((await caller.get("/metadata")).body.data);
    expect(await of(room.root)).toEqual(
      expect.arrayContaining([
        "articles",
        "desks",
        "letters",
        "vaults",
        "svc_table",
        "svc_user",
        "svc_audit",
      ]),
    );
    expect((await of(room.writer)).toSorted()).toEqual(["articles", "desks", "letters"]);
    expect(await of(room.visitor)).toEqual(["letters"]);
  });

  it("takes none of our parameters", async () => {
    const { status, body } = await room.root.get("/metadata", { fields: "name" });
    expect([status, body.message]).toEqual([400, "fields: does not apply to this call"]);
  });

  it("tells of one's own rights by an API token that is read-only: reading alone", async () => {
    const made = await room.root.post("/auth/api-tokens", { name: "r", expiresAt: "never", readOnly: true });
    const response = await fetch(`${room.stack.appUrl}/api/metadata/articles`, {
      headers: { Authorization: `Bearer ${made.body.data[0].token}` },
    });
    const { data } = (await response.json()) as { data: Row[] };
    expect(data[0]?.actions).toEqual({ read: "all" });
    expect(names(data[0]?.columns)).not.toContain("password");
  });
});

describe("GET /metadata/{table}", () => {
  const read = async (caller: Newsroom["root"], table: string): Promise<Row> =>
    (await caller.get(`/metadata/${table}`)).body.data[0];

  it("says of each column what the table's definition says", async () => {
    const articles = await read(room.root, "articles");
    expect(articles).toMatchObject({
      name: "articles",
      description: "What the paper prints.",
      idType: "objectId",
      singleton: false,
      actions: { read: "all", create: true, update: "all", delete: "all" },
      uniques: [["title", "wages"]],
    });
    expect(member(articles, "price")).toEqual({
      name: "price",
      type: "decimal",
      description: "In euros. */ not code",
      required: false,
      unique: false,

      hidden: false,
      encrypted: false,
      searchable: false,
      readOnly: false,
      rules: { min: "0", max: "99.90" },
      shown: "always",
      comparable: true,
      creatable: true,
      updatable: true,
      sortable: true,
      operators: expect.arrayContaining(["_eq", "_between", "_is_null"]),
    });
    expect(member(articles, "status")).toMatchObject({
      options: { values: ["draft", "live"] },
      required: true,
    });
    expect(member(articles, "count")).toMatchObject({ default: 1, rules: { min: 0 } });
    expect(member(articles, "id")).toMatchObject({ readOnly: true, creatable: false });
    expect(member(articles, "sealed")).toMatchObject({ encrypted: true, sortable: false, operators: [] });
    expect(member(articles, "desk")).toEqual({
      name: "desk",
      type: "to-one",
      table: "desks",
      inverse: "articles",
      description: null,
      required: true,
      counted: false,
      onDelete: "RESTRICT",
      shown: "always",
      comparable: true,
      creatable: true,
      updatable: true,
    });
  });

  it("says what one may do with it, row by row and column by column", async () => {
    const articles = await read(room.writer, "articles");
    expect(articles.actions).toEqual({ read: "all", create: true, update: "some" });
    const of = (name: string): unknown[] => {
      const { shown, comparable, creatable, updatable } = member(articles, name);
      return [shown, comparable, creatable, updatable];
    };
    expect({ title: of("title"), date: of("a_date"), memo: of("memo") }).toEqual({
      title: ["always", true, true, true],
      date: ["in some rows", false, false, false],
      memo: ["never", false, true, false],
    });
  });

  it("leaves out what one may not know: columns, relations to unknown tables, keys over them", async () => {
    const { columns, relations, uniques } = await read(room.writer, "articles");
    const known = ["id", "title", "status", "topics", "price", "count", "a_date", "memo"];
    expect(names(columns).toSorted()).toEqual(known.toSorted());
    expect([names(relations), uniques]).toEqual([["desk", "sources"], []]);
  });

  it("answers 404 in the same words for a table one may not know and one that is not there", async () => {
    for (const table of ["vaults", "nothing"]) {
      const { status, body } = await room.writer.get(`/metadata/${table}`);
      expect([status, body.message]).toEqual([404, `There is no table "${table}".`]);
    }
  });

  it("names the table that was meant, of those that one may know", async () => {
    const told = async (caller: Newsroom["root"], path: string): Promise<unknown> =>
      (await caller.get(path)).body.message;
    for (const path of ["/metadata/leters", "/leters", "/leters/1"]) {
      expect(await told(room.visitor, path)).toBe('There is no table "leters"; did you mean "letters"?');
    }
    expect((await room.writer.post("/article", {})).body.message).toBe(
      'There is no table "article"; did you mean "articles"?',
    );
    expect(await told(room.writer, "/vault")).toBe('There is no table "vault".');
    expect(await told(room.root, "/vault")).toBe('There is no table "vault"; did you mean "vaults"?');
  });

  it("never tells of the password's column to those who can't write it", async () => {
    const users = await read(room.root, "svc_user");
    expect(member(users, "password")).toMatchObject({ shown: "never", comparable: false, creatable: true });
  });
});

describe("a change of what one may not know", () => {
  it("changes nothing in what describes the API", async () => {
    const seen = (): Promise<string[]> =>
      Promise.all(["/metadata", "/openapi.json", "/types.ts"].map((path) => textFor(room.writerToken, path)));
    const before = await seen();
    const { id } = (await room.root.get("/svc_table", { filter: { name: "articles" } })).body.data[0];
    const { columns } = (await room.root.get(`/svc_table/${id}`)).body.data[0];
    const change = { columns: [...columns, { name: "hush", type: "string" }], uniques: [["title", "hush"]] };
    expect((await room.root.patch(`/svc_table/${id}`, change)).status).toBe(200);
    await makeTable(room.root, {
      name: "silence",
      relations: [{ name: "desk", type: "many-to-one", table: "desks", inverse: "hushes", required: true }],
    });
    expect(await seen()).toEqual(before);
  });

  it("refuses nobody who asks meanwhile", async () => {
    const { id } = (await room.root.get("/svc_table", { filter: { name: "articles" } })).body.data[0];
    const headers = { Authorization: `Bearer ${room.writerToken}` };
    const paths = ["/metadata", "/metadata/articles", "/openapi.json", "/types.ts"];
    const seen = new Set<number>();
    for (let round = 0; round < 6; round += 1) {
      let isDone = false;
      const change = room.root.patch(`/svc_table/${id}`, { description: `${round}` }).finally(() => {
        isDone = true;
      });
      const ask = async (path: string): Promise<void> => {
        do seen.add((await fetch(`${room.stack.appUrl}/api${path}`, { headers })).status);
        while (!isDone);
      };
      await Promise.all(paths.map(ask));
      expect((await change).status).toBe(200);
    }
    expect([...seen]).toEqual([200]);
  });

  async function textFor(token: string, path: string): Promise<string> {
    const headers = { Authorization: `Bearer ${token}` };
    return (await fetch(`${room.stack.appUrl}/api${path}`, { headers })).text();
  }
});
