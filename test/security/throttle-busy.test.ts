// What became of a sign-in is noted in the end, also where the database could not do so at once (contract 8).
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { make } from "../contract/records/make.js";
import { type Answer, apiOf, asAdmin } from "../support/api.js";
import { type BehindProxy, startBehindProxy } from "../support/behind-proxy.js";
import { isCommand } from "../support/command-proxy.js";
import { until } from "../support/wait.js";

let system: BehindProxy;
const ann = { email: "ann@example.com", password: "ann's password" };
const bob = { email: "bob@example.com", password: "bob's password" };

beforeAll(async () => {
  system = await startBehindProxy();
  const admin = await asAdmin(system.stack);
  for (const user of [ann, bob]) await make(admin, "svc_user", user);
});
afterAll(() => system.stop());

const isCounter = isCommand("update", "_throttle");
/** Tries are counted under a condition; what became of them is noted without. */
const isNote = (command: string) => isCounter(command) && !command.includes("$cond");

const signIn = (password: string, email = ann.email): Promise<Answer> =>
  apiOf(`${system.stack.appUrl}/api`).post("/auth/login", { email, password });

it("right passwords that could not be noted are no failures, of their account or of their network", async () => {
  let lost = 0;
  system.proxy.decide((command) => {
    if (!isNote(command)) return "pass";
    lost += 1;
    return "not begun";
  });
  for (let at = 0; at < 5; at += 1) expect((await signIn(ann.password)).status).toBe(200);
  expect(lost).toBeGreaterThanOrEqual(5);
  system.proxy.decide(() => "pass");
  const counters = system.db.collection<{ _id: string }>("_throttle");
  await until(
    () => counters.countDocuments({ _id: /^(sign-in|failures|account):/, count: { $gt: 0 } }),
    (left) => left === 0,
  );
});

it("one that was noted takes back no failures of its network, where the database said otherwise and it is noted again", async () => {
  const others = ["one@example.com", "another@example.com"];
  for (const email of others) expect((await signIn("wrong password", email)).status).toBe(401);
  let notes = 0;
  system.proxy.decide((command) => {
    if (!isNote(command)) return "pass";
    notes += 1;
    return notes < 3 ? "interrupted" : "pass";
  });
  expect((await signIn(ann.password)).status).toBe(200);
  await until(
    () => notes,
    (count) => count >= 3,
  );
  const counters = system.db.collection<{ _id: string; count: number }>("_throttle");
  expect(await counters.findOne({ _id: { $regex: "^failures:" } })).toMatchObject({ count: others.length });
});

it("wrong ones are still failures", async () => {
  system.proxy.decide((command) => (isNote(command) ? "not begun" : "pass"));
  for (let at = 0; at < 5; at += 1) expect((await signIn("wrong password")).status).toBe(401);
  expect((await signIn(ann.password)).status).toBe(429);
});

describe("a service that stops", () => {
  const failures = () =>
    system.db
      .collection<{ _id: string; count: number }>("_throttle")
      .findOne({ _id: { $regex: "^failures:" } });

  async function stop(): Promise<string> {
    const { dataService } = system.stack;
    await dataService.stop();
    system.proxy.decide(() => "pass");
    await system.stack.restartDataService();
    return dataService.log();
  }

  /** What the tests before have left to be noted. */
  beforeAll(async () => {
    system.proxy.decide(() => "pass");
    await stop();
  });

  beforeEach(async () => {
    system.proxy.decide((command) => (isNote(command) ? "not begun" : "pass"));
    expect((await signIn(bob.password, bob.email)).status).toBe(200);
  });

  it("notes what waits", async () => {
    const before = await failures();
    system.proxy.decide(() => "pass");
    expect(await stop()).not.toContain("was not noted");
    expect((await failures())?.count).toBe((before?.count ?? 0) - 1);
  });

  it("says what it could not note", async () => {
    const before = await failures();
    expect(await stop()).toContain("what became of a sign-in was not noted, so it counts as one that failed");
    expect(await failures()).toEqual(before);
  });
});
