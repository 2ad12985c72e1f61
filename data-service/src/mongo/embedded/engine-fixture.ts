// An engine in a process of its own, for tests.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./engine-main.js", import.meta.url));

export async function startProcess(directory: string): Promise<{ child: ChildProcess; uri: string }> {
  const child = spawn(process.execPath, [PROGRAM, directory], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  const { uri }: { uri: string } = JSON.parse(String(line));
  return { child, uri };
}
