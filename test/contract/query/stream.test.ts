// limit=0 is a stream all the way: the database is asked for more only as fast as the client reads.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { sendRaw } from "../../gateway/support/raw-http.js";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { mostInSocket } from "../../support/process-facts.js";
import { openCursors, readSlowly, type SlowReader } from "../../support/slow-reader.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make } from "../records/make.js";
import { columnsWith, tableNamed } from "../tables/change.js";

const ROW_BYTES = 1_000;
/** Records that the rows belong to, in equal parts. */
const HEADS = 200;
const MEBIBYTE = 1024 * 1024;
/** What two services and four socket buffers may hold between the cursor and a client that does not read. */
const MOST_UNDER_WAY = 4 * MEBIBYTE + 2 * mostInSocket();
/** Far more than that. */
const ROWS = Math.ceil((MOST_UNDER_WAY + 36 * MEBIBYTE) / ROW_BYTES / HEADS) * HEADS;

describe("limit=0", () => {
  let stack: Stack;
  let client: MongoClient;
  let authorization: string;
  let reader: SlowReader | undefined;

  beforeAll(async () => {
    stack = await startStack();
    const root = await asAdmin(stack);
    await root.post("/svc_table", { name: "heads", idType: "int", columns: [] });
    await root.post("/svc_table", {
      name: "rows",
      idType: "int",
      softDelete: true,
      columns: [
        { name: "text", type: "text" },
        { name: "note", type: "string" },
      ],
      relations: [{ name: "head", type: "many-to-one", table: "heads", inverse: "rows" }],
    });
    client = await MongoClient.connect(stack.mongodbUrl);
    const heads = client.db().collection<{ _id: number }>("heads");
    await heads.insertMany(Array.from({ length: HEADS }, (_, at) => ({ _id: at })));
    const text = "x".repeat(ROW_BYTES);
    const rows = client.db().collection<{ _id: number; text: string; headId: number }>("rows");
    const row = (at: number) => ({ _id: at, text, headId: at % HEADS });
    for (let at = 0; at < ROWS; at += 5_000) {
      const length = Math.min(5_000, ROWS - at);
      await rows.insertMany(Array.from({ length }, (_, more) => row(at + more)));
    }
    const { body } = await root.post("/auth/login", stack.admin);
    authorization = `Bearer ${body.accessToken}`;
  });

  afterEach(() => reader?.leave());

  afterAll(async () => {
    await client?.close();
    await stack?.stop();
  });

  async function ask(path = "rows?limit=0&fields=text"): Promise<SlowReader> {
    const url = `${stack.appUrl}/api/${path}`;
    reader = await readSlowly(url, { Authorization: authorization });
    return reader;
  }

  /** Documents that have left the open cursor, once no more are leaving. While it is asked for more it is not seen. */
  async function fetchedAtRest(): Promise<number> {
    let before: number | undefined;
    for (;;) {
      const [now] = await openCursors(client);
      if (now !== undefined && now === before) return now;
      before = now;
      await delay(500);
    }
  }

  test("sends every record", async () => {
    const response = await fetch(`${stack.appUrl}/api/rows?limit=0&fields=id`, {
      headers: { Authorization: authorization },
    });
    const { data }: { data: { id: number }[] } = JSON.parse(await response.text());
    expect(data.length).toBe(ROWS);
    expect(data.every(({ id }, at) => id === at)).toBe(true);
  });

  test("goes to its end where its client wishes for a tunnel right behind it", async () => {
    const path = `/rows?limit=0&fields=id,text&filter=${encodeURIComponent('{"id":{"_lt":300}}')}`;
    const lines = [`GET ${path} HTTP/1.1`, "Host: localhost", `Authorization: ${authorization}`];
    const bytes = `${lines.join("\r\n")}\r\n\r\nCONNECT a:1 HTTP/1.1\r\n\r\n`;
    const answer = await sendRaw(stack.dataUrl, bytes, 2_000);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer.match(/"id":/g)).toHaveLength(300);
    expect(answer).toMatch(/\r\n0\r\n\r\n$/);
  });

  test("fetches little more than a client has read when it stops reading, and goes on when it reads again", async () => {
    const slow = await ask();
    await slow.readTo(MEBIBYTE);
    const fetched = await fetchedAtRest();
    expect(fetched * ROW_BYTES).toBeLessThan(MEBIBYTE + MOST_UNDER_WAY);
    await slow.readTo(30 * MEBIBYTE);
    expect(await fetchedAtRest()).toBeGreaterThan(fetched);
    expect(await slow.readAll()).toBeGreaterThan(ROWS * ROW_BYTES);
    expect(await openCursors(client)).toEqual([]);
  });

  test("of related records makes a stream of a list of few", async () => {
    const deep = JSON.stringify({ rows: { fields: "text", limit: 0 } });
    const slow = await ask(`heads?limit=${HEADS}&fields=id&deep=${encodeURIComponent(deep)}`);
    await slow.readTo(MEBIBYTE);
    expect(await fetchedAtRest()).toBeLessThan(HEADS);
    expect(await slow.readAll()).toBeGreaterThan(ROWS * ROW_BYTES);
  });

  test("ends in the database when the client goes away, whether it was reading or not", async () => {
    for (const rest of [true, false]) {
      const slow = await ask();
      await slow.readTo(MEBIBYTE);
      if (rest) await fetchedAtRest();
      slow.leave();
      await until(
        () => openCursors(client),
        ({ length }) => length === 0,
      );
    }
  });

  describe("of a signed-in user", () => {
    const ANN = { email: "ann@example.com", password: "ann's password" };
    /** What may pass until an answer that lasts is looked at again, and something for a busy machine. */
    const LOOKED_AT_MS = 4_500;
    let root: Api;
    let role: string;
    let user: string;
    let rule: string;
    let other: string;
    let deleting: string;

    beforeAll(async () => {
      root = await asAdmin(stack);
      role = (await make(root, "svc_role", { name: "reader" })).id;
      const another = await make(root, "svc_role", { name: "other" });
      user = (await make(root, "svc_user", { ...ANN, role })).id;
      const filter = { id: { _lt: 1_000_000 } };
      rule = (await make(root, "svc_permission", { role, table: "rows", action: "read", filter })).id;
      const presets = { note: "$user.name" };
      await make(root, "svc_permission", { role, table: "rows", action: "create", presets });
      deleting = (await make(root, "svc_permission", { role, table: "rows", action: "delete" })).id;
      const theirs = { role: another.id, table: "rows", action: "read" };
      other = (await make(root, "svc_permission", theirs)).id;
      const { body } = await root.post("/auth/login", ANN);
      authorization = `Bearer ${body.accessToken}`;
    });

    afterEach(() => changeColumn("text", { hidden: false }));

    const changeColumn = async (name: string, changes: object): Promise<Answer> => {
      const rows = await tableNamed(root, "rows");
      return root.patch(`/svc_table/${rows.id}`, { columns: columnsWith(rows, name, changes) });
    };

    test("breaks off at its end when a column of its table lies elsewhere by then", async () => {
      const slow = await ask();
      await slow.readTo(MEBIBYTE);
      expect((await changeColumn("note", { encrypted: true })).status).toBe(200);
      await expect(slow.readAll()).rejects.toThrow("aborted");
    });

    test("breaks off at its end when less may be read by then", async () => {
      const slow = await ask();
      await slow.readTo(MEBIBYTE);
      const narrower = { filter: { id: { _lt: 999_998 } } };
      expect((await root.patch(`/svc_permission/${rule}`, narrower)).status).toBe(200);
      await expect(slow.readAll()).rejects.toThrow("aborted");
    });

    test("breaks off when deleted records are in it and may be deleted no more", async () => {
      const slow = await ask("rows?limit=0&fields=text&deleted=with");
      await slow.readTo(MEBIBYTE);
      expect((await root.delete(`/svc_permission/${deleting}`)).status).toBe(200);
      await delay(LOOKED_AT_MS);
      await expect(slow.readAll()).rejects.toThrow("aborted");
    });

    test("goes on when nothing changes that it shows, or that says who may see it", async () => {
      const slow = await ask();
      await slow.readTo(MEBIBYTE);
      const answers = {
        "records may be deleted": await root.post("/svc_permission", {
          role,
          table: "rows",
          action: "delete",
        }),
        "others may read less": await root.delete(`/svc_permission/${other}`),
        "the user has another name, which no rule for reading names": await root.patch(`/svc_user/${user}`, {
          name: "Anna",
        }),
        "a column is hidden that it does not show": await changeColumn("note", { hidden: true }),
      };
      for (const [change, { status }] of Object.entries(answers))
        expect({ change, isMade: status < 300 }).toEqual({ change, isMade: true });
      await delay(LOOKED_AT_MS);
      expect(await slow.readAll()).toBeGreaterThan(ROWS * ROW_BYTES);
    });

    test.each<[string, () => Promise<Answer>]>([
      ["less may be read", () => root.patch(`/svc_permission/${rule}`, { filter: { id: { _lt: 999_999 } } })],
      ["a column is hidden that it shows", () => changeColumn("text", { hidden: true })],
      ["the session has ended", () => root.patch(`/svc_user/${user}`, { isActive: false })],
    ])("breaks off when %s", async (_word, change) => {
      const slow = await ask();
      await slow.readTo(MEBIBYTE);
      expect((await change()).status).toBeLessThan(300);
      await delay(LOOKED_AT_MS);
      await expect(slow.readAll()).rejects.toThrow("aborted");
    });
  });
});
