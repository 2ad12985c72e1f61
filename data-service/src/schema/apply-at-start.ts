// SCHEMA_FILE: applied before the first request; what would lose data stops the start instead.
import { readFile } from "node:fs/promises";
import { AppError } from "@portico/shared/app-error";
import { ConfigError } from "@portico/shared/env";
import { type FileTable, readSchemaFile } from "../catalog/schema-file.js";
import { applyFile } from "./apply-file.js";
import type { ChangeDeps } from "./change-deps.js";
import type { SchemaDeps } from "./create-table.js";

const REMEDY =
  "Change the file, or apply it once with: npm run schema -- apply --confirm (what it removes is kept for 30 days).";

/** @throws ConfigError with every problem, the tables being as they were */
export async function applyAtStart(deps: ChangeDeps & SchemaDeps, path: string): Promise<void> {
  const tables = await read(path);
  try {
    const differences = await applyFile(deps, tables);
    const problems = differences.flatMap(({ name, problems: own }) => own.map((each) => `${name}: ${each}`));
    if (problems.length > 0)
      throw new ConfigError([
        `SCHEMA_FILE can't be applied to the tables that are there. ${REMEDY}`,
        ...problems,
      ]);
  } catch (error) {
    if (error instanceof AppError) throw new ConfigError([`SCHEMA_FILE: ${error.message}`]);
    throw error;
  }
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
