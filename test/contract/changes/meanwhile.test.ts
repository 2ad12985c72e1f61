// Changes that are judged while what they are judged by goes.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { type Api, search } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { isReadOf, nth, stopAt } from "../../support/command-proxy.js";
import { type EventSource, openEvents } from "../../support/event-source.js";
import { allowAll } from "../../support/rules.js";
import { make, makeTable } from "../records/make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
const open: EventSource[] = [];

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held } = system);
  const kept = { columns: [{ name: "name", type: "string" }], softDelete: true, changes: true };
  await makeTable(api, { name: "tasks", ...kept });
  const task = {
    name: "task",
    type: "many-to-one",
    table: "tasks",
    inverse: "comments",
    onDelete: "CASCADE",
  };
  await makeTable(api, { name: "comments", ...kept, relations: [task] });
  await allowAll(api, ["tasks", "comments"], null);
}, 120_000);

afterEach(() => {
  held.proxy.decide(() => "pass");
  for (const source of open.splice(0)) source.close();
});

afterAll(() => system?.stop());

async function follow(table: string, filter: object): Promise<EventSource> {
  const source = await openEvents(`${held.stack.dataUrl}/${table}/changes${search({ filter })}`);
  open.push(source);
  return source;
}

/** The first event of each after `ready`. */
async function firstOf(sources: readonly EventSource[]): Promise<unknown[]> {
  const told = await Promise.all(sources.map((source) => source.first(2)));
  return told.map(([, next]) => next?.event);
}

it("says `reset` where one of two conditions is judged before its related record has gone, and one after", async () => {
  const task = await make(api, "tasks", { name: "task" });
  const comment = await make(api, "comments", { name: "comment", task: task.id });
  const both = await follow("comments", { _and: [{ task: { name: "task" } }, { task: { id: task.id } }] });
  const { answer, goOn } = await stopAt(held.proxy, nth(2, isReadOf("tasks")), () =>
    api.delete(`/comments/${comment.id}`),
  );
  expect((await answer).status).toBe(200);
  expect((await api.delete(`/tasks/${task.id}`)).status).toBe(200);
  goOn();
  expect(await firstOf([both])).toEqual(["reset"]);
});
