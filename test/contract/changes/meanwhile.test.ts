// Changes that are judged while what they are judged by goes, or is still to come back.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { type Api, search } from "../../support/api.js";
import { type BehindProxy, type QuickAndSlow, startQuickAndSlow } from "../../support/behind-proxy.js";
import { goingOn, isReadOf, isWriteOf, nth, stopAt } from "../../support/command-proxy.js";
import { type EventSource, openEvents } from "../../support/event-source.js";
import { allowAll } from "../../support/rules.js";
import { make, makeTable } from "../records/make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;
const open: EventSource[] = [];

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
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
  await makeTable(api, { name: "members", ...kept, relations: [{ ...task, inverse: "members" }] });
  const ends = ["from", "to"].map((name) => ({ name, type: "many-to-one", table: "tasks" }));
  await makeTable(api, { name: "ties", ...kept, relations: ends });
  await allowAll(api, ["tasks", "comments", "members", "ties"], null);
});

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

it("says `reset` also where the first of them is back when the second has gone", async () => {
  const [from, to] = [await make(api, "tasks", { name: "from" }), await make(api, "tasks", { name: "to" })];
  const tie = await make(api, "ties", { name: "tie", from: from.id, to: to.id });
  const both = await follow("ties", { _and: [{ from: { name: "from" } }, { to: { name: "to" } }] });
  const gone = async (path: string) => expect((await api.delete(path)).status).toBe(200);
  const isJudged = (command: string): boolean => command.includes("$documents");
  const first = await stopAt(held.proxy, isJudged, () => gone(`/ties/${tie.id}`));
  await gone(`/tasks/${from.id}`);
  const second = await goingOn(held.proxy, nth(1, isJudged), first);
  expect((await api.send("POST", `/tasks/${from.id}/restore`)).status).toBe(200);
  await gone(`/tasks/${to.id}`);
  second.goOn();
  await second.answer;
  expect(await firstOf([both])).toEqual(["reset"]);
});

it("says `reset` where a restored record would be judged by what is still to come back with it, and only there", async () => {
  const task = await make(api, "tasks", { name: "back", comments: [{ name: "first" }] });
  expect((await api.delete(`/tasks/${task.id}`)).status).toBe(200);
  const first = { comments: { name: "first" } };
  const inDoubt = await Promise.all([
    follow("tasks", first),
    follow("tasks", { _not: { comments: {} } }),
    follow("tasks", { name: "back", ...first }),
  ]);
  const decided = await Promise.all([
    follow("tasks", { name: "back" }),
    follow("tasks", { _or: [{ name: "back" }, first] }),
  ]);
  const unconcerned = await follow("tasks", { name: "later", ...first });
  const { answer, goOn } = await stopAt(held.proxy, isWriteOf("comments"), () =>
    slow.send("POST", `/tasks/${task.id}/restore`),
  );
  expect(await firstOf([...inDoubt, ...decided])).toEqual(["reset", "reset", "reset", "entered", "entered"]);
  // What came back by its link is judged by what is there.
  const ofTask = await follow("comments", { task: { name: "back" } });
  goOn();
  expect((await answer).status).toBe(200);
  expect(await firstOf([ofTask])).toEqual(["entered"]);
  const later = await make(api, "tasks", { name: "later", comments: [{ name: "first" }] });
  await api.patch(`/tasks/${later.id}`, { name: "later" });
  expect(await firstOf([unconcerned])).not.toEqual(["reset"]);
});

it("says so, too, where what is still to come back links to what the restored record links to", async () => {
  const members = [{ name: "me" }];
  const task = await make(api, "tasks", { name: "led", comments: [{ name: "second" }], members });
  expect((await api.delete(`/tasks/${task.id}`)).status).toBe(200);
  const ofMine = { task: { members: { name: "me" } } };
  const inDoubt = await Promise.all([
    follow("comments", ofMine),
    follow("comments", { _not: { task: { members: {} } } }),
  ]);
  const decided = await follow("comments", { _or: [{ name: "second" }, ofMine] });
  const { answer, goOn } = await stopAt(held.proxy, isWriteOf("members"), () =>
    slow.send("POST", `/tasks/${task.id}/restore`),
  );
  expect(await firstOf([...inDoubt, decided])).toEqual(["reset", "reset", "entered"]);
  goOn();
  expect((await answer).status).toBe(200);
  const { data } = (await api.get("/comments", { filter: { name: "second" } })).body;
  expect((await api.delete(`/comments/${data[0].id}`)).status).toBe(200);
  const again = await follow("comments", ofMine);
  expect((await api.send("POST", `/comments/${data[0].id}/restore`)).status).toBe(200);
  expect(await firstOf([again])).toEqual(["entered"]);
});
