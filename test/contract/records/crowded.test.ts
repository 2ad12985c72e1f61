// A database that has no connection free for what follows a write: the write is done, and must not be told as if it were not.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import {
  type CommandProxy,
  type Fate,
  isCommand,
  startCommandProxy,
  stopAt,
} from "../../support/command-proxy.js";
import { upload } from "../../support/files.js";
import { freshDatabase, type Stack, startStack } from "../../support/stack.js";
import { make, makeTable, read } from "./make.js";

/** Longer than the service goes without asking whether tables have changed, and shorter than it waits for a connection. */
const QUEUED_MS = 1_200;

let proxy: CommandProxy;
let stack: Stack;
let admin: Api;

beforeAll(async () => {
  proxy = await startCommandProxy(freshDatabase("maxPoolSize=1&waitQueueTimeoutMS=2000"));
  stack = await startStack({ mongodbUrl: proxy.mongodbUrl });
  admin = await asAdmin(stack);
  const columns = [{ name: "name", type: "string" }];
  for (const name of ["ships", "flags"]) await makeTable(admin, { name, columns });
  const ship = { name: "ship", type: "many-to-one", table: "ships", inverse: "crew", counted: true };
  await makeTable(admin, { name: "sailors", columns, relations: [ship] });
});

afterAll(async () => {
  proxy?.decide(() => "pass");
  await stack?.stop();
  await proxy?.close();
});

/** Sends a write. As soon as it is done, another request has the only connection, and keeps it. */
async function crowdedAfter(
  isWrite: (command: string) => boolean,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const write = await stopAt(proxy, isWrite, send);
  const other = admin.get("/ships");
  await sleep(QUEUED_MS);
  let letGo = (): void => undefined;
  const kept = new Promise<Fate>((resolve) => {
    letGo = () => resolve("pass");
  });
  proxy.decide(() => kept);
  write.goOn();
  const answer = await write.answer;
  proxy.decide(() => "pass");
  letGo();
  await other;
  return answer;
}

const told = ({ status, body }: Answer): unknown => [status, body.error?.details];

describe("a write after which no connection gets free", () => {
  it("is uncertain where it is a change of a counted link", async () => {
    const ship = (await make(admin, "ships", { name: "Hope" })).id;
    const { id } = await make(admin, "sailors", { ship });
    const isWrite = isCommand("findAndModify", "sailors");
    const answer = await crowdedAfter(isWrite, () => admin.patch(`/sailors/${id}`, { ship: null }));
    expect(told(answer)).toEqual([503, { uncertain: true }]);
    expect(await read(admin, "sailors", id, "ship.id")).toEqual({ ship: null });
  });

  it.each([
    ["not counted yet", isCommand("delete", "sailors")],
    ["counted", isCommand("delete", "_counting")],
  ])("is uncertain where it is a delete that is %s", async (_what, isWrite) => {
    const ship = (await make(admin, "ships", { name: "Hope" })).id;
    const { id } = await make(admin, "sailors", { ship });
    const answer = await crowdedAfter(isWrite, () => admin.delete(`/sailors/${id}`));
    expect(told(answer)).toEqual([503, { uncertain: true }]);
    expect(await read(admin, "sailors", id)).toBe(undefined);
  });

  it("is uncertain where it is a delete that looks for new tables", async () => {
    const { id } = await make(admin, "flags", { name: "Jack" });
    const isWrite = isCommand("delete", "flags");
    const answer = await crowdedAfter(isWrite, () => admin.delete(`/flags/${id}`));
    expect(told(answer)).toEqual([503, { uncertain: true }]);
    expect(await read(admin, "flags", id)).toBe(undefined);
  });

  it("is uncertain where it is the delete of a file", async () => {
    const { id } = (await upload(admin, "bytes", "a.txt")).body.data[0];
    const isWrite = isCommand("delete", "svc_file");
    const answer = await crowdedAfter(isWrite, () => admin.delete(`/svc_file/${id}`));
    expect(told(answer)).toEqual([503, { uncertain: true }]);
    expect(await read(admin, "svc_file", id)).toBe(undefined);
  });
});
