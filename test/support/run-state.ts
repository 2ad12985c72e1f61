// What set-up leaves for tear-down, and where built files lie.
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The engine started for this run. */
export const engineOfRun: { engine?: { process: ChildProcess; directory: string } } = {};

const ROOT = new URL("../../../", import.meta.url);

/** The built file of a package's module, such as `@portico/gateway/main`. */
export function fileOf(module: string): string {
  const path = module.replace(/^@portico\/([\w-]+)\/(.+)$/, "$1/dist/$2.js");
  return fileURLToPath(new URL(path, ROOT));
}

/** The project's top folder. */
export const projectRoot = fileURLToPath(ROOT);
