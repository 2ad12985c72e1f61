// What `npm start` does first: dependencies are installed when they are not the wanted ones.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";

const MANIFESTS = [
  "package.json",
  ..."shared data-service gateway test".split(" ").map((each) => `${each}/package.json`),
];
const SCRIPTS = ["setup", "in-turn", "run-script"].map((name) => `scripts/${name}.mjs`);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-setup-"));
  const compiler = "node_modules/typescript/bin/tsc";
  for (const file of [...MANIFESTS, "pnpm-workspace.yaml", compiler]) await write(file, "");
  await mkdir(join(folder, "scripts"));
  for (const name of SCRIPTS) await copyFile(join(projectRoot, name), join(folder, name));
  // In place of npm's: it notes the lock file that it was run for.
  await write("bin/npx", '#!/bin/sh\ncat pnpm-lock.yaml >> installed; [ "$(cat pnpm-lock.yaml)" != broken ]');
  await chmod(join(folder, "bin/npx"), 0o755);
});
afterEach(() => rm(folder, { recursive: true }));

async function write(file: string, text: string): Promise<void> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const PROGRAM = `import { runScript } from "./scripts/run-script.mjs"; import { setUp } from "./scripts/setup.mjs"; await runScript(async () => setUp([]));`;
const ARGUMENTS = ["--input-type=module", "--eval", PROGRAM];
const options = () => ({
  cwd: folder,
  env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env.PATH}` },
});

/** Sets a version up that has this lock file. @returns the exit code */
async function setUp(lock: string): Promise<number | null> {
  await write("pnpm-lock.yaml", lock);
  return spawnSync(process.execPath, ARGUMENTS, options()).status;
}

const installed = () => readFile(join(folder, "installed"), "utf8");

it("a version is installed once", async () => {
  expect([await setUp("one,"), await setUp("one,"), await setUp("two,")]).toEqual([0, 0, 0]);
  expect(await installed()).toBe("one,two,");
});

it("a version is installed again after another one was installed only in part", async () => {
  expect([await setUp("one,"), await setUp("broken"), await setUp("one,")]).toEqual([0, 1, 0]);
  expect(await installed()).toBe("one,brokenone,");
});

it("several starts at once install in turn, and only the first has something to do", async () => {
  await write("bin/npx", "#!/bin/sh\nsleep 0.5; cat pnpm-lock.yaml >> installed");
  await write("pnpm-lock.yaml", "one,");
  const starts = [1, 2, 3].map(() => spawn(process.execPath, ARGUMENTS, options()));
  const codes = await Promise.all(starts.map(async (start) => (await once(start, "exit"))[0]));
  expect(codes).toEqual([0, 0, 0]);
  expect(await installed()).toBe("one,");
});

it("the turn of a start that was killed is over", async () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  await write(".portico-setup", String(pid));
  expect(await setUp("one,")).toBe(0);
  expect(await installed()).toBe("one,");
});

it("the turn of a start that was killed is over for one that has its number now, as happens in containers", async () => {
  await write("pnpm-lock.yaml", "one,");
  const left = `import { writeFileSync } from "node:fs"; writeFileSync(".portico-setup", String(process.pid));`;
  const again = ["--input-type=module", "--eval", left + PROGRAM];
  expect(spawnSync(process.execPath, again, { ...options(), timeout: 10_000 }).status).toBe(0);
});

it.each([
  ["before it had named itself", "", 6_000],
  ["and whose number another process has by now", String(process.pid), 16 * 60_000],
])("the turn of a start that was killed %s is over after a while", async (_when, holder, ms) => {
  await write(".portico-setup", holder);
  const then = new Date(Date.now() - ms);
  await utimes(join(folder, ".portico-setup"), then, then);
  expect(await setUp("one,")).toBe(0);
  expect(await installed()).toBe("one,");
});

it("whoever waits for a turn says for whose", async () => {
  await write(".portico-setup", String(process.pid));
  await write("pnpm-lock.yaml", "one,");
  const start = spawn(process.execPath, ARGUMENTS, options());
  const [said] = await once(start.stderr, "data");
  await rm(join(folder, ".portico-setup"));
  expect((await once(start, "exit"))[0]).toBe(0);
  expect(String(said)).toBe(`Waiting for process ${process.pid}, which is setting Portico up …\n`);
});

it("a turn that can't be removed keeps nobody from starting what is set up already", async () => {
  expect(await setUp("one,")).toBe(0);
  const { pid } = spawnSync(process.execPath, ["--version"]);
  await write(".portico-setup", String(pid));
  await chmod(folder, 0o555);
  // Root may remove whatever it wants to.
  const someUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const again = spawnSync(process.execPath, ARGUMENTS, { ...options(), ...someUser });
  await chmod(folder, 0o755);
  expect([again.status, String(again.stderr)]).toEqual([0, ""]);
  expect(await readFile(join(folder, ".portico-setup"), "utf8")).toBe(String(pid));
});
