// SCHEMA_FILE: applied before the first request; if it would lose data, the service does not start.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError } from "@portico/shared/app-error";
import { ConfigError } from "@portico/shared/env";
import { readSchemaFile, type SchemaFile } from "../catalog/schema-file.js";
import { isWithout } from "../permission/access-file.js";
import { applyWholeFile, type FileDifferences, type WholeFileDeps } from "./apply-whole-file.js";
import { CREATED, type FileDifference } from "./compare-tables.js";

/** @throws ConfigError with every problem; where a table is refused, tables, roles and rules stay as they were */
export async function applyAtStart(deps: WholeFileDeps, path: string): Promise<void> {
  const file = await read(path);
  try {
    const { tables, access } = await applyWholeFile(deps, file);
    const differences = [...tables, ...access];
    const problems = differences.flatMap(({ name, problems: own }) => own.map((each) => `${name}: ${each}`));
    if (problems.length > 0)
      throw new ConfigError([
        `SCHEMA_FILE can't be applied to the tables that are there. ${remedy(path, file, { tables, access })}`,
        ...problems,
      ]);
    for (const { name, changes } of tables)
      for (const change of changes)
        deps.logger.info({ table: name, change }, "SCHEMA_FILE has changed a table");
    for (const { name, changes } of access)
      for (const change of changes)
        deps.logger.info({ who: name, change }, "SCHEMA_FILE has changed who may do what");
  } catch (error) {
    if (error instanceof AppError) throw new ConfigError([`SCHEMA_FILE: ${error.message}`]);
    throw error;
  }
}

/** Names the file by its path: whoever runs the command may not have SCHEMA_FILE set. */
function remedy(path: string, { access }: SchemaFile, differences: FileDifferences): string {
  const isStopping = ({ problems }: FileDifference): boolean => problems.length > 0;
  const stopping = [...differences.tables, ...differences.access].filter(isStopping);
  const command = (words: string): string => `npm run schema -- ${words}`;
  const what = isWithout(access) ? " --tables" : "";
  // Of a table that is not there yet, nothing is.
  const isThere =
    differences.access.some(isStopping) || stopping.some(({ changes }) => !changes.includes(CREATED));
  const taking = `, or write what is there into it with: ${command(`pull ${quoted(resolve(path))}${what}`)}`;
  // Rules that are removed are not kept.
  const kept = differences.tables.some(isStopping) ? " (what it removes is kept for 30 days)" : "";
  const confirming = `, or apply it once with: ${command(`apply ${quoted(resolve(path))} --confirm`)}${kept}`;
  const renaming = ` What is renamed keeps its id in the file; ${command("pull current.json")} writes the tables with their ids.`;
  return [
    "Change the file",
    stopping.every(({ confirmable }) => confirmable) ? confirming : "",
    isThere ? taking : "",
    ".",
    stopping.some(({ looksRenamed }) => looksRenamed) ? renaming : "",
  ].join("");
}

/** Quoted for a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

async function read(path: string): Promise<SchemaFile> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`SCHEMA_FILE ${path} can't be read (${error.code ?? error.message}).`]);
  });
  const { problems, ...file } = readSchemaFile(text);
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `SCHEMA_FILE ${path}: ${problem}.`));
  return file;
}
