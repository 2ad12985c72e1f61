// Contract 6: tables made at the same time, on several instances, and by a process that dies meanwhile.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type RunningService, type Stack, startAnother, startStack } from "../../support/stack.js";
import { atOnce, type Row, tally } from "../records/make.js";

let stack: Stack;
let admin: Api;
let second: RunningService;
let elsewhere: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
  second = await startAnother(stack);
  elsewhere = await signIn(second.url, stack.admin);
});

afterAll(async () => {
  await second.stop();
  await stack.stop();
});

const COLUMNS = [{ name: "title", type: "string" }];

describe("at the same moment", () => {
  it("one of ten creates of one name wins, the rest are 409", async () => {
    const answers = await atOnce(10, () => admin.post("/svc_table", { name: "contested", columns: COLUMNS }));
    expect(tally(answers)).toEqual({ 201: 1, 409: 9 });
    expect((await admin.post("/contested", { title: "a" })).status).toBe(201);
  });

  it("twenty creates of different tables all succeed, and all are usable", async () => {
    const answers = await atOnce(20, (at) =>
      admin.post("/svc_table", { name: `many_${at}`, columns: COLUMNS }),
    );
    expect(tally(answers)).toEqual({ 201: 20 });
    const uses = await atOnce(20, (at) => admin.post(`/many_${at}`, { title: "a" }));
    expect(tally(uses)).toEqual({ 201: 20 });
  });

  it("creates on two instances all succeed", async () => {
    const answers = await atOnce(16, (at) =>
      (at % 2 === 0 ? admin : elsewhere).post("/svc_table", { name: `both_${at}`, columns: COLUMNS }),
    );
    expect(tally(answers)).toEqual({ 201: 16 });
  });

  it("one of two relations gets the inverse name that both want", async () => {
    await admin.post("/svc_table", { name: "hub" });
    const answers = await atOnce(6, (at) =>
      (at % 2 === 0 ? admin : elsewhere).post("/svc_table", {
        name: `spoke_${at}`,
        relations: [{ name: "hub", type: "many-to-one", table: "hub", inverse: "spokes" }],
      }),
    );
    expect(tally(answers)).toEqual({ 201: 1, 422: 5 });
  });
});

describe("a second instance on the same database", () => {
  it("serves a new table at once", async () => {
    for (let round = 0; round < 5; round += 1) {
      await admin.post("/svc_table", { name: `fresh_${round}`, columns: COLUMNS });
      expect((await elsewhere.post(`/fresh_${round}`, { title: "a" })).status).toBe(201);
      expect((await admin.get(`/fresh_${round}`)).body.data.length).toBe(1);
    }
  });

  it.each<[string, (rule: string, table: string) => Promise<Answer>]>([
    ["is made", (_rule, table) => elsewhere.post("/svc_permission", { role: null, table, action: "read" })],
    ["is changed", (rule, table) => elsewhere.patch(`/svc_permission/${rule}`, { table })],
  ])("knows a new table when a rule for it %s", async (how, write) => {
    const rule = { role: null, table: "svc_role", action: "read" };
    const { id } = (await admin.post("/svc_permission", rule)).body.data[0];
    for (let round = 0; round < 3; round += 1) {
      const name = `ruled_${how.replace(" ", "_")}_${round}`;
      await elsewhere.get("/svc_permission");
      await admin.post("/svc_table", { name, columns: COLUMNS });
      const { status, body } = await write(id, name);
      expect([Math.floor(status / 100), body.data?.[0].table ?? body.message]).toEqual([2, name]);
    }
  });

  it("serves the new inverse relation at once", async () => {
    await admin.post("/svc_table", { name: "trees" });
    const tree = (await elsewhere.post("/trees", {})).body.data[0].id;
    await admin.post("/svc_table", {
      name: "leaves",
      relations: [{ name: "tree", type: "many-to-one", table: "trees", inverse: "leaves" }],
    });
    const leaf = (await admin.post("/leaves", { tree })).body.data[0].id;
    const { status, body } = await elsewhere.get(`/trees/${tree}`, { fields: "leaves" });
    expect([status, body.data]).toEqual([200, [{ leaves: [{ id: leaf }] }]]);
  });

  it("keeps the links of a table it has not been asked for yet", async () => {
    await admin.post("/svc_table", { name: "shelves" });
    const shelf = (await elsewhere.post("/shelves", {})).body.data[0].id;
    await elsewhere.get("/shelves");
    await admin.post("/svc_table", {
      name: "jars",
      relations: [{ name: "shelf", type: "many-to-one", table: "shelves", onDelete: "RESTRICT" }],
    });
    await admin.post("/jars", { shelf });
    expect((await elsewhere.delete(`/shelves/${shelf}`)).status).toBe(409);
  });

  it("knows a name as taken that was taken elsewhere", async () => {
    await admin.post("/svc_table", { name: "claimed" });
    expect((await elsewhere.post("/svc_table", { name: "claimed" })).status).toBe(409);
  });

  it("does not show tables that are still being made", async () => {
    const making = atOnce(8, (at) => admin.post("/svc_table", { name: `slowly_${at}`, columns: COLUMNS }));
    let finished = false;
    making.finally(() => {
      finished = true;
    });
    const shown = async (): Promise<Row[]> => {
      const filter = { name: { _starts_with: "slowly_" } };
      return (await elsewhere.get("/svc_table", { filter, fields: "name", limit: "0" })).body.data;
    };
    while (!finished) {
      for (const { name } of await shown()) {
        expect([name, (await elsewhere.get(`/${name}`)).status]).toEqual([name, 200]);
      }
    }
    expect(tally(await making)).toEqual({ 201: 8 });
    expect(await shown()).toHaveLength(8);
  });
});

describe("kill -9 while tables are being made", () => {
  it("leaves a start that works: what was answered is there, what is listed works, the rest can be made", async () => {
    for (const [round, wait] of [5, 20, 60, 120].entries()) {
      const names = Array.from({ length: 8 }, (_, at) => `doomed_${round}_${at}`);
      const attempts = names.map(async (name) => {
        const answer = await admin.post("/svc_table", { name, columns: COLUMNS });
        return answer.status === 201 ? name : undefined;
      });
      await new Promise((resolve) => setTimeout(resolve, wait));
      await stack.dataService.stop("SIGKILL");
      const answered = (await Promise.all(attempts)).filter((name) => name !== undefined);
      await stack.restartDataService();

      const { body } = await admin.get("/svc_table", {
        filter: { name: { _starts_with: `doomed_${round}_` } },
        fields: "name",
        limit: "0",
      });
      const listed: string[] = body.data.map(({ name }: { name: string }) => name);
      expect(listed).toEqual(expect.arrayContaining(answered));
      for (const name of names) {
        const again = await admin.post("/svc_table", { name, columns: COLUMNS });
        expect([name, again.status]).toEqual([name, listed.includes(name) ? 409 : 201]);
        expect([name, (await admin.post(`/${name}`, { title: "a" })).status]).toEqual([name, 201]);
      }
    }
  });
});
