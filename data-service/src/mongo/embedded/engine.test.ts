// The embedded engine: keeps what it answered, dies with its process, explains why it can't open a folder.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { openEmbeddedEngine } from "./engine.js";
import { EngineError } from "./engine-error.js";
import { startProcess } from "./engine-fixture.js";
import { chooseSocketFolder } from "./engine-sockets.js";

const SOCKETS = new URL("./engine-sockets.js", import.meta.url).href;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-engine-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("openEmbeddedEngine", () => {
  it("serves a folder it makes, however deep, and finds the data again", async () => {
    const deep = join(folder, ...Array.from({ length: 10 }, () => "deep".repeat(10)));
    await write(deep, "first");
    expect(await write(deep, "second")).toEqual(["first", "second"]);
  });

  it("leaves the environment of this process alone", async () => {
    const engine = await openEmbeddedEngine(folder);
    expect(process.env.NAPI_RS_NATIVE_LIBRARY_PATH).toBeUndefined();
    await engine.close();
  });

  it("closes once, however often it is asked", async () => {
    const engine = await openEmbeddedEngine(folder);
    await Promise.all([engine.close(), engine.close()]);
    await engine.close();
  });

  it("answers when there are two indexes to choose from and none leads to a match soon", async () => {
    const engine = await openEmbeddedEngine(folder);
    const client = new MongoClient(engine.uri);
    const numbers = client.db("test").collection("numbers");
    await numbers.createIndexes([{ key: { a: 1 } }, { key: { b: 1 } }]);
    await numbers.insertMany(Array.from({ length: 5_000 }, (_, at) => ({ a: at, b: -at })));
    const none = { a: { $gte: 0 }, b: { $lte: 0 }, c: 1 };
    expect(await numbers.find(none).toArray()).toEqual([]);
    await client.close();
    await engine.close();
  });

  it("gives way to this process where the processor does not suffice, on Linux", async () => {
    // Tests of this process before may have left threads that give way, too.
    const before = new Set(await threads());
    const own = getPriority();
    const engine = await openEmbeddedEngine(folder);
    try {
      await insert(engine.uri, "a");
      const ofEngine = (await threads()).filter((id) => !before.has(id));
      const expected = process.platform === "linux" ? Math.max(own, 10) : own;
      expect([getPriority(), Math.max(own, ...(await nicenessOf(ofEngine)))]).toEqual([own, expected]);
    } finally {
      await engine.close();
    }
  });

  it("refuses a second folder in the same process", async () => {
    const engine = await openEmbeddedEngine(join(folder, "a"));
    await expect(openEmbeddedEngine(join(folder, "b"))).rejects.toThrow(
      /has an embedded engine open already/,
    );
    await engine.close();
  });

  it("does not mind files that are gone by the time it looks at them", async () => {
    await mkdir(join(folder, "journal"));
    // As those are listed, and not there.
    for (const each of ["gone", "journal/gone"]) await symlink(join(folder, "nowhere"), join(folder, each));
    expect(await write(folder, "first")).toEqual(["first"]);
  });

  it("says in one sentence that a path is no folder", async () => {
    const path = join(folder, "file");
    await writeFile(path, "");
    await expect(openEmbeddedEngine(path)).rejects.toThrow(
      `${path} isn't a folder: set DATA_DIR to a folder of yours, set MONGODB_URL to a MongoDB server, ` +
        "or run everything with `docker compose up`.",
    );
    await expect(openEmbeddedEngine(join(path, "x"))).rejects.toThrow(EngineError);
  });
});

describe("a process with the engine", () => {
  it("holds its folder alone, and a killed one leaves every answered write and no lock", async () => {
    const { child, uri } = await startProcess(folder);
    await insert(uri, "answered");
    await expect(openEmbeddedEngine(folder)).rejects.toThrow(
      /is in use by another process, probably a Portico that is running: stop that process/,
    );
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await write(folder, "after")).toEqual(["answered", "after"]);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("closes cleanly on %s", async (signal) => {
    const { child } = await startProcess(folder);
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("ends when whoever started it is gone", async () => {
    const { child } = await startProcess(folder);
    child.stdin?.end();
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

describe("chooseSocketFolder", () => {
  it("passes over folders that are missing or too deep for a socket", async () => {
    const deep = join(folder, "x".repeat(100));
    expect(await chooseSocketFolder([deep, "/nowhere", tmpdir()])).toBe(tmpdir());
    await expect(chooseSocketFolder([deep])).rejects.toThrow(
      /set TMPDIR to a writable folder with a short path/,
    );
  });
});

describe("removeStaleSockets", () => {
  it("removes what a killed engine left, and packages can be imported after it", async () => {
    const left = join(folder, "embedded-mongodb-abcdef");
    await mkdir(left);
    const listen = "net.createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))";
    await once(spawn(process.execPath, ["-e", listen, join(left, "mongodb.sock")]), "exit");
    // In a process of its own: what is imported here was found long ago.
    const script = `
      const { removeStaleSockets } = await import(${JSON.stringify(SOCKETS)});
      await removeStaleSockets(process.argv[1], Date.now() + 3_600_000);
      const { default: sharp } = await import("sharp");
      console.log(typeof sharp);`;
    const cwd = fileURLToPath(new URL("../../..", import.meta.url));
    const args = ["--input-type=module", "-e", script, folder];
    expect(spawnSync(process.execPath, args, { cwd, encoding: "utf8" })).toMatchObject({
      stdout: "function\n",
      stderr: "",
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

/** The ids of this process's threads; none where there is no /proc. */
async function threads(): Promise<string[]> {
  return process.platform === "linux" ? readdir("/proc/self/task") : [];
}

function nicenessOf(threadIds: readonly string[]): Promise<number[]> {
  return Promise.all(
    threadIds.map(async (id) => {
      const stat = await readFile(`/proc/self/task/${id}/stat`, "utf8").catch(() => "");
      // Behind the name, which may hold anything (proc_pid_stat(5), field 19).
      return Number(stat.split(") ").at(-1)?.split(" ")[16] ?? 0);
    }),
  );
}

/** Opens, writes, reads everything, closes. */
async function write(directory: string, name: string): Promise<string[]> {
  const engine = await openEmbeddedEngine(directory);
  try {
    return await insert(engine.uri, name);
  } finally {
    await engine.close();
  }
}

async function insert(uri: string, name: string): Promise<string[]> {
  const client = new MongoClient(uri, { writeConcern: { w: 1, journal: true } });
  try {
    const names = client.db("test").collection<{ name: string }>("names");
    await names.insertOne({ name });
    return (await names.find().sort({ _id: 1 }).toArray()).map((each) => each.name);
  } finally {
    await client.close();
  }
}
