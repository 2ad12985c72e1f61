// A write that has happened is never answered with a refusal, even when its record can't be shown.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, read } from "./make.js";

/** Together more than MongoDB puts into one document of an answer. */
const CHILDREN = 18;
const TEXT = "x".repeat(980_000);

describe("a write whose answer would be too large", () => {
  let stack: Stack;
  let api: Api;

  beforeAll(async () => {
    stack = await startStack();
    api = await asAdmin(stack);
    await makeTable(api, { name: "projects", columns: [{ name: "name", type: "string" }] });
    await makeTable(api, {
      name: "tasks",
      columns: [{ name: "body", type: "text" }],
      relations: [{ name: "project", type: "many-to-one", table: "projects", inverse: "tasks" }],
    });
  });

  afterAll(() => stack?.stop());

  it("is answered with the id alone, and has happened", async () => {
    const project = await make(api, "projects", { name: "first" });
    for (let count = 0; count < CHILDREN; count += 1)
      await api.post("/tasks", { body: TEXT, project: project.id }, { fields: "id" });
    const deep = { tasks: { limit: 0 } };
    expect((await api.get(`/projects/${project.id}`, { deep })).status).toBe(400);
    const { status, body } = await api.patch(`/projects/${project.id}`, { name: "renamed" }, { deep });
    expect([status, body.data]).toEqual([200, [{ id: project.id }]]);
    expect((await read(api, "projects", project.id)).name).toBe("renamed");
  });
});
