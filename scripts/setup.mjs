// Makes a fresh clone runnable: checks Node, installs what package.json names, builds what changed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { inTurn } from "./in-turn.mjs";
import { SetupError } from "./run-script.mjs";

/** The folder of the repository. */
export const ROOT = resolve(fileURLToPath(new URL("..", import.meta.url)));

/** Who has started this process: npm's shell, or a terminal. Asked at once, for it may have gone when all is set up. */
export const PARENT = process.ppid;

const MINIMUM_NODE = [20, 19];
const PNPM = "pnpm@10.34.9";
/** Each compiled project with the folder of its sources. */
const PROJECTS = { shared: "src", "data-service": "src", gateway: "src", test: "." };
const MANIFESTS = ["package.json", ...Object.keys(PROJECTS).map((project) => `${project}/package.json`)];
const STAMP = "node_modules/.portico-install";
/** Names the process that installs or builds. */
const TURN = ".portico-setup";

/**
 * Installs and builds as far as needed.
 * @param {string[]} projects what to build, with what it depends on
 */
export function setUp(projects) {
  checkNode();
  inTurn(join(ROOT, TURN), () => {
    install();
    build(projects);
  });
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [wantedMajor, wantedMinor] = MINIMUM_NODE;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  throw new SetupError(
    `Portico needs Node.js ${MINIMUM_NODE.join(".")} or newer; this is ${process.versions.node}.`,
  );
}

function install() {
  const wanted = installFingerprint();
  const stamp = join(ROOT, STAMP);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  requireWritable();
  console.error(`Installing dependencies with ${PNPM} …`);
  const args = [
    "--yes",
    PNPM,
    "install",
    "--frozen-lockfile",
    "--config.confirm-modules-purge=false",
    "--config.update-notifier=false",
  ];
  const failure = "Installing the dependencies failed; see above. It needs the npm registry.";
  // Until pnpm is done nothing is installed: going back to the former version would find its stamp over half of this one.
  rmSync(stamp, { force: true });
  runOrFail(process.platform === "win32" ? "npx.cmd" : "npx", args, failure);
  writeFileSync(stamp, wanted);
}

/** Changes with everything that decides what lies in node_modules. */
function installFingerprint() {
  const hash = createHash("sha256").update(`${PNPM} ${process.platform} ${process.arch}`);
  for (const file of ["pnpm-lock.yaml", "pnpm-workspace.yaml", ...MANIFESTS]) {
    hash.update(`\n${file}\n`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest("hex");
}

function build(projects) {
  const compile = (...flags) => {
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    runOrFail(process.execPath, [tsc, "-b", ...flags, ...projects], "The build failed; see above.");
  };
  removeOrphans(projects);
  compile();
  // The compiler trusts its own notes, not the folder: outputs that someone deleted stay away.
  if (projects.some(lacksOutput)) compile("--force");
}

/** A compiled file whose source is gone would still be imported, or run as a test. */
function removeOrphans(projects) {
  for (const project of projects) {
    const dist = join(ROOT, project, "dist");
    for (const output of filesUnder(dist, isOutput)) {
      if (existsSync(join(ROOT, project, PROJECTS[project], sourceOf(relative(dist, output))))) continue;
      requireWritable();
      rmSync(output);
    }
  }
}

function lacksOutput(project) {
  const sources = join(ROOT, project, PROJECTS[project]);
  const isSource = (path) => path.endsWith(".ts") && !path.endsWith(".d.ts");
  return filesUnder(sources, isSource).some(
    (path) => !existsSync(join(ROOT, project, "dist", relative(sources, path).replace(/\.ts$/, ".js"))),
  );
}

function isOutput(path) {
  return /\.(?:js|js\.map|d\.ts)$/.test(path);
}

function sourceOf(output) {
  return output.replace(/\.(?:js|js\.map|d\.ts)$/, ".ts");
}

function filesUnder(folder, isWanted) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return isWanted(path) ? [path] : [];
    return entry.name === "node_modules" || entry.name === "dist" ? [] : filesUnder(path, isWanted);
  });
}

function requireWritable() {
  try {
    accessSync(ROOT, constants.W_OK);
  } catch {
    throw new SetupError(`Portico installs and builds inside ${ROOT}, which can't be written.`);
  }
}

function runOrFail(command, args, failure) {
  // Output goes to stderr, so that stdout belongs to the services and the tests.
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ["ignore", 2, 2],
    env: environment(),
    shell: command.endsWith(".cmd"),
  });
  if (error !== undefined) throw new SetupError(`${command} can't be started (${error.message}).`);
  if (status !== 0) throw new SetupError(failure);
}

/** npm and pnpm take an empty HOME for a folder; without one they ask the system. */
function environment() {
  const { HOME, ...others } = process.env;
  return HOME === "" || HOME === undefined ? others : process.env;
}
