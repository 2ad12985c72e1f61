// POST /{table}/import: a file of records, read as it comes and written in batches by the road of every POST.
//
// A batch is all or none. The first one with a problem ends the import: what came before it stays, and the answer says
// on which line to go on. A dry run goes on to the end, or to a hundred bad lines, and writes nothing.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "../json.js";
import { asRefusal } from "../mongo/driver-errors.js";
import type { Principal } from "../principal.js";
import type { RecordDeps } from "../records/deps.js";
import { findTable } from "../records/find-table.js";
import { createBatch, type JudgedCreates, tryBatch, unknownMembers } from "../records/write.js";
import { importColumn } from "./csv-columns.js";
import { findTaken, type SeenValues } from "./find-taken.js";
import { csvRows, type Header } from "./read-csv.js";
import { ndjsonRows } from "./read-ndjson.js";
import type { Row } from "./rows.js";

/** Enough to make a round trip cheap, few enough that a bad line costs little of what comes before it. */
const BATCH_RECORDS = 500;
/** About as much text as a batch may hold in memory. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** Lines an answer tells about. */
const MOST_REJECTED = 100;

export interface ImportRequest {
  readonly principal: Principal;
  readonly table: string;
  readonly format: "csv" | "ndjson";
  readonly source: AsyncIterable<Uint8Array>;
  /** One record may be as large as the body of one POST. */
  readonly maxRowBytes: number;
  readonly dryRun: boolean;
  /** Records that begin before this line are passed over: they are there from an earlier import. */
  readonly from: number;
}

export interface Imported {
  readonly imported: number;
  /** Records that were looked at, passed-over ones left out. */
  readonly checked: number;
  readonly dryRun: boolean;
}

/** A line that is not imported, and why. */
interface Rejected {
  readonly line: number;
  readonly messages: readonly string[];
}

/** How far an import has come. */
interface Progress {
  imported: number;
  checked: number;
  /** The line on which the first record begins that is not imported. */
  next: number;
  readonly rejected: Rejected[];
  readonly seen: SeenValues;
}

/** @throws AppError 400 with the bad lines; any refusal says in `details` how much is imported */
export async function importRecords(deps: RecordDeps, request: ImportRequest): Promise<Imported> {
  await requireImportable(deps, request);
  const progress: Progress = { imported: 0, checked: 0, next: request.from, rejected: [], seen: new Map() };
  try {
    for await (const batch of batchesOf(rowsOf(deps, request), request.from)) {
      progress.next = batch[0]?.line ?? progress.next;
      await takeBatch(deps, request, batch, progress);
      const isOver = request.dryRun
        ? progress.rejected.length >= MOST_REJECTED
        : progress.rejected.length > 0;
      if (isOver) break;
    }
  } catch (error) {
    throw interrupted(error, request, progress);
  }
  if (progress.rejected.length > 0) throw refusalOf(request, progress);
  return { imported: progress.imported, checked: progress.checked, dryRun: request.dryRun };
}

/** Refuses before anything is read. The records of Portico's own tables are made by calls that do more than write. */
async function requireImportable(deps: RecordDeps, request: ImportRequest): Promise<void> {
  const rights = await deps.rights(request.principal);
  await deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, request.table);
    rights.require(catalog, table, "create");
    if (table.system)
      throw new AppError("BAD_REQUEST", `"${table.name}" is a table of Portico itself and takes no import.`);
  });
}

function rowsOf(deps: RecordDeps, request: ImportRequest): AsyncIterable<Row> {
  const { source, maxRowBytes } = request;
  if (request.format === "ndjson") return ndjsonRows(source, maxRowBytes);
  return csvRows(source, maxRowBytes, (names) => bindHeader(deps, request, names));
}

async function bindHeader(
  deps: RecordDeps,
  { principal, table: tableName }: ImportRequest,
  names: readonly string[],
): Promise<Header> {
  const rights = await deps.rights(principal);
  // A table that another instance has just changed may have what this one does not know yet.
  const catalog = await deps.catalogs.refresh();
  const table = findTable(catalog, tableName);
  const columns = names.map((name) => importColumn(name, table, catalog));
  const members = columns.map((column, at) => column?.name ?? names[at] ?? "");
  const unknown = unknownMembers(members, table, rights.write(catalog, table, "create"));
  const problems = members.flatMap((member, at) => {
    const [name = "", inner] = (names[at] ?? "").split(".");
    if (names[at] === "") return [`column ${at + 1} has no name`];
    const isKnown =
      inner !== undefined && unknownMembers([name], table, rights.write(catalog, table, "create")).size === 0;
    if (unknown.has(member) && isKnown && table.relations.has(name))
      return [
        `${names[at]}: of a linked record only the id can be imported, as "${name}"; leave this column out`,
      ];
    const problem = unknown.get(member);
    if (problem !== undefined) return [`${member}: ${problem}`];
    return members.indexOf(member) < at ? [`${member}: is named twice`] : [];
  });
  const found = columns.filter((column) => column !== undefined);
  return problems.length > 0 || found.length < names.length ? { problems } : { columns: found };
}

/** Rows from the named line on, in batches of bounded size. */
async function* batchesOf(rows: AsyncIterable<Row>, from: number): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let size = 0;
  for await (const row of rows) {
    if (row.line < from && !row.isLast) continue;
    batch.push(row);
    size += row.size;
    if (batch.length < BATCH_RECORDS && size < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

async function takeBatch(
  deps: RecordDeps,
  request: ImportRequest,
  batch: readonly Row[],
  progress: Progress,
): Promise<void> {
  progress.checked += batch.length;
  const isReadable = batch.every(({ problems }) => problems.length === 0);
  if (!request.dryRun && isReadable) {
    const refusal = await writeBatch(deps, request, batch);
    if (refusal === undefined) {
      progress.imported += batch.length;
      return;
    }
    progress.rejected.push(...(await examine(deps, request, batch, new Map())));
    // It was refused and nothing is wrong with it now: somebody else was in the way, and has gone.
    if (progress.rejected.length === 0)
      progress.rejected.push({ line: progress.next, messages: messagesOf(refusal) });
  } else {
    const bad = batch.filter(({ problems }) => problems.length > 0);
    const readable = batch.filter(({ problems }) => problems.length === 0);
    const seen = request.dryRun ? progress.seen : new Map();
    const rejected = await examine(deps, request, readable, seen);
    const all = [...bad.map(({ line, problems }) => ({ line, messages: problems })), ...rejected];
    progress.rejected.push(...all.toSorted((a, b) => a.line - b.line));
  }
}

/** @returns why the batch was refused @throws what is not about its records */
async function writeBatch(
  deps: RecordDeps,
  { principal, table }: ImportRequest,
  batch: readonly Row[],
): Promise<AppError | undefined> {
  try {
    await createBatch(deps, principal, table, batch.map(bodyOf));
    return undefined;
  } catch (error) {
    if (isAboutRecords(error)) return error;
    throw error;
  }
}

const ABOUT_RECORDS = ["VALIDATION_ERROR", "BAD_REQUEST", "FORBIDDEN", "DUPLICATE_RESOURCE", "CONFLICT"];

function isAboutRecords(error: unknown): error is AppError {
  return error instanceof AppError && ABOUT_RECORDS.includes(error.code);
}

/** Which rows would be refused, and why. Writes nothing. @param seen unique values of earlier rows; grows */
async function examine(
  deps: RecordDeps,
  request: ImportRequest,
  rows: readonly Row[],
  seen: SeenValues,
): Promise<Rejected[]> {
  const rejected: Rejected[] = [];
  const good: { row: Row; plan: JudgedCreates["plans"][number] }[] = [];
  let table: JudgedCreates["table"] | undefined;
  // Halves, until a refusal stands for a single row; a refusal that names its rows is taken at its word.
  const stack: (readonly Row[])[] = rows.length === 0 ? [] : [rows];
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    const judged = await judge(deps, request, part);
    if (!(judged instanceof AppError)) {
      table = judged.table;
      good.push(...part.flatMap((row, at) => ({ row, plan: judged.plans[at] })).filter(hasPlan));
      continue;
    }
    const named = byPosition(judged, part);
    rejected.push(...named.rejected);
    if (named.rejected.length > 0) {
      if (named.rest.length > 0) stack.push(named.rest);
    } else if (part.length === 1) rejected.push({ line: part[0]?.line ?? 0, messages: messagesOf(judged) });
    else stack.push(part.slice(part.length / 2), part.slice(0, part.length / 2));
  }
  if (table === undefined) return rejected.toSorted((a, b) => a.line - b.line);
  const inOrder = good.toSorted((a, b) => a.row.line - b.row.line);
  const taken = await findTaken(
    deps,
    table,
    inOrder.map(({ plan }) => plan),
    inOrder.map(({ row }) => row.line),
    seen,
  );
  for (const [at, message] of taken) rejected.push({ line: inOrder[at]?.row.line ?? 0, messages: [message] });
  return rejected.toSorted((a, b) => a.line - b.line);
}

function hasPlan<Plan>(each: { row: Row; plan: Plan | undefined }): each is { row: Row; plan: Plan } {
  return each.plan !== undefined;
}

async function judge(
  deps: RecordDeps,
  { principal, table }: ImportRequest,
  rows: readonly Row[],
): Promise<JudgedCreates | AppError> {
  try {
    return await tryBatch(deps, principal, table, rows.map(bodyOf));
  } catch (error) {
    if (isAboutRecords(error)) return error;
    throw error;
  }
}

function bodyOf({ body }: Row): Json {
  return body ?? null;
}

const POSITION = /^\[(\d+)\]\./;

/** Violations of a list begin with the position of their record. */
function byPosition(error: AppError, rows: readonly Row[]): { rejected: Rejected[]; rest: Row[] } {
  const messages = new Map<number, string[]>();
  for (const message of messagesOf(error)) {
    const position = POSITION.exec(message);
    if (position === null) return { rejected: [], rest: [...rows] };
    const at = Number(position[1]);
    messages.set(at, [...(messages.get(at) ?? []), message.slice(position[0].length)]);
  }
  const rejected = [...messages].map(([at, list]) => ({ line: rows[at]?.line ?? 0, messages: list }));
  return { rejected, rest: rows.filter((_, at) => !messages.has(at)) };
}

function messagesOf(error: AppError): string[] {
  return [error.messages].flat();
}

function refusalOf(request: ImportRequest, progress: Progress): AppError {
  const rejected = progress.rejected.slice(0, MOST_REJECTED);
  const lines = rejected.map(({ line, messages }) => ({ line, messages: messages.slice(0, 20) }));
  return new AppError("VALIDATION_ERROR", {
    message: lines.flatMap(({ line, messages }) => messages.map((message) => `line ${line}: ${message}`)),
    details: { ...stateOf(request, progress), rejected: lines },
  });
}

/** Whatever ends an import in the middle, the client is told how much of it is there. */
function interrupted(error: unknown, request: ImportRequest, progress: Progress): unknown {
  const refusal = asRefusal(error);
  const cause = refusal instanceof AppError ? refusal : new AppError("INTERNAL_ERROR", { cause: error });
  const { code, messages, headers, details } = cause;
  return new AppError(code, {
    message: messages,
    headers,
    cause: cause.cause ?? error,
    details: { ...details, ...stateOf(request, progress) },
  });
}

function stateOf({ dryRun }: ImportRequest, { imported, next }: Progress) {
  return { imported, dryRun, ...(dryRun ? {} : { next }) };
}
