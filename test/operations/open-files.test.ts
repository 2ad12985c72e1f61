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

/** What the engine is told to close, and when. */
const CLOSING = "file_manager=(close_idle_time=30,close_scan_interval=10,close_handle_minimum=250)";
/** The same with less to wait for. */
const CLOSING_SOON = "file_manager=(close_idle_time=2,close_scan_interval=1,close_handle_minimum=250)";

test("files of collections that nobody uses, or that were dropped, are closed", async () => {
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
    const engineSettings = client.db("admin");
    const { wiredTigerEngineRuntimeConfig: given } = await engineSettings.command({
      getParameter: 1,
      wiredTigerEngineRuntimeConfig: 1,
    });
    expect(given).toBe(CLOSING);
    await engineSettings.command({ setParameter: 1, wiredTigerEngineRuntimeConfig: CLOSING_SOON });
    await until(handles, (open) => open < before + 50);
    expect(await client.db("left").collection("things_7").countDocuments({ a: 1 })).toBe(0);
  } finally {
    await client.close();
    await stopEngine(engine);
    await rm(directory, { recursive: true, force: true });
  }
});
