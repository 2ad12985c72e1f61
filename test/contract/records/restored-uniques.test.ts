// A restore that brings records along whose unique values others have by now: it is refused, and nothing shows that it was tried.
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import type { Api } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { isWriteOf, stopAt } from "../../support/command-proxy.js";
import { CHANGES, openEvents } from "../../support/event-source.js";
import { allowAll } from "../../support/rules.js";
import { make, makeTable, type Row, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;
let count = 0;
/** A stay that is deleted, with two of its nights; one was deleted before. */
let stay: string;
let nights: readonly { readonly id: string; readonly room: string; readonly code: string }[];

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  const guest = { name: "guest", type: "string" };
  await makeTable(api, { name: "stays", columns: [guest], softDelete: true, changes: true, history: true });
  await makeTable(api, {
    name: "nights",
    softDelete: true,
    columns: [
      { name: "room", type: "string" },
      { name: "day", type: "date" },
      { name: "code", type: "string", unique: true },
    ],
    relations: [
      { name: "stay", type: "many-to-one", table: "stays", onDelete: "CASCADE", inverse: "nights" },
    ],
    uniques: [["room", "day"]],
  });
  await allowAll(api, ["stays", "nights"], null);
});

afterAll(() => system?.stop());

beforeEach(async () => {
  held.proxy.decide(() => "pass");
  count += 1;
  const room = `room ${count}`;
  const night = (at: number) => ({ room, day: `2033-01-0${at}`, code: `${count}-${at}` });
  stay = (await make(api, "stays", { guest: "Ann", nights: [night(1), night(2), night(3)] })).id;
  nights = (await api.get("/nights", { filter: { room }, sort: "day" })).body.data;
  await api.delete(`/nights/${nights[2]?.id}`);
  await api.delete(`/stays/${stay}`);
});

const restore = (who: Api, headers: Record<string, string> = {}) =>
  who.send("POST", `/stays/${stay}/restore`, { headers });
const deleted = () => api.get(`/stays/${stay}?deleted=only`);
const history = async (): Promise<Row[]> =>
  (await api.get(`/stays/${stay}/history`)).body.data.map(({ event }: Row) => event);

/** Values of the second night, by which another one is in its place. */
const inItsPlace: [string, () => object, readonly string[]][] = [
  ["a value", () => ({ code: nights[1]?.code }), ["code"]],
  ["values together", () => ({ room: nights[1]?.room, day: "2033-01-02" }), ["room", "day"]],
];

it.each(inItsPlace)(
  "leaves no trace where others have %s of a record that would come along",
  async (_, taken, fields) => {
    const source = await openEvents(`${held.stack.dataUrl}/stays/changes`);
    try {
      const other = await make(api, "nights", taken());
      const before = await deleted();
      const refused = await restore(api);
      expect([refused.status, refused.body.error.code]).toEqual([409, "DUPLICATE_RESOURCE"]);
      expect(refused.body.error.details.fields).toEqual(fields);
      const now = await deleted();
      expect(now.body).toEqual(before.body);
      const etag = before.headers.get("ETag") ?? "";
      expect(now.headers.get("ETag")).toBe(etag);
      expect(await history()).toEqual(["deleted", "created"]);
      await api.delete(`/nights/${other.id}`);
      expect((await restore(api, { "If-Match": etag })).status).toBe(200);
      const [told] = await source.first(1, ...CHANGES);
      expect(told).toMatchObject({ event: "entered", data: { id: stay, revision: 3 } });
    } finally {
      source.close();
    }
  },
);

it("brings back all that went along where only such values are taken that do not come along", async () => {
  await make(api, "nights", { room: nights[2]?.room, day: "2033-01-03" });
  expect((await restore(api)).status).toBe(200);
  expect(await read(api, "stays", stay, "nights.day")).toEqual({
    nights: [{ day: "2033-01-01" }, { day: "2033-01-02" }].map((each) => expect.objectContaining(each)),
  });
});

it("is taken back, and both are told, where others take a value while it is under way", async () => {
  const source = await openEvents(`${held.stack.dataUrl}/stays/changes`);
  const etag = (await deleted()).headers.get("ETag");
  const { answer, goOn } = await stopAt(held.proxy, isWriteOf("nights"), () => restore(slow));
  const other = await make(api, "nights", { code: nights[1]?.code });
  goOn();
  expect((await answer).status).toBe(409);
  const now = await deleted();
  expect(now.status).toBe(200);
  expect(now.headers.get("ETag")).not.toBe(etag);
  expect(await history()).toEqual(["deleted", "restored", "deleted", "created"]);
  const told = await source.first(2, ...CHANGES).finally(() => source.close());
  expect(told.map(({ event }) => event)).toEqual(["entered", "deleted"]);
  for (const { id } of nights) expect(await read(api, "nights", id)).toBeUndefined();
  await api.delete(`/nights/${other.id}`);
  expect((await restore(api)).status).toBe(200);
  for (const { id } of nights.slice(0, 2)) expect(await read(api, "nights", id)).toBeDefined();
});
