// Who only reads an embedded database need not be able to open it while a service has it open.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { type EmbeddedEngine, openEmbeddedEngine } from "./embedded/engine.js";
import { noteAddress } from "./embedded/engine-address.js";
import { startProcess } from "./embedded/engine-fixture.js";
import { openToRead } from "./open-address.js";

let folder: string;
let other: EmbeddedEngine;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-open-"));
  // A process has one engine at a time, so this one can't open another folder, whoever has that.
  other = await openEmbeddedEngine(join(folder, "other"));
});
afterEach(async () => {
  await other.close();
  await rm(folder, { recursive: true, force: true });
});

it("a database that can't be opened is read through the service that has it open, and only while that runs", async () => {
  const directory = join(folder, "data");
  const { child, uri } = await startProcess(directory);
  await noteAddress(directory, uri);
  const read = () => openToRead(`mongodb_embedded://${directory}`);
  expect(await read()).toMatchObject({ url: uri, isShared: true });
  child.kill("SIGKILL");
  await once(child, "exit");
  await expect(read()).rejects.toThrow(/has an embedded engine open already/);
  await noteAddress(directory, "");
  await expect(read()).rejects.toThrow(/has an embedded engine open already/);
});
