// Everybody who follows a table is told of every change once, and of each record's changes in their order, whatever
// happens to the services meanwhile. PORTICO_CHANGES_WRITES and PORTICO_CHANGES_FOLLOWERS make it longer.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { type Api, asAdmin, search, signIn } from "../support/api.js";
import { CHANGES, type EventSource, openEvents } from "../support/event-source.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

const WRITES = Number(process.env.PORTICO_CHANGES_WRITES ?? 600);
const FOLLOWERS = Number(process.env.PORTICO_CHANGES_FOLLOWERS ?? 8);
const WRITERS = 8;
/** A kill after so many writes, of one instance after the other. */
const KILL_EVERY = Math.max(150, WRITES / 20);
const GROUPS = 4;

interface Line {
  readonly event: string;
  readonly id: string;
  readonly revision: number;
}

/** How many announced changes were made. What was not stays announced for two minutes, as the database might make it yet. */
async function madeAndNotTold(db: Db): Promise<number> {
  let made = 0;
  for (const { _id, record, kind } of await db.collection("_journal_pending").find().toArray()) {
    const found = await db.collection("things").findOne({ _id: record });
    if (kind === "deleted" ? found === null : _id.equals(found?._change.e)) made += 1;
  }
  return made;
}

/** How many writes of a record were answered, and of how many nobody knows. */
interface Count {
  answered: number;
  unknown: number;
}

/** Follows for as long as the test takes, on one instance after the other. */
class Follower {
  readonly lines: Line[] = [];
  readonly resets: number[] = [];
  #isOver = false;
  #source: EventSource | undefined;
  #position: string | undefined;
  readonly #run: Promise<void>;
  readonly ready: Promise<void>;

  constructor(urls: () => string[], token: () => string, query: Record<string, unknown>) {
    let opened: () => void = () => {};
    this.ready = new Promise((resolve) => {
      opened = resolve;
    });
    this.#run = this.#follow(urls, token, query, opened);
  }

  async #follow(
    urls: () => string[],
    token: () => string,
    query: Record<string, unknown>,
    opened: () => void,
  ) {
    for (let turn = 0; !this.#isOver; turn += 1) {
      const base = urls()[turn % urls().length];
      const url = `${base}/things/changes${search(query)}`;
      const source = await openEvents(url, { Authorization: token() }, this.#position).catch(() => undefined);
      if (source === undefined) {
        await delay(50);
        continue;
      }
      this.#source = source;
      opened();
      if (this.#isOver) source.close();
      await source.ended();
      this.#take(source);
    }
  }

  #take(source: EventSource): void {
    for (const { event, data } of source.told) {
      if (event === "reset") this.resets.push(this.lines.length);
      if (CHANGES.includes(event)) this.lines.push({ event, id: data.id, revision: data.revision });
    }
    if (source.lastEventId !== "") this.#position = source.lastEventId;
  }

  /** Comes to its end once it has been told of this record. */
  async until(id: string): Promise<void> {
    while (
      !this.#source?.told.some(({ data }) => data?.id === id) &&
      !this.lines.some((line) => line.id === id)
    )
      await delay(50);
    this.#isOver = true;
    this.#source?.close();
    await this.#run;
  }

  async giveUp(): Promise<void> {
    this.#isOver = true;
    this.#source?.close();
    await this.#run;
  }
}

/** Writes one record after the other: makes it, changes it and one that all share, deletes some. */
async function write(
  api: () => Api,
  writer: number,
  mayGoOn: () => boolean,
  tally: Map<string, Count>,
  shared?: string,
): Promise<void> {
  for (let record = 0; mayGoOn(); record += 1) {
    const group = (writer + record) % GROUPS;
    const made = await api()
      .post("/things", { group, n: 0 })
      .catch(() => undefined);
    if (made?.status !== 201) {
      await delay(20);
      continue;
    }
    const id: string = made.body.data[0].id;
    tally.set(id, { answered: 1, unknown: 0 });
    const note = (status: number | undefined, of = id): void => {
      const count = tally.get(of);
      if (count === undefined) return;
      if (status === 200) count.answered += 1;
      else count.unknown += 1;
    };
    if (shared !== undefined) {
      const answer = await api()
        .patch(`/things/${shared}`, { n: record, group: record % GROUPS })
        .catch(() => undefined);
      note(answer?.status, shared);
    }
    for (let n = 1; n <= 5 && mayGoOn(); n += 1) {
      const answer = await api()
        .patch(`/things/${id}`, { n, group: (group + n) % GROUPS })
        .catch(() => undefined);
      note(answer?.status);
      if (answer === undefined) await delay(20);
    }
    if (record % 3 === 0) {
      const answer = await api()
        .delete(`/things/${id}`)
        .catch(() => undefined);
      note(answer?.status);
    }
  }
}

describe("over two instances that are killed in turns", () => {
  let [one, two]: Stack[] = [];
  let client: MongoClient;
  let inside: Api[] = [];
  let token = "";

  const stacks = (): Stack[] => [one, two].filter((stack) => stack !== undefined);

  beforeAll(async () => {
    one = await startStack();
    two = await startStack({ twinOf: one });
    const admin = await asAdmin(one);
    const { status } = await admin.post("/svc_table", {
      name: "things",
      changes: true,
      history: true,
      columns: [
        { name: "group", type: "int" },
        { name: "n", type: "int" },
      ],
    });
    expect(status).toBe(201);
    const { body } = await admin.post("/auth/login", one.admin);
    token = `Bearer ${body.accessToken}`;
    inside = await Promise.all(stacks().map((stack) => signIn(stack.dataUrl, stack.admin)));
    client = await MongoClient.connect(one.mongodbUrl);
  });

  afterAll(async () => {
    await client?.close();
    await two?.stop();
    await one?.stop();
  });

  it(`tells ${FOLLOWERS} followers of ${WRITES} writes`, async () => {
    const filters = Array.from({ length: FOLLOWERS }, (_, at) =>
      at % 2 === 0 ? {} : { filter: { group: at % GROUPS } },
    );
    const urls = stacks().map(({ dataUrl }) => dataUrl);
    const followers = filters.map(
      (query, at) =>
        new Follower(
          () => (at % 2 === 0 ? urls : urls.toReversed()),
          () => token,
          query,
        ),
    );
    await Promise.all(followers.map(({ ready }) => ready));

    const tally = new Map<string, Count>();
    const shared: string = (await (inside[0] as Api).post("/things", { group: 0, n: 0 })).body.data[0].id;
    tally.set(shared, { answered: 1, unknown: 0 });
    const answered = (): number => [...tally.values()].reduce((sum, each) => sum + each.answered, 0);
    let isKilling = true;
    const killing = (async () => {
      for (let kill = 1; kill * KILL_EVERY < WRITES; kill += 1) {
        while (answered() < kill * KILL_EVERY) await delay(10);
        const victim = stacks()[kill % 2];
        // In turns by surprise, and in good order.
        await victim?.dataService.stop(kill % 3 === 0 ? "SIGTERM" : "SIGKILL");
        await victim?.restartDataService();
      }
      isKilling = false;
    })();
    const writers = Array.from({ length: WRITERS }, (_, at) =>
      write(
        () => inside[at % 2] as Api,
        at,
        () => answered() < WRITES || isKilling,
        tally,
        shared,
      ),
    );
    await Promise.all([...writers, killing]);

    // What a killed process had written and not told is told by another, once that one is taken for dead.
    await until(
      () => madeAndNotTold(client.db()),
      (count) => count === 0,
      60_000,
    );
    const last: string[] = [];
    for (let group = 0; group < GROUPS; group += 1) {
      const made = await (inside[0] as Api).post("/things", { group, n: -1 });
      last.push(made.body.data[0].id);
    }
    await Promise.all(
      followers.map((follower, at) => follower.until(last[at % 2 === 0 ? GROUPS - 1 : at % GROUPS] ?? "")),
    );

    const journal = await client
      .db()
      .collection<{ _id: number }>("_journal")
      .find()
      .sort({ _id: 1 })
      .toArray();
    expect(journal.map(({ _id }) => _id)).toEqual(journal.map((_, at) => at + 1));
    // The journal has every answered write, and nothing twice.
    const revisions = new Map<string, number[]>();
    for (const entry of journal as unknown as Entry[]) {
      const id = String(entry.record);
      revisions.set(id, [...(revisions.get(id) ?? []), entry.revision]);
    }
    for (const [id, numbers] of revisions)
      expect([id, numbers]).toEqual([id, numbers.map((_, at) => at + 1)]);
    for (const [id, { answered: least, unknown }] of tally) {
      const told = revisions.get(id)?.length ?? 0;
      expect([id, told >= least, told <= least + unknown]).toEqual([id, true, true]);
    }
    // The records are what the journal says of them.
    const records = await client.db().collection("things").find().toArray();
    const alive = new Map(records.map(({ _id, _change }) => [String(_id), _change.n]));
    const latest = new Map((journal as unknown as Entry[]).map((entry) => [String(entry.record), entry]));
    expect(alive).toEqual(
      new Map(
        [...latest].filter(([, { kind }]) => kind !== "deleted").map(([id, { revision }]) => [id, revision]),
      ),
    );
    const kept = await client.db().collection("_history").countDocuments();
    expect(kept).toBe(journal.length);
    // And every follower was told just that.
    for (const [at, follower] of followers.entries()) {
      const group = at % 2 === 0 ? undefined : at % GROUPS;
      expect(follower.resets).toEqual([]);
      expect(differing(follower.lines, expected(journal as unknown as Entry[], group))).toEqual([]);
    }
    expect(answered()).toBeGreaterThanOrEqual(WRITES);
  }, 3_600_000);
});

interface Entry {
  readonly record: unknown;
  readonly kind: string;
  readonly revision: number;
  readonly before?: { readonly group?: number };
  readonly after?: { readonly group?: number };
}

/** What a follower of one group, or of all, is told. */
function expected(journal: readonly Entry[], group: number | undefined): Line[] {
  return journal.flatMap(({ record, kind, revision, before, after }) => {
    const matches = (image: Entry["before"]) =>
      image !== undefined && (group === undefined || image.group === group);
    const [was, is] = [matches(before), matches(after)];
    if (!was && !is) return [];
    const event = is
      ? was
        ? "updated"
        : kind === "created"
          ? kind
          : "entered"
      : kind === "deleted"
        ? kind
        : "left";
    return [{ event, id: String(record), revision }];
  });
}

function differing(lines: readonly Line[], wanted: readonly Line[]): unknown[] {
  const at = wanted.findIndex((line, index) => JSON.stringify(line) !== JSON.stringify(lines[index]));
  // The follower may have left before what came after the last it waited for.
  return at < 0 || at >= lines.length ? [] : [{ at, wanted: wanted[at], told: lines[at] }];
}

describe("on an engine that dies with its service", () => {
  let directory: string;
  let stack: Stack;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "portico-changes-"));
    stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
    const admin = await asAdmin(stack);
    await admin.post("/svc_table", {
      name: "things",
      changes: true,
      history: true,
      columns: [
        { name: "group", type: "int" },
        { name: "n", type: "int" },
      ],
    });
  });

  afterAll(async () => {
    await stack.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it("keeps and tells every answered write, through kills at random moments", async () => {
    const rounds = Math.max(4, WRITES / 500);
    const { body } = await (await asAdmin(stack)).post("/auth/login", stack.admin);
    const token = `Bearer ${body.accessToken}`;
    const follower = new Follower(
      () => [stack.dataUrl],
      () => token,
      {},
    );
    await follower.ready;
    const tally = new Map<string, Count>();
    const answered = (): number => [...tally.values()].reduce((sum, each) => sum + each.answered, 0);
    let repaired = 0;
    for (let round = 0; round < rounds; round += 1) {
      const inside = await signIn(stack.dataUrl, stack.admin);
      const victim = stack.dataService.process;
      const enough = answered() + WRITERS + 7 * round;
      const goesOn = (): boolean => {
        // In the very moment of an answer: others are half written then.
        if (answered() >= enough) victim.kill("SIGKILL");
        return !victim.killed;
      };
      const writers = Array.from({ length: WRITERS }, (_, at) => write(() => inside, at, goesOn, tally));
      await Promise.all(writers);
      await stack.dataService.stop("SIGKILL");
      await stack.restartDataService();
      if (stack.dataService.log().includes('"told":')) repaired += 1;
    }
    const admin = await signIn(stack.dataUrl, stack.admin);
    const last = (await admin.post("/things", { n: -1 })).body.data[0].id;
    await follower.until(last);

    const told = new Map<string, number[]>();
    for (const { id, revision } of follower.lines) told.set(id, [...(told.get(id) ?? []), revision]);
    expect(follower.resets).toEqual([]);
    for (const [id, numbers] of told) expect([id, numbers]).toEqual([id, numbers.map((_, at) => at + 1)]);
    for (const [id, { answered, unknown }] of tally) {
      const count = told.get(id)?.length ?? 0;
      expect([id, count >= answered, count <= answered + unknown]).toEqual([id, true, true]);
      const history = await admin.get(`/things/${id}/history`, { limit: "100" });
      expect([id, history.status, history.body.data.map((each: Line) => each.revision)]).toEqual([
        ...[id, 200],
        told.get(id)?.toReversed(),
      ]);
    }
    // Else the test has never hit what it is about.
    expect(repaired).toBeGreaterThan(0);
  }, 3_600_000);
});
