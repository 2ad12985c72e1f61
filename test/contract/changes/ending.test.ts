// The end of a stream of changes is told at once, whatever the stream is at.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { Fate } from "../../support/command-proxy.js";
import { openEvents } from "../../support/event-source.js";
import { until } from "../../support/wait.js";

let held: BehindProxy;

beforeAll(async () => {
  held = await startBehindProxy();
});

afterAll(() => held?.stop());

/** That of a follower for what comes next: it asks for whole entries. */
const isReading = (command: string): boolean =>
  command.includes("find\0") && command.includes("_journal\0") && !command.includes("projection");

it("a service that stops while a stream reads that there is nothing new: it ends before the next sign of life", async () => {
  const { stack, proxy } = held;
  const admin = await asAdmin(stack);
  await admin.post("/svc_table", {
    name: "notes",
    changes: true,
    columns: [{ name: "text", type: "string" }],
  });
  const { body } = await admin.post("/auth/login", stack.admin);
  const authorization = { Authorization: `Bearer ${body.accessToken}` };
  let readings = 0;
  const reachReadings = (least: number) =>
    until(
      async () => readings,
      (count) => count >= least,
      10_000,
    );
  proxy.decide((command) => {
    if (isReading(command)) readings += 1;
    return "pass";
  });
  const source = await openEvents(`${stack.appUrl}/api/notes/changes`, authorization);
  // One before `ready` and one behind it, which may come later than `ready` does.
  await reachReadings(2);
  let goOn = (): void => undefined;
  const released = new Promise<Fate>((resolve) => {
    goOn = () => resolve("pass");
  });
  // The first finds the new record, the second that there is nothing behind it.
  readings = 0;
  proxy.decide((command) => {
    if (isReading(command)) readings += 1;
    return readings > 1 && isReading(command) ? released : "pass";
  });
  await admin.post("/notes", { text: "a" });
  await reachReadings(2);
  stack.dataService.process.kill("SIGTERM");
  const isAway = () =>
    fetch(`${stack.dataUrl}/healthz`).then(
      () => false,
      () => true,
    );
  await until(isAway, (away) => away, 10_000);
  const began = performance.now();
  goOn();
  await source.ended();
  expect(source.told.map(({ event }) => event)).toEqual(["ready", "created", "end"]);
  expect(source.told.at(-1)?.data).toEqual({ reason: "restart" });
  expect(performance.now() - began).toBeLessThan(5_000);
});
