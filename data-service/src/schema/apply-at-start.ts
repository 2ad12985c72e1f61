// SCHEMA_FILE: applied before the first request; if it would lose data, the service does not start.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "@portico/shared/app-error";
import { ConfigError } from "@portico/shared/env";
import { type FileTable, readSchemaFile } from "../catalog/schema-file.js";
import { applyFile, type TableDifference } from "./apply-file.js";
import type { ChangeDeps } from "./change-deps.js";
import type { SchemaDeps } from "./create-table.js";

/** @throws ConfigError with every problem; the tables stay as they were */
export async function applyAtStart(deps: ChangeDeps & SchemaDeps, path: string): Promise<void> {
  const tables = await read(path);
  try {
    const differences = await applyFile(deps, tables);
    const problems = differences.flatMap(({ name, problems: own }) => own.map((each) => `${name}: ${each}`));
    if (problems.length > 0)
      throw new ConfigError([
        `SCHEMA_FILE can't be applied to the tables that are there. ${remedy(path, differences)}`,
        ...problems,
      ]);
    for (const { name, changes } of differences)
      for (const change of changes)
        deps.logger.info({ table: name, change }, "SCHEMA_FILE has changed a table");
  } catch (error) {
    if (error instanceof AppError) throw new ConfigError([`SCHEMA_FILE: ${error.message}`]);
    throw error;
  }
}

/** Names the file by its path: whoever runs the command may not have SCHEMA_FILE set. */
function remedy(path: string, differences: readonly TableDifference[]): string {
  const stopping = differences.filter(({ problems }) => problems.length > 0);
  const command = (words: string): string => `npm run schema -- ${words}`;
  const taking = `, or write the tables as they are into it with: ${command(`pull ${quoted(resolve(path))}`)}`;
  const confirming = `, or apply it once with: ${command(`apply ${quoted(resolve(path))} --confirm`)} (what it removes is kept for 30 days)`;
  const renaming = ` What is renamed keeps its id in the file; ${command("pull current.json")} writes the tables with their ids.`;
  return [
    "Change the file",
    stopping.every(({ confirmable }) => confirmable) ? confirming : "",
    taking,
    ".",
    stopping.some(({ looksRenamed }) => looksRenamed) ? renaming : "",
  ].join("");
}

/** Quoted for a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

async function read(path: string): Promise<readonly FileTable[]> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`SCHEMA_FILE ${path} can't be read (${error.code ?? error.message}).`]);
  });
  const { tables, problems } = readSchemaFile(text);
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `SCHEMA_FILE ${path}: ${problem}.`));
  return tables;
}
