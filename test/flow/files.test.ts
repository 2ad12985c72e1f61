// Files under load, when processes die, and with several instances: no record without bytes, no bytes without a record.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import {
  abortDownload,
  abortUpload,
  downloadBytes,
  growthDuring,
  inParallel,
  openUpload,
  type Target,
  uploadBytes,
} from "../files-load/load.js";
import { apiOf } from "../support/api.js";
import { startCluster } from "../support/cluster.js";
import { startEngine, stopEngine } from "../support/engine-of-run.js";
import { type Kept, keptIn, NOTHING_KEPT, uploaded } from "../support/files.js";
import { filePart, multipartBody } from "../support/multipart.js";
import { openHandles, pidOf } from "../support/process-facts.js";
import { ADMIN, type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

jest.setTimeout(180_000);

const MEBIBYTE = 1024 * 1024;
/** As large as GridFS keeps them (mongo/gridfs-content). */
const CHUNK_BYTES = 127 * 1024;

async function targetOf(appUrl: string): Promise<Target> {
  const { body } = await apiOf(`${appUrl}/api`).post("/auth/login", ADMIN);
  return { appUrl, headers: { Authorization: `Bearer ${body.accessToken}` } };
}

const same =
  (wanted: Kept) =>
  (kept: Kept): boolean =>
    JSON.stringify(kept) === JSON.stringify(wanted);

/** An upload that has sent so much, and goes on when it is told to. */
async function halfUpload(target: Target, database: MongoClient) {
  const request = openUpload(target);
  request.on("error", () => undefined);
  const [head = "", end = ""] = multipartBody([filePart("file", "slow.bin", "a/b", "|")])
    .toString()
    .split("|");
  const before = await keptIn(database);
  request.write(head);
  request.write(Buffer.alloc(MEBIBYTE));
  // All of it, so that nothing more comes before the end.
  await until(
    () => keptIn(database),
    ({ chunks }) => chunks === before.chunks + Math.floor(MEBIBYTE / CHUNK_BYTES),
    20_000,
  );
  return {
    async finish(): Promise<number> {
      const answered = once(request, "response");
      request.end(end);
      const [answer] = await answered;
      answer.resume();
      return answer.statusCode;
    },
  };
}

describe("many at once", () => {
  let stack: Stack;
  let database: MongoClient;
  let target: Target;
  beforeAll(async () => {
    stack = await startStack();
    database = await MongoClient.connect(stack.mongodbUrl);
    target = await targetOf(stack.appUrl);
  });
  afterAll(async () => {
    await database?.close();
    await stack?.stop();
  });

  test("20 uploads and downloads of 5 MB: each process takes 150 MiB at most for them", async () => {
    const processes = { gateway: pidOf(stack.gateway.process), data: pidOf(stack.dataService.process) };
    const id = await uploadBytes(target, 5_000_000);
    const growth = await growthDuring(processes, async () => {
      await inParallel(20, 20, () => uploadBytes(target, 5_000_000));
      await inParallel(20, 20, async () => expect(await downloadBytes(target, id)).toBe(5_000_000));
    });
    for (const bytes of Object.values(growth)) expect(bytes).toBeLessThan(150 * MEBIBYTE);
  });

  test("60 aborted uploads and downloads leave no bytes, notes, handles or sockets", async () => {
    const id = await uploadBytes(target, 5_000_000);
    const pids = [pidOf(stack.gateway.process), pidOf(stack.dataService.process)];
    const handles = () => Promise.all(pids.map(openHandles));
    const [before, kept] = [await handles(), await keptIn(database)];
    await inParallel(60, 10, (at) => abortUpload(target, (at % 10) * 100_000));
    await inParallel(60, 10, (at) => abortDownload(target, id, (at % 10) * 50_000));
    await until(() => keptIn(database), same(kept), 30_000);
    // Ten at once may have opened as many connections between the services and to the database, which are kept.
    await until(handles, (now) => now.every((count, at) => count <= (before[at] ?? 0) + 25), 30_000);
  });
});

describe("a data service that dies", () => {
  let stack: Stack;
  let database: MongoClient;
  let target: Target;
  beforeEach(async () => {
    stack = await startStack({ env: { UPLOAD_LEASE_SECONDS: "1" } });
    database = await MongoClient.connect(stack.mongodbUrl);
    target = await targetOf(stack.appUrl);
  });
  afterEach(async () => {
    await database?.close();
    await stack?.stop();
  });

  test("in the middle of an upload: what it had stored is swept after the next start", async () => {
    await halfUpload(target, database);
    await stack.dataService.stop("SIGKILL");
    expect((await keptIn(database)).chunks).toBeGreaterThan(0);
    await stack.restartDataService();
    await until(() => keptIn(database), same(NOTHING_KEPT), 30_000);
  });

  test("at any moment: every record has all its bytes, and there are no others; what was answered is there", async () => {
    const answered: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const uploads = inParallel(40, 4, async () => {
        const id = await uploadBytes(target, 400_000).catch(() => undefined);
        if (id !== undefined) answered.push(id);
      });
      const enough = answered.length + 6;
      await until(
        async () => answered.length,
        (count) => count >= enough,
        60_000,
      );
      await stack.dataService.stop("SIGKILL");
      await uploads;
      await stack.restartDataService();
    }
    await until(
      () => keptIn(database),
      ({ pending }) => pending === 0,
      30_000,
    );
    const db = database.db();
    const records = await db.collection("svc_file").find().toArray();
    const ids = records.map(({ _id }) => String(_id));
    expect(answered.filter((id) => !ids.includes(id))).toEqual([]);
    for (const id of ids) expect(await downloadBytes(target, id)).toBe(400_000);
    const stored = await db.collection("_content.chunks").distinct("files_id");
    expect(stored.map(String).toSorted()).toEqual(records.map(({ _contentKey }) => _contentKey).toSorted());
  });
});

test("on the embedded engine what is left is swept at the start, without waiting", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "portico-files-"));
  const mongodbUrl = `mongodb_embedded://${dataDir}/mongodb`;
  const stack = await startStack({ mongodbUrl, dataDir, env: { UPLOAD_LEASE_SECONDS: "3600" } });
  try {
    const target = await targetOf(stack.appUrl);
    const request = openUpload(target);
    request.on("error", () => undefined);
    const answered = once(request, "response").catch(() => undefined);
    const [head = ""] = multipartBody([filePart("file", "x", "a/b", "|")])
      .toString()
      .split("|");
    request.write(head);
    await new Promise((resolve) => request.write(Buffer.alloc(4 * MEBIBYTE), resolve));
    // With its answer, what was written before it is on disk.
    await uploadBytes(target, 1_000);
    await stack.dataService.stop("SIGKILL");
    await answered;
    const left = await keptInFolder(join(dataDir, "mongodb"));
    expect([left.records, left.pending, left.chunks > 1]).toEqual([1, 1, true]);
    await stack.restartDataService();
    await stack.dataService.stop();
    const kept = await keptInFolder(join(dataDir, "mongodb"));
    expect(kept).toEqual({ ...NOTHING_KEPT, records: 1, contents: 1, chunks: 1 });
  } finally {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

/** What lies in the folder of an embedded engine that nobody has open. */
async function keptInFolder(folder: string): Promise<Kept> {
  const engine = await startEngine(folder);
  const database = await MongoClient.connect(engine.uri.replace(/\/?(\?|$)/, "/portico$1"));
  const kept = await keptIn(database);
  await database.close();
  await stopEngine(engine);
  return kept;
}

describe("several instances", () => {
  test("sweep what another has left, and leave alone what another is still taking", async () => {
    const cluster = await startCluster({ env: { UPLOAD_LEASE_SECONDS: "1" } });
    const database = await MongoClient.connect(cluster.mongodbUrl);
    try {
      const [first, second] = await Promise.all(cluster.gateways.map(({ url }) => targetOf(url)));
      if (first === undefined || second === undefined) throw new Error("two gateways were asked for");
      const slow = await halfUpload(second, database);
      const { chunks } = await keptIn(database);
      await halfUpload(first, database);
      await cluster.dataServices[0]?.stop("SIGKILL");
      // Its note goes with its bytes; the other's stay, however often the lease would have run out.
      await until(
        () => keptIn(database),
        (kept) => kept.pending === 1 && kept.chunks === chunks,
        30_000,
      );
      expect(await slow.finish()).toBe(201);
      const kept = await keptIn(database);
      expect([kept.records, kept.contents, kept.pending]).toEqual([1, 1, 0]);
    } finally {
      await database.close();
      await cluster.stop();
    }
  });

  test("serve each other's files", async () => {
    const cluster = await startCluster();
    try {
      const [first, second] = cluster.gateways.map(({ url }) => url);
      const api = apiOf(`${first}/api`, (await targetOf(first ?? "")).headers);
      const { id } = await uploaded(api, "over there", "a.txt", { isPublic: "true" });
      expect(await (await fetch(`${second}/assets/${id}`)).text()).toBe("over there");
    } finally {
      await cluster.stop();
    }
  });
});
