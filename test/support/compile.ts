// Runs the TypeScript compiler of the project over a folder of a test's own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "./run-state.js";

const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  target: "ES2023",
  lib: ["ES2023", "DOM", "DOM.Iterable"],
  module: "NodeNext",
  types: ["node"],
  rootDir: ".",
  outDir: "out",
};

/** Compiles every file of a folder, strictly, with the packages of the tests. @returns what the compiler says */
export async function compile(folder: string): Promise<{ readonly code: number; readonly output: string }> {
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: OPTIONS, include: ["*.ts"] }),
  );
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await symlink(join(projectRoot, "test/node_modules"), join(folder, "node_modules"));
  const { code, output } = await run(
    [join(projectRoot, "node_modules/typescript/bin/tsc"), "-p", folder],
    {},
  );
  return { code, output };
}

/** Runs a Node.js program to its end. @param env beside what a program needs anyway */
export async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = projectRoot,
): Promise<{ readonly code: number; readonly output: string; readonly errors: string }> {
  const base = { PATH: process.env.PATH, HOME: process.env.HOME };
  const child = spawn(process.execPath, [...args], {
    cwd,
    env: { ...base, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { output: "", errors: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    text.output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    text.errors += chunk.toString();
  });
  const [code] = await once(child, "close");
  return { code: Number(code), ...text };
}
