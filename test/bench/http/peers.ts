// The set-ups of other products: each a folder with a manifest and a lock file of its own, installed when it is needed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../../support/run-state.js";

const PNPM = "pnpm@10.34.9";
const FOLDER = join(projectRoot, "test/bench/peers");

export type Peer = "feathers" | "parse" | "directus";

/** A file of the sources: the programs of peers are not compiled. */
export function peerFile(peer: Peer, path: string): string {
  return join(FOLDER, peer, path);
}

/**
 * Installs what the lock file names, unless it is there.
 * @param env for what is compiled
 * @throws when it can't
 */
export async function installPeer(
  peer: Peer,
  tell: (text: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const cwd = join(FOLDER, peer);
  const [lock, installed] = await Promise.all([
    readFile(join(cwd, "pnpm-lock.yaml"), "utf8"),
    // pnpm's note of what it has installed.
    readFile(join(cwd, "node_modules/.pnpm/lock.yaml"), "utf8").catch(() => undefined),
  ]);
  if (installed === lock) return;
  tell("installing");
  const child = spawn(
    "npx",
    ["--yes", PNPM, "install", "--frozen-lockfile", "--prefer-offline", "--loglevel=error"],
    {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`installing ${peer} ended with ${code}: see test/bench/peers/${peer}`);
}

/** Versions of installed packages. */
export async function versionsOf(peer: Peer, names: readonly string[]): Promise<Record<string, string>> {
  const pairs = names.map(async (name): Promise<[string, string]> => {
    const manifest = await readFile(peerFile(peer, `node_modules/${name}/package.json`), "utf8");
    return [name, String(JSON.parse(manifest).version)];
  });
  return Object.fromEntries(await Promise.all(pairs));
}
