// `npm run schema -- pull|diff|apply|infer`: tables as code, beside or without a running service.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ConfigError } from "@portico/shared/env";
import { readSchemaFile, type SchemaFile, writeSchemaFile } from "./catalog/schema-file.js";
import { type Config, readConfig } from "./config.js";
import {
  commandSettings,
  explainFailure,
  openedToRead,
  withDatabase,
  withReadDatabase,
} from "./database-command.js";
import type { Deps } from "./deps.js";
import { connectStore } from "./mongo/connect.js";
import { requireDatabase } from "./mongo/open-address.js";
import { makeDatabaseReader } from "./mongo/read-profile.js";
import { describeStore } from "./mongo/store-address.js";
import { linkedElsewhere, openedElsewhere } from "./permission/compare-access.js";
import {
  applyWholeFile,
  compareWholeFile,
  type FileDifferences,
  pullWholeFile,
} from "./schema/apply-whole-file.js";
import type { FileDifference } from "./schema/compare-tables.js";
import { inferDatabase } from "./schema/infer-database.js";
import { writeNew, writeWhole } from "./write-whole.js";

const USAGE = `usage: npm run schema -- <command> [file]
  pull  [file] [--tables]  write the tables of the database into the file, with its roles and rules;
                           with --tables without these
  diff  [file]             show what apply would do; exit code 1 when there is a difference, 2 for a failure
  apply [file] [--confirm] make tables, roles and rules what the file says; with --confirm also what loses data
  infer [file] --database <url>
                           write a file whose tables serve the collections of an existing database as they are;
                           nothing is written to that database, and no file is overwritten
The file is SCHEMA_FILE, or schema.json, unless it is named. The database is MONGODB_URL, or the one in DATA_DIR;
that one has room for one process, so the service must be stopped first, unless it is only read (pull, diff, infer).
ENCRYPTION_KEY is that of the service, if it is not in DATA_DIR.`;

const ONE_PROCESS = "The database in DATA_DIR has room for one process: stop the service first";
const TO_READ = `${ONE_PROCESS}.`;
const TO_APPLY = `${ONE_PROCESS}, or let it apply the file itself (SCHEMA_FILE).`;

const COMMANDS = ["pull", "diff", "apply", "infer"] as const;

/** A command line that makes no sense, with what is wrong about it. */
class WrongCall extends Error {}

const WORDS = process.argv.slice(2);

process.exitCode = await run(WORDS).catch((error: unknown) => {
  if (error instanceof WrongCall) {
    process.stderr.write(`${error.message}\n${USAGE}\n`);
    return 2;
  }
  const code = explainFailure(error);
  // As diff(1): 1 is a difference.
  return WORDS.find((word) => word !== "--") === "diff" ? 2 : code;
});

async function run(words: readonly string[]): Promise<number> {
  const { command, file: named, database, isConfirmed, isTablesOnly } = readCall(words);
  const url = database === undefined ? {} : { MONGODB_URL: database };
  const config = readConfig({ ...commandSettings(process.env), ...url });
  const file = resolve(named ?? config.schemaFile ?? "schema.json");
  if (command === "infer") return infer(config, file);
  if (command === "pull") return withReadDatabase(config, TO_READ, (deps) => pull(deps, file, isTablesOnly));
  if (command === "diff") return withReadDatabase(config, TO_READ, (deps) => diff(deps, file));
  return withDatabase(config, TO_APPLY, async (deps) => {
    const differences = flat(await applyWholeFile(deps.records, await read(file), isConfirmed));
    if (show(differences) !== "stopped") return 0;
    process.stderr.write(`${nothingApplied(differences)}\n`);
    return 1;
  });
}

interface Call {
  readonly command: (typeof COMMANDS)[number];
  readonly file: string | undefined;
  readonly database: string | undefined;
  readonly isConfirmed: boolean;
  readonly isTablesOnly: boolean;
}

/** @throws WrongCall when the words make no sense */
function readCall(words: readonly string[]): Call {
  const { values, positionals } = parseWords(words.filter((word) => word !== "--"));
  const [named, file, tooMany] = positionals;
  if (named === undefined) throw new WrongCall("Say what to do: pull, diff, apply or infer.");
  const command = COMMANDS.find((each) => each === named);
  if (command === undefined) throw new WrongCall(`"${named}" is none of pull, diff, apply and infer.`);
  if (tooMany !== undefined) throw new WrongCall(`"${tooMany}" is one word too many.`);
  const { database, confirm, tables } = values;
  if (command !== "infer" && database !== undefined)
    throw new WrongCall(
      `${command} takes no --database: its database is MONGODB_URL, or the one in DATA_DIR.`,
    );
  if (command !== "apply" && confirm === true) throw new WrongCall(`${command} takes no --confirm.`);
  if (command !== "pull" && tables === true) throw new WrongCall(`${command} takes no --tables.`);
  return { command, file, database, isConfirmed: confirm === true, isTablesOnly: tables === true };
}

function parseWords(args: string[]) {
  try {
    const options = {
      database: { type: "string" },
      confirm: { type: "boolean" },
      tables: { type: "boolean" },
    } as const;
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Only Node's first sentence helps here.
    const [sentence = ""] = error.message.split(/\.\s|\n/, 1);
    throw new WrongCall(`${sentence.replace(/\.$/, "")}.`);
  }
}

/** Only reads the database: no table is made there, and nothing of the service is started. */
async function infer(config: Config, file: string): Promise<number> {
  requireDatabase(config.mongodbUrl, "--database or MONGODB_URL says where it is");
  const isThere = new ConfigError([`Nothing is inferred: ${file} exists, and is left as it is.`]);
  // Before anything is read: that of a large database takes long.
  if (existsSync(file)) throw isThere;
  const store = await openedToRead(config.mongodbUrl, TO_READ, (address) => connectStore(address));
  try {
    const reader = makeDatabaseReader(store.db, config.systemTablePrefix);
    const { tables, notes } = await inferDatabase(reader, config.systemTablePrefix);
    await writeNew(file, `${JSON.stringify({ tables }, null, 2)}\n`, isThere);
    process.stdout.write(`${[...notes, file].join("\n")}\n`);
    return 0;
  } finally {
    await store.close();
  }
}

/** A database without tables is more often the wrong one than the right one: an existing file must not be lost to it. */
async function pull({ records, config }: Deps, file: string, isTablesOnly: boolean): Promise<number> {
  const { tables, access } = isTablesOnly
    ? { tables: await records.catalogStore.load(), access: undefined }
    : await pullWholeFile(records);
  const isThere = new ConfigError([
    `Nothing is pulled: ${describeStore(config)} has no tables, so ${file} is left as it is.`,
  ]);
  const text = writeSchemaFile(tables, access);
  await (tables.length === 0 ? writeNew(file, text, isThere) : writeWhole(file, text));
  process.stdout.write(`${file}\n`);
  if (access === undefined) return 0;
  const linked = linkedElsewhere(access, await records.catalogs.get());
  for (const warning of [...openedElsewhere(access), ...linked]) process.stderr.write(`${warning}\n`);
  return 0;
}

async function diff({ records }: Deps, file: string): Promise<number> {
  return show(flat(await compareWholeFile(records, await read(file)))) === "same" ? 0 : 1;
}

function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`${file} can't be read (${error.code}); npm run schema -- pull writes one.`]);
  });
}

async function read(file: string): Promise<SchemaFile> {
  const { problems, ...said } = readSchemaFile(await readText(file));
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`));
  return said;
}

function flat({ tables, access }: FileDifferences): readonly FileDifference[] {
  return [...tables, ...access];
}

function show(differences: readonly FileDifference[]): "same" | "changes" | "stopped" {
  for (const { name, changes, problems, confirmable } of differences) {
    for (const change of changes) process.stdout.write(`${name}: ${change}\n`);
    for (const problem of problems)
      process.stdout.write(`${name}: ${confirmable ? "LOSES " : "WRONG "}${problem}\n`);
  }
  if (differences.length === 0) process.stdout.write("no difference\n");
  if (differences.some(({ problems }) => problems.length > 0)) return "stopped";
  return differences.length === 0 ? "same" : "changes";
}

function nothingApplied(differences: readonly FileDifference[]): string {
  const isWrong = differences.some(({ problems, confirmable }) => problems.length > 0 && !confirmable);
  const remedy = isWrong
    ? "put right what is marked WRONG first"
    : "with --confirm what is marked LOSES is done as well";
  return `Nothing was applied: ${remedy}.`;
}
