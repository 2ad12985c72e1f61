// After all tests: the engine of the run stops, its data goes, and what the services answered must be documented.
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { engineOfRun } from "./run-state.js";

export default async function tearDown(): Promise<void> {
  await endEngine();
  await requireDocumented(process.env.PORTICO_UNDOCUMENTED ?? "");
}

/** Stops the engine of the run, if it has one, and removes its data. @throws when it had ended before */
export async function endEngine(): Promise<void> {
  const { engine } = engineOfRun;
  if (engine === undefined) return;
  const { exitCode, signalCode } = engine.process;
  // Whoever waits for an end that was before waits for ever.
  const end = signalCode ?? exitCode;
  if (end === null) {
    const ended = once(engine.process, "exit");
    engine.process.kill("SIGTERM");
    await ended;
  }
  await rm(engine.directory, { recursive: true, force: true });
  if (end !== null) throw new Error(`The engine of the run ended by itself (${end}).`);
}

/** Fails the run: see documented.ts. @param file where the tests have noted what is not in the document */
async function requireDocumented(file: string): Promise<void> {
  const problems = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  await rm(dirname(file), { recursive: true, force: true });
  if (problems.length === 0) return;
  const list = [...new Set(problems)].toSorted().map((each) => `  ${each}`);
  throw new Error(`Answers that the OpenAPI document does not have:\n${list.join("\n")}`);
}
