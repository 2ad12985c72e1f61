// `npm run schema -- pull|diff|apply`: tables as code, beside or without a running service.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "@portico/shared/app-error";
import { ConfigError } from "@portico/shared/env";
import { readSchemaFile, writeSchemaFile } from "./catalog/schema-file.js";
import { readConfig } from "./config.js";
import { type Deps, makeDeps, prepareTables } from "./deps.js";
import { EngineError } from "./mongo/embedded/engine-error.js";
import { applyFile, compareFile, type TableDifference } from "./schema/apply-file.js";

const USAGE = `usage: npm run schema -- <command> [file]
  pull  [file]             write the tables of the database into the file
  diff  [file]             show what apply would do; exit code 1 when there is a difference
  apply [file] [--confirm] make the tables what the file says; with --confirm also what loses data
The file is SCHEMA_FILE, or schema.json, unless it is named. The database is MONGODB_URL, or the one in DATA_DIR;
that one has room for one process, so the service must be stopped first.`;

const ONE_PROCESS =
  "The database in DATA_DIR has room for one process: stop the service first, or let it apply the file itself (SCHEMA_FILE).";

process.exitCode = await run(process.argv.slice(2)).catch(explain);

async function run(words: readonly string[]): Promise<number> {
  const [command = "", ...rest] = words.filter((word) => word !== "--" && word !== "--confirm");
  if (!["pull", "diff", "apply"].includes(command) || rest.length > 1) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  const config = readConfig({ LOG_LEVEL: "warn", ...process.env });
  const file = resolve(rest[0] ?? config.schemaFile ?? "schema.json");
  const deps = await makeDeps(config).catch((error: unknown) => {
    if (error instanceof EngineError) throw new ConfigError([...error.problems, ONE_PROCESS]);
    throw error;
  });
  try {
    await prepareTables(deps);
    if (command === "pull") return await pull(deps, file);
    const tables = await tablesOf(file);
    if (command === "diff") return show(await compareFile(deps.records, tables)) === "same" ? 0 : 1;
    const outcome = show(await applyFile(deps.records, tables, words.includes("--confirm")));
    return outcome === "stopped" ? 1 : 0;
  } finally {
    await deps.records.presence.stop();
    await deps.store.close();
  }
}

async function pull({ records }: Deps, file: string): Promise<number> {
  await writeFile(file, writeSchemaFile(await records.catalogStore.load()));
  process.stdout.write(`${file}\n`);
  return 0;
}

async function tablesOf(file: string) {
  const { tables, problems } = readSchemaFile(await readFile(file, "utf8"));
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`));
  return tables;
}

function show(differences: readonly TableDifference[]): "same" | "changes" | "stopped" {
  for (const { name, changes, problems, confirmable } of differences) {
    for (const change of changes) process.stdout.write(`${name}: ${change}\n`);
    for (const problem of problems)
      process.stdout.write(`${name}: ${confirmable ? "LOSES " : "WRONG "}${problem}\n`);
  }
  if (differences.length === 0) process.stdout.write("no difference\n");
  if (differences.some(({ problems }) => problems.length > 0)) return "stopped";
  return differences.length === 0 ? "same" : "changes";
}

function explain(error: unknown): number {
  const isExpected = error instanceof ConfigError || error instanceof AppError || isFileError(error);
  const text = error instanceof ConfigError ? error.problems.join("\n") : String(error);
  process.stderr.write(`${isExpected || !(error instanceof Error) ? text : error.stack}\n`);
  return 1;
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
