// The embedded engine holds a file open for every collection and index in use, and lets go of the others.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import { startEngine, stopEngine } from "../support/engine-of-run.js";
import { openHandles, pidOf } from "../support/process-facts.js";
import { until } from "../support/wait.js";

const COLLECTIONS = 100;
const INDEXES = ["a", "b", "c"];

test("files of collections that nobody uses, or that were dropped, are closed within a minute", async () => {
  const directory = await mkdtemp(join(tmpdir(), "portico-files-"));
  const engine = await startEngine(directory);
  const client = await MongoClient.connect(engine.uri);
  const handles = () => openHandles(pidOf(engine.process));
  try {
    const before = await handles();
    for (const name of ["dropped", "left"]) {
      for (let at = 0; at < COLLECTIONS / 2; at += 1) {
        const keys = INDEXES.map((field) => ({ key: { [field]: 1 } }));
        await client.db(name).collection(`things_${at}`).createIndexes(keys);
      }
    }
    await client.db("dropped").dropDatabase();
    expect(await handles()).toBeGreaterThan(before + COLLECTIONS * INDEXES.length);
    await until(handles, (open) => open < before + 50, 70_000);
    expect(await client.db("left").collection("things_7").countDocuments({ a: 1 })).toBe(0);
  } finally {
    await client.close();
    await stopEngine(engine);
    await rm(directory, { recursive: true, force: true });
  }
}, 120_000);
