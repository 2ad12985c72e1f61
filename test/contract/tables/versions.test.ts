// Contract 5 and 6: a table that was changed since it was read is not changed from the old list: ETag and If-Match.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, makeTable, type Row, tally } from "../records/make.js";
import { columnsWith, patchConfirmed } from "./change.js";

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await client.close();
  await stack.stop();
});

let count = 0;
const definition = (): Row => {
  count += 1;
  return { name: `t${count}`, columns: [{ name: "a", type: "string" }] };
};
const made = (): Promise<Row> => makeTable(admin, definition());
const tagOf = ({ headers }: Answer): string => headers.get("etag") ?? "none";
const get = (id: string): Promise<Answer> => admin.get(`/svc_table/${id}`);
const patch = (id: string, body: object, tag: string, query = ""): Promise<Answer> =>
  admin.send("PATCH", `/svc_table/${id}${query}`, {
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "If-Match": tag },
  });
const remove = (id: string, tag: string): Promise<Answer> =>
  admin.send("DELETE", `/svc_table/${id}`, { headers: { "If-Match": tag } });
const undo = (id: string, tag: string): Promise<Answer> =>
  admin.send("POST", `/svc_table/${id}/undo`, { headers: { "If-Match": tag } });
const columnsNow = async (id: string): Promise<string[]> =>
  (await get(id)).body.data[0].columns.map(({ name }: Row) => name);
const withColumn = (table: Row, name: string) => ({ columns: [...table.columns, { name, type: "int" }] });
const outcome = ({ status, body }: Answer) => [status, body.error?.code];

describe("If-Match on svc_table", () => {
  it("keeps the column that somebody else has added since the table was read", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    expect((await admin.patch(`/svc_table/${table.id}`, withColumn(table, "b"))).status).toBe(200);
    const late = await patch(table.id, { columns: columnsWith(table, "a", { name: "c" }) }, tag);
    expect([...outcome(late), late.body.message]).toEqual([
      ...[412, "PRECONDITION_FAILED"],
      expect.stringMatching(/svc_table.*changed since/),
    ]);
    expect(await columnsNow(table.id)).toEqual(["a", "b"]);
  });

  it("takes the ETag of a POST, of a GET and of the PATCH before", async () => {
    const posted = await admin.post("/svc_table", definition());
    const [table] = posted.body.data;
    const first = await patch(table.id, { description: "one" }, tagOf(posted));
    expect(first.status).toBe(200);
    const second = await patch(table.id, { description: "two" }, tagOf(first));
    expect(second.status).toBe(200);
    expect(outcome(await patch(table.id, { description: "three" }, tagOf(first)))).toEqual([
      ...[412, "PRECONDITION_FAILED"],
    ]);
    expect((await patch(table.id, { description: "four" }, tagOf(await get(table.id)))).status).toBe(200);
  });

  it("lets one of ten changes at the same moment pass", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    const answers = await atOnce(10, (at) => patch(table.id, withColumn(table, `b${at}`), tag));
    expect(tally(answers)).toEqual({ 200: 1, 412: 9 });
    expect((await columnsNow(table.id)).length).toBe(2);
  });

  it("is judged before what a change would cost, and whether it would change anything", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    await admin.post(`/${table.name}`, { a: "x" });
    await admin.patch(`/svc_table/${table.id}`, { description: "new" });
    expect((await patch(table.id, { columns: [] }, tag)).status).toBe(412);
    expect((await patch(table.id, {}, tag)).status).toBe(412);
    expect((await patch(table.id, { columns: [{ name: "" }] }, tag)).status).toBe(412);
  });

  it("holds for a confirmed change as well", async () => {
    const table = await made();
    await admin.post(`/${table.name}`, { a: "x" });
    const tag = tagOf(await get(table.id));
    const refused = await patch(table.id, { columns: [] }, tag);
    expect(refused.status).toBe(409);
    const confirm = `?confirm=${refused.body.error.details.confirmHash}`;
    expect((await patch(table.id, { columns: [] }, tag, confirm)).status).toBe(200);
    expect((await patch(table.id, { columns: [] }, tag, confirm)).status).toBe(412);
  });

  it("lets a table be deleted as it was read alone, and come back as another version", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    const changed = await admin.patch(`/svc_table/${table.id}`, { description: "new" });
    expect(outcome(await remove(table.id, tag))).toEqual([412, "PRECONDITION_FAILED"]);
    expect((await remove(table.id, tagOf(changed))).status).toBe(200);
    expect((await remove(table.id, tagOf(changed))).status).toBe(404);
    const back = await admin.post(`/svc_table/${table.id}/undo`);
    expect((await patch(table.id, {}, tagOf(changed))).status).toBe(412);
    expect((await patch(table.id, {}, tagOf(back))).status).toBe(200);
  });

  it("keeps a second undo from going on to the change before", async () => {
    const table = await made();
    await admin.post(`/${table.name}`, { a: "x" });
    await patchConfirmed(admin, table.id, { columns: [] });
    const tag = tagOf(await get(table.id));
    expect(outcome(await undo(table.id, '"1-x"'))).toEqual([412, "PRECONDITION_FAILED"]);
    const answers = [await undo(table.id, tag), await undo(table.id, tag)];
    expect(answers.map(outcome)).toEqual([
      [200, undefined],
      [412, "PRECONDITION_FAILED"],
    ]);
    expect(await columnsNow(table.id)).toEqual(["a"]);
  });

  it("of an undo is of a table that is there: one that is deleted has no version", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    expect((await remove(table.id, tag)).status).toBe(200);
    expect(outcome(await undo(table.id, tag))).toEqual([412, "PRECONDITION_FAILED"]);
    expect((await admin.post(`/svc_table/${table.id}/undo`)).status).toBe(200);
  });

  it("does not mind how far a change has come, nor records that were written", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    await admin.post(`/${table.name}`, { a: "x" });
    const change = { id: "0".repeat(24), state: "failed", done: 1, total: 2, startedAt: new Date() };
    const _id = ObjectId.createFromHexString(table.id);
    await client.db().collection("svc_table").updateOne({ _id }, { $set: { change } });
    expect((await get(table.id)).body.data[0].change.state).toBe("failed");
    expect((await patch(table.id, { description: "new" }, tag)).status).toBe(200);
  });

  it("minds a new name of a table that it leads to, which is in its own definition", async () => {
    const target = await made();
    const relations = [{ name: "to", type: "many-to-one", table: target.name }];
    const table = await makeTable(admin, { ...definition(), relations });
    const tag = tagOf(await get(table.id));
    await admin.patch(`/svc_table/${target.id}`, { name: `${target.name}_renamed` });
    expect((await patch(table.id, { description: "new" }, tag)).status).toBe(412);
  });

  it("reads *, lists of ETags and weak ones as for records, and is 404 where there is no table", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    expect((await patch(table.id, { description: "1" }, `"99-x", ${tag}`)).status).toBe(200);
    expect((await patch(table.id, { description: "2" }, "*")).status).toBe(200);
    expect((await patch(table.id, {}, `W/${tagOf(await get(table.id))}`)).status).toBe(412);
    expect((await patch(table.id, {}, "no quotes")).status).toBe(400);
    for (const id of ["0".repeat(24), table.name, "svc_user", "nothing"]) {
      expect([id, (await patch(id, {}, tag)).status]).toEqual([id, 404]);
      expect([id, (await remove(id, tag)).status]).toEqual([id, 404]);
    }
  });

  it("answers a GET with 304 while the table is what it was", async () => {
    const table = await made();
    const tag = tagOf(await get(table.id));
    const again = (): Promise<Answer> =>
      admin.send("GET", `/svc_table/${table.id}`, { headers: { "If-None-Match": tag } });
    expect((await again()).status).toBe(304);
    await admin.patch(`/svc_table/${table.id}`, { description: "new" });
    expect((await again()).status).toBe(200);
  });
});
