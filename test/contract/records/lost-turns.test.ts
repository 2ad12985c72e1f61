// A question about several records (is another root admin left? do folders make a circle?) holds until what was decided by
// it is written, also where an instance was stopped in between for so long that others took its turn.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { type CommandProxy, isCommand, stopAt } from "../../support/command-proxy.js";
import { type Stack, startStack } from "../../support/stack.js";
import { make, read } from "./make.js";

const TWO = { email: "two@example.com", password: "the second one's password" };

let held: BehindProxy;
let proxy: CommandProxy;
let slow: Stack;
let quick: Stack;
let db: Db;
/** The first root admin, at the instance whose writes are held up. */
let first: Api;
/** The second one, at the other instance. */
let second: Api;

beforeAll(async () => {
  quick = await startStack();
  held = await startBehindProxy(quick);
  ({ stack: slow, proxy, db } = held);
  first = await asAdmin(slow);
  await make(first, "svc_user", { ...TWO, isRootAdmin: true });
  second = await signIn(`${quick.appUrl}/api`, TWO);
});

afterAll(async () => {
  await held?.stop();
  await quick?.stop();
});

/** Holds up the write that decides `stopped`, lets its turn lapse and does `meanwhile`. */
async function overtaken(
  isDeciding: (command: string) => boolean,
  stopped: () => Promise<Answer>,
  meanwhile: () => Promise<Answer>,
): Promise<[Answer, Answer]> {
  let release = (): void => {};
  const released = new Promise<"pass">((resolve) => {
    release = () => resolve("pass");
  });
  let reached = (): void => {};
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  proxy.decide((command) => {
    if (!isDeciding(command)) return "pass";
    reached();
    return released;
  });
  const answer = stopped();
  await isReached;
  await db.collection("_tree_lock").deleteMany({});
  const other = await meanwhile();
  proxy.decide(() => "pass");
  release();
  return [await answer, other];
}

describe("of two moves", () => {
  it("that would make a circle of folders only one is made", async () => {
    const [a, b] = [
      (await make(first, "svc_folder", { name: "a" })).id,
      (await make(first, "svc_folder", { name: "b" })).id,
    ];
    const [late, early] = await overtaken(
      (command) =>
        command.includes("svc_folder") && command.includes("parentId") && command.includes("updatedAt"),
      () => first.patch(`/svc_folder/${a}`, { parent: b }),
      () => second.patch(`/svc_folder/${b}`, { parent: a }),
    );
    expect([early.status, late.status]).toEqual([200, 409]);
    expect((await read(second, "svc_folder", a)).parent).toBeNull();
  });
});

describe("an ordinary user whose deletion takes long", () => {
  it("keeps nobody from switching off another one", async () => {
    const going = (await make(second, "svc_user", { email: "going@example.com" })).id;
    const other = (await make(second, "svc_user", { email: "other@example.com" })).id;
    const deletion = await stopAt(proxy, isCommand("delete", "svc_user"), () =>
      first.delete(`/svc_user/${going}`),
    );
    const { status } = await second.patch(`/svc_user/${other}`, { isActive: false });
    deletion.goOn();
    expect([status, (await deletion.answer).status]).toEqual([200, 200]);
  });
});

describe("of two root admins who switch each other off", () => {
  it("one stays", async () => {
    const users = db.collection("svc_user");
    const idOf = async (email: string) => String((await users.findOne({ email }))?._id);
    const [one, two] = [await idOf(slow.admin.email), await idOf(TWO.email)];
    const [late, early] = await overtaken(
      (command) =>
        command.includes("svc_user") && command.includes("isActive") && command.includes("sessionEpoch"),
      () => first.patch(`/svc_user/${two}`, { isActive: false }),
      () => second.patch(`/svc_user/${one}`, { isActive: false }),
    );
    expect(early.status).toBe(200);
    expect([401, 409]).toContain(late.status);
    expect(await users.countDocuments({ isRootAdmin: true, isActive: true })).toBe(1);
  });
});
