// Contract 6: svc_route_handler keeps code for other programs; it is stored and served, and never executed.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const BOB = { email: "bob@example.com", password: "bob's password" };
const HANDLERS = "/svc_route_handler";

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack();
  admin = await asAdmin(stack);
});

afterAll(() => stack.stop());

describe("svc_route_handler", () => {
  it("is made, read, found, changed and deleted like any record", async () => {
    const made = await make(admin, "svc_route_handler", { route: "/greetings", sourceCode: "export {}" });
    expect(made).toMatchObject({
      route: "/greetings",
      method: "GET",
      sourceCode: "export {}",
      compiledCode: null,
      timeout: null,
      isEnabled: true,
    });
    const path = `${HANDLERS}/${made.id}`;
    const changed = await admin.patch(path, { method: "POST", timeout: 30_000, isEnabled: false });
    expect([changed.status, changed.body.data[0]]).toMatchObject([
      ...[200, { id: made.id, method: "POST", timeout: 30_000, isEnabled: false }],
    ]);
    const filter = { route: { _starts_with: "/greet" }, timeout: { _gt: 1 }, isEnabled: false };
    const { body } = await admin.get(HANDLERS, { filter, fields: "method", meta: "filterCount" });
    expect([body.data, body.meta]).toEqual([[{ method: "POST" }], { filterCount: 1 }]);
    expect((await admin.delete(path)).status).toBe(200);
    expect((await admin.get(path)).status).toBe(404);
  });

  it.each([
    ["no route", { route: undefined }, /^route: /],
    ["an empty route", { route: "" }, /^route: /],
    ["a method that there is not", { method: "FETCH" }, /^method: /],
    ["a timeout of nothing", { timeout: 0 }, /^timeout: /],
    ["a timeout with a fraction", { timeout: 1.5 }, /^timeout: /],
    ["code that is no text", { compiledCode: { a: 1 } }, /^compiledCode: /],
    ["no word on whether it is on", { isEnabled: null }, /^isEnabled: /],
  ])("refuses %s", async (_what, body, problem) => {
    const answer = await admin.post(HANDLERS, { route: "/refused", ...body });
    expect([answer.status, answer.body.message]).toEqual([400, [expect.stringMatching(problem)]]);
  });

  it("has one handler for a route and a method", async () => {
    await make(admin, "svc_route_handler", { route: "/once" });
    const again = await admin.post(HANDLERS, { route: "/once", method: "GET" });
    expect([again.status, again.body.error.details]).toEqual([409, { fields: ["route", "method"] }]);
    await make(admin, "svc_route_handler", { route: "/once", method: "PUT" });
  });

  it("keeps compiled code of 800,000 bytes to the letter", async () => {
    const compiledCode = `"use strict";\n${"const größe = '\\u0000 \u2028 \u{1f600}';\t\r\n".repeat(20_000)}`;
    expect(Buffer.byteLength(JSON.stringify(compiledCode))).toBeGreaterThan(800_000);
    const { id } = await make(admin, "svc_route_handler", { route: "/large", compiledCode });
    const { body } = await admin.get(`${HANDLERS}/${id}`);
    expect(body.data[0].compiledCode === compiledCode).toBe(true);
    const listed = await admin.get(HANDLERS, { filter: { id }, fields: "compiledCode" });
    expect(listed.body.data[0].compiledCode === compiledCode).toBe(true);
  });

  it("is never executed: its route answers as before, and its code does nothing", async () => {
    const sourceCode = "globalThis.wasRun = true; process.exit(1);";
    for (const route of ["/api/run", "run", "/healthz"])
      await make(admin, "svc_route_handler", { route, sourceCode, compiledCode: sourceCode, timeout: 1 });
    expect((await admin.get("/run")).status).toBe(404);
    expect((await fetch(`${stack.appUrl}/healthz`)).status).toBe(200);
    expect((await admin.get("/me")).status).toBe(200);
  });

  it("is root's alone until a rule says otherwise", async () => {
    const { id } = await make(admin, "svc_route_handler", { route: "/ruled" });
    const path = `${HANDLERS}/${id}`;
    await make(admin, "svc_user", BOB);
    const bob = await signIn(`${stack.appUrl}/api`, BOB);
    for (const [api, refused] of [
      [apiOf(`${stack.appUrl}/api`), 401],
      [bob, 403],
    ] as const) {
      const answers = [
        ...[await api.get(HANDLERS), await api.get(path), await api.post(HANDLERS, { route: "/forged" })],
        ...[await api.patch(path, { route: "/forged" }), await api.delete(path)],
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => refused));
    }
    const role = await roleFor(admin, "Developer", ["svc_route_handler"]);
    await make(admin, "svc_user", { ...ANN, role });
    const ann = await signIn(`${stack.appUrl}/api`, ANN);
    expect((await ann.patch(path, { sourceCode: "1" })).body.data).toMatchObject([{ sourceCode: "1" }]);
    expect((await ann.post(HANDLERS, { route: "/hers" })).status).toBe(201);
  });

  it("says what it is for in the metadata, and what is unique", async () => {
    const { body } = await admin.get("/metadata/svc_route_handler");
    expect(body.data[0]).toMatchObject({
      system: true,
      description: expect.stringContaining("never executed"),
      uniques: [["route", "method"]],
    });
  });

  it("is a table of Portico itself: a file is not imported into it, and its name is taken", async () => {
    const imported = await admin.send("POST", `${HANDLERS}/import`, {
      headers: { "Content-Type": "application/x-ndjson" },
      body: '{"route":"/imported"}\n',
    });
    expect([imported.status, imported.body.message]).toEqual([
      400,
      expect.stringContaining("Portico itself"),
    ]);
    const taken = await admin.post("/svc_table", { name: "svc_route_handler" });
    expect(taken.status).toBe(422);
  });
});
