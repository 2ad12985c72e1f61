// Twenty writers of nested records, sets, cascades and files, and kill -9 of each process at random: every answered
// write is there exactly once, no request was done in half, no link leads nowhere, and every file has its bytes.
// A few rounds in every run; `npm run test:crash-records` takes 30. PORTICO_CRASH_SEED runs a sequence again.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { type Api, asAdmin, signIn } from "../support/api.js";
import { startEngine, stopEngine } from "../support/engine-of-run.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";
import { NOT_DONE, presentIn, wrongIn } from "./crash-records/database.js";
import { KEYS, makeTables } from "./crash-records/tables.js";
import { dice, type Present, type Shared, Writer } from "./crash-records/writer.js";

const ROUNDS = Number(process.env.PORTICO_CRASH_ROUNDS ?? 4);
const SEED = Number(process.env.PORTICO_CRASH_SEED ?? Math.floor(Math.random() * 1_000_000));
const WRITERS = 20;
const SECOND_LOOK_WITHIN_MS = 120_000;

let directory: string;
let stack: Stack;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-crash-records-"));
  stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
  await makeTables(await asAdmin(stack));
});

afterAll(async () => {
  await stack?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Ends the data service in good order and looks at what it has left. */
async function lookInside<Result>(look: (db: Db) => Promise<Result>): Promise<Result> {
  await stack.dataService.stop();
  const engine = await startEngine(join(directory, "mongodb"));
  const client = await MongoClient.connect(engine.uri);
  try {
    return await look(client.db("portico"));
  } finally {
    await client.close();
    await stopEngine(engine);
    await stack.restartDataService();
  }
}

/** What the API says is there. */
async function presentFor(api: Api): Promise<Present> {
  const present = new Map<string, Map<string, number>>();
  for (const [table, column] of Object.entries(KEYS)) {
    const { body } = await api.get(`/${table}`, { fields: column, limit: "0" });
    const counts = new Map<string, number>();
    for (const row of body.data) counts.set(row[column], (counts.get(row[column]) ?? 0) + 1);
    present.set(table, counts);
  }
  return present;
}

const VICTIMS = [["data service"], ["data service"], ["gateway"], ["data service", "gateway"]] as const;

/** Lets all write until enough was answered, and kills. */
async function writeAndKill(writers: readonly Writer[], victims: readonly string[], enough: number) {
  const [data, door] = [stack.dataService, stack.gateway];
  const outside = await asAdmin(stack);
  let answered = 0;
  let isOver = false;
  const note = (): void => {
    answered += 1;
    if (answered < enough || isOver) return;
    // In the very moment of an answer: others are half written then.
    isOver = true;
    if (victims.includes("data service")) data.process.kill("SIGKILL");
    if (victims.includes("gateway")) door.process.kill("SIGKILL");
  };
  await Promise.all(writers.map((writer) => writer.run(outside, () => !isOver, note)));
  if (victims.includes("data service")) {
    await data.stop("SIGKILL");
    await stack.restartDataService();
  }
  if (victims.includes("gateway")) {
    await door.stop("SIGKILL");
    await stack.restartGateway();
  }
}

describe(`kill -9 of services while ${WRITERS} writers make, change and delete records and files`, () => {
  it(`leaves all of each request or nothing, in ${ROUNDS} rounds`, async () => {
    process.stderr.write(`PORTICO_CRASH_SEED=${SEED}\n`);
    const roll = dice(SEED);
    const shared: Shared = { authors: new Map(), tags: new Map() };
    const writers = Array.from({ length: WRITERS }, (_, at) => new Writer(`w${at}`, SEED + 1 + at, shared));
    for (let round = 0; round < ROUNDS; round += 1) {
      const victims = VICTIMS[(round + SEED) % VICTIMS.length] ?? [];
      await writeAndKill(writers, victims, 60 + roll(120));
      process.stderr.write(`round ${round + 1}: killed ${victims.join(" and ")}\n`);
      const found = await lookInside(async (db) => ({
        wrong: await wrongIn(db),
        present: await presentIn(db),
      }));
      const where = { seed: SEED, round, victims };
      expect({ ...where, wrong: found.wrong }).toEqual({ ...where, wrong: [] });
      const api = await asAdmin(stack);
      expect(await presentFor(api)).toEqual(found.present);
      const problems = await Promise.all(writers.map((writer) => writer.resolve(api, found.present)));
      expect({ ...where, problems: problems.flat() }).toEqual({ ...where, problems: [] });
      const now = await presentFor(api);
      const untrue = writers.flatMap((writer) => writer.check(now));
      expect({ ...where, untrue }).toEqual({ ...where, untrue: [] });
    }
    process.stderr.write(`answered: ${total(writers, "answered")}\ncut off: ${total(writers, "cutOff")}\n`);
  }, 3_600_000);
});

describe("kill -9 of one of two instances", () => {
  let one: Stack;
  let two: Stack;
  let client: MongoClient;

  beforeAll(async () => {
    const env = { UPLOAD_LEASE_SECONDS: "1" };
    one = await startStack({ env });
    two = await startStack({ twinOf: one, env });
    client = await MongoClient.connect(one.mongodbUrl);
    await makeTables(await asAdmin(one));
  });

  afterAll(async () => {
    await client?.close();
    await two?.stop();
    await one?.stop();
  });

  it("leaves what it had under way to the other one, which takes it back or ends it", async () => {
    const shared: Shared = { authors: new Map(), tags: new Map() };
    const writers = Array.from({ length: WRITERS }, (_, at) => new Writer(`v${at}`, SEED + at, shared));
    const apis = await Promise.all([one, two].map((stack) => signIn(stack.dataUrl, stack.admin)));
    const victim = one.dataService.process;
    let answered = 0;
    const note = (): void => {
      answered += 1;
      if (answered === 80) victim.kill("SIGKILL");
    };
    const goesOn = (): boolean => !victim.killed;
    await Promise.all(writers.map((writer, at) => writer.run(apis[at % 2] as Api, goesOn, note)));
    await one.dataService.stop("SIGKILL");
    const db = client.db();
    // Its notes name an instance that is not heard of any more.
    const open = async (): Promise<number> =>
      (await db.collection("_unfinished").countDocuments(NOT_DONE)) +
      (await db.collection("_content_pending").countDocuments()) +
      (await db.collection("_deletes").countDocuments({ done: false })) +
      (await db.collection("_counting").countDocuments(NOT_DONE));
    await until(open, (count) => count === 0, 60_000);
    // A link that the victim wrote to a record that the other one was deleting is found by the second look of that delete,
    // a minute after it (docs/decisions/017-whole-requests.md): as if that had passed.
    const aMinuteAgo = new Date(Date.now() - 61_000);
    await db.collection("_deletes").updateMany({ done: true }, { $set: { at: aMinuteAgo } });
    await until(
      () => wrongIn(db),
      (wrong) => wrong.length === 0,
      SECOND_LOOK_WITHIN_MS,
    );
    const present = await presentIn(db);
    const problems = await Promise.all(writers.map((writer) => writer.resolve(apis[1] as Api, present)));
    expect({ seed: SEED, problems: problems.flat() }).toEqual({ seed: SEED, problems: [] });
    const now = await presentIn(db);
    expect({ seed: SEED, untrue: writers.flatMap((writer) => writer.check(now)) }).toEqual({
      seed: SEED,
      untrue: [],
    });
  }, 300_000);
});

function total(writers: readonly Writer[], what: "answered" | "cutOff"): string {
  const sums = new Map<string, number>();
  for (const writer of writers)
    for (const [kind, count] of writer[what]) sums.set(kind, (sums.get(kind) ?? 0) + count);
  return [...sums].map(([kind, count]) => `${kind} ${count}`).join("; ");
}
