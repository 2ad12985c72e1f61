// Contract 5.4: the history of a record that is hidden from its reader, or replaced, between the look at the record and the
// look at its history. What came after the record that gave the right is not told.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { afterWrites, isReadOf, stopAt } from "../../support/command-proxy.js";
import { make, makeTable, type Row } from "../records/make.js";
import { filesOf } from "../transfer/files.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let visitor: Api;

const PUBLIC = { state: "public" };
const columns = ["state", "body"].map((name) => ({ name, type: "string" }));

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held } = system);
  visitor = apiOf(`${held.stack.appUrl}/api`);
  const rule = { role: null, action: "read" };
  await makeTable(api, { name: "notes", history: true, columns });
  await make(api, "svc_permission", { ...rule, table: "notes", filter: PUBLIC });
  await makeTable(api, { name: "cards", history: true, columns });
  await make(api, "svc_permission", { ...rule, table: "cards", fields: "state" });
  await make(api, "svc_permission", { ...rule, table: "cards", fields: "body", filter: PUBLIC });
});

afterEach(() => held.proxy.decide(() => "pass"));

afterAll(() => system?.stop());

/** Asks for a history as a visitor, and has something done once the record is read, and its history is not. */
async function historyDuring(table: string, { id }: Row, act: () => Promise<Answer>): Promise<Row> {
  const isHistory = afterWrites(isReadOf(table), isReadOf("_history"));
  const { answer, goOn } = await stopAt(held.proxy, isHistory, () =>
    visitor.get(`/${table}/${id}/history`, { meta: "totalCount" }),
  );
  expect((await act()).status).toBe(200);
  goOn();
  const { status, body } = await answer;
  expect(status).toBe(200);
  return { told: body.data.map(({ changes }: Row) => changes), total: body.meta.totalCount };
}

const hiding = { state: "private", body: "secret" };
const MADE = { state: { from: null, to: "public" }, body: { from: null, to: "open" } };

it("is told up to the record that was seen, and not what was written as it was hidden", async () => {
  const note = await make(api, "notes", { ...PUBLIC, body: "open" });
  const seen = await historyDuring("notes", note, () => api.patch(`/notes/${note.id}`, hiding));
  expect(seen).toEqual({ told: [MADE], total: 1 });
  expect((await visitor.get(`/notes/${note.id}/history`)).status).toBe(404);
});

it("is told without the change after which a column is no longer shown", async () => {
  const card = await make(api, "cards", { ...PUBLIC, body: "open" });
  const seen = await historyDuring("cards", card, () => api.patch(`/cards/${card.id}`, hiding));
  expect(seen).toEqual({ told: [MADE], total: 1 });
  const { body } = await visitor.get(`/cards/${card.id}/history`);
  expect(body.data.map(({ changes }: Row) => Object.keys(changes))).toEqual([["state"], ["state"]]);
});

it("does not tell of a record that has got the id of the one that was seen", async () => {
  const note = await make(api, "notes", { ...PUBLIC, body: "open" });
  const files = await filesOf(held.stack, held.stack.admin);
  const seen = await historyDuring("notes", note, async () => {
    expect((await api.delete(`/notes/${note.id}`)).status).toBe(200);
    return files.csv("notes", `id,state,body\n${note.id},private,secret\n`);
  });
  expect(seen).toEqual({ told: [], total: 0 });
});

it("tells nothing where the first change of a record since its table has a history hides it", async () => {
  const { id } = await makeTable(api, { name: "drafts", columns });
  await make(api, "svc_permission", { role: null, action: "read", table: "drafts", filter: PUBLIC });
  const draft = await make(api, "drafts", { ...PUBLIC, body: "open" });
  expect((await api.patch(`/svc_table/${id}`, { history: true })).status).toBe(200);
  const seen = await historyDuring("drafts", draft, () => api.patch(`/drafts/${draft.id}`, hiding));
  expect(seen).toEqual({ told: [], total: 0 });
});
