// Answered writes survive `kill -9`, also many at once and next to reads, on an embedded engine of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { connectStore } from "./connect.js";

const ROUNDS = 4;
const ANSWERS_BEFORE_KILL = 150;

/** Eight writers and two readers; notes each answered write at once, and kills itself right after one. */
const WRITER = `
  import { writeSync } from "node:fs";
  const { connectStore } = await import(${JSON.stringify(new URL("./connect.js", import.meta.url).href)});
  const [address, round, limit] = process.argv.slice(1);
  const { db } = await connectStore(address);
  const writes = db.collection("writes");
  let next = 0;
  let answered = 0;
  const write = async () => {
    for (;;) {
      const _id = round + "-" + next++;
      await writes.insertOne({ _id });
      writeSync(1, _id + "\\n");
      if (++answered >= limit) process.kill(process.pid, "SIGKILL");
    }
  };
  const read = async () => {
    for (;;) await writes.find().limit(20).toArray();
  };
  await Promise.all([...Array.from({ length: 8 }, write), read(), read()]);
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-durability-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it("loses no answered write when the process is killed", async () => {
  const address = `mongodb_embedded://${folder}/mongodb`;
  const answered: string[] = [];
  for (let round = 0; round < ROUNDS; round++) answered.push(...(await writeUntilKilled(address, round)));
  const store = await connectStore(address);
  const kept = await store.db.collection<{ _id: string }>("writes").distinct("_id");
  await store.close();
  expect(answered.length).toBeGreaterThanOrEqual(ROUNDS * ANSWERS_BEFORE_KILL);
  const survivors = new Set(kept);
  expect(answered.filter((id) => !survivors.has(id))).toEqual([]);
});

/** @returns the ids of all writes that were answered before the end */
async function writeUntilKilled(address: string, round: number): Promise<readonly string[]> {
  const program = ["--input-type=module", "-e", WRITER, address, String(round), String(ANSWERS_BEFORE_KILL)];
  const child = spawn(process.execPath, program, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
  return output.split("\n").filter((line) => line !== "");
}
