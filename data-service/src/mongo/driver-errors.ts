// Errors of the MongoDB driver -> refusals in the words of the API. No driver text gets through.
import { AppError, unavailable } from "@portico/shared/app-error";
import { ConfigError } from "@portico/shared/env";
import {
  MongoBulkWriteError,
  MongoError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoServerError,
  MongoSystemError,
  MongoWriteConcernError,
} from "mongodb";
import { memberIn, type Table } from "../catalog/catalog.js";
import { keyName } from "../catalog/index-names.js";
import { type IndexSpec, indexesOf } from "../catalog/indexes.js";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import { RecordTooLarge, Taken, tookTooLong } from "../store-refusals.js";

const DUPLICATE_KEY = 11_000;
const TIME_LIMIT = 50;
const TYPE_MISMATCH = 14;
/** The collection has a validator, given to it by another program. */
const VALIDATION_FAILED = 121;
/** A router of an old MongoDB that changes a single document only where it is told the whole key by which they are sharded. */
const SHARD_KEY_NOT_FOUND = 61;
/** An index is not begun with less than 500 MB free. */
const OUT_OF_DISK_SPACE = 14_031;
/**
 * The server is going away or has lost its role: shutting down, stepping down, host unreachable. Or others have not answered it
 * in time: members of its set (64, 134, 262), a shard without a primary, as a router says (133), or the network (9001). None of
 * them is what `maxTimeMS` ends with (50).
 */
const AWAY = [6, 7, 64, 89, 91, 133, 134, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436];
/** The server has ended a read by itself: its index or cursor is gone, or the server has too much to do. */
const INTERRUPTED = [43, 175, 237, 365];
/** A document, a parent with its children, or all children of a join, is more than the server can hold at once. */
const TOO_LARGE = [4_568, 10_334, 17_419, 17_420];

/** More nested joins than the server allows: MongoDB has one code for this and one for views. */
const TOO_DEEP = [165, 232];

/** What the server says about a document that is too large to be inserted. */
const BAD_VALUE = 2;
/** What the driver says about one, and its encoder, whose buffer has 17 MB. */
const BEFORE_SENDING = /larger than the maximum size|The value of "offset" is out of range/;

/** The refusal for a failed database call; anything unforeseen stays what it is and becomes a 500. */
export function asRefusal(error: unknown, table?: Table): unknown {
  if (isUnreachable(error)) return away(error);
  if (isUnsent(error)) return busy(error);
  if (error instanceof MongoServerError) return serverRefusal(error, table);
  return error;
}

/** Was no server reached, or was the connection to it lost? */
function isUnreachable(error: unknown): boolean {
  // The driver wraps whatever ended a bulk write; without a code it was not an answer from the server.
  if (error instanceof MongoBulkWriteError) return error.code === undefined && !isUnsent(error);
  return error instanceof MongoNetworkError || error instanceof MongoSystemError || isClosed(error);
}

/**
 * Did it end while it waited for a free connection? A large bulk write goes in several commands, each of which waits for one:
 * it is unsent only if none before has done anything.
 */
export function isUnsent(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError))
    return error instanceof MongoError && error.name === "MongoWaitQueueTimeoutError";
  const { insertedCount, matchedCount, upsertedCount, deletedCount } = error;
  // What the driver has wrapped.
  return isUnsent(error.errorResponse) && insertedCount + matchedCount + upsertedCount + deletedCount === 0;
}

/** The driver's own errors for a client that is being closed. */
function isClosed(error: unknown): boolean {
  return (
    error instanceof MongoError &&
    /^Mongo(NotConnected|TopologyClosed|ClientClosed|PoolClosed)Error$/.test(error.name)
  );
}

/** Is this the code of a server that is going away? Nobody knows whether it still did what it was asked. */
export function isAway(code: unknown): boolean {
  return typeof code === "number" && AWAY.includes(code);
}

/** Is it written, but not by enough members of the set, so that it may be lost? They may have any reason, so any code. */
export function isUnconfirmed(error: unknown): boolean {
  if (error instanceof MongoBulkWriteError) return error.result.getWriteConcernError() !== undefined;
  return error instanceof MongoWriteConcernError;
}

/** Has the server ended a read by itself, so that asking again at once may help? */
export function isInterrupted(error: unknown): boolean {
  return (
    error instanceof MongoServerError && typeof error.code === "number" && INTERRUPTED.includes(error.code)
  );
}

/** Was the answer lost on its way, or is its server gone? The driver asks again by itself, but not for every command. */
export function isLost(error: unknown): boolean {
  return error instanceof MongoNetworkError || (error instanceof MongoServerError && isAway(error.code));
}

/**
 * Is it unknown whether a write that ended like this was done? It is, even where no server could be found: the driver sends
 * a write again by itself, and reports only how the second attempt went.
 */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof Away) return true;
  if (isUnreachable(error) || isUnconfirmed(error)) return true;
  return error instanceof MongoServerError && isAway(error.code);
}

/** The refusal while the database is away. */
export function away(cause: unknown): AppError {
  return new Away(cause);
}

/**
 * For whatever follows a write that was made: however it failed, whoever sent the write must not take that for a refusal.
 * @throws AppError 503 that counts as unanswered; errors of our own code as they are
 */
export function throwAway(error: unknown): never {
  throw error instanceof MongoError || error instanceof AppError ? away(error) : error;
}

class Away extends AppError {
  constructor(cause: unknown) {
    const { code, headers } = unavailable("", 2);
    super(code, { message: "The database can not be reached; try again shortly.", headers, cause });
  }
}

/** The refusal when all connections were in use for as long as a request may wait for one. */
function busy(cause: unknown): AppError {
  return unavailable("The database has too much to do; try again in a moment.", 2, cause);
}

/** The refusal of something that the server has not finished. */
function interrupted(cause: unknown): AppError {
  return unavailable(
    "The database interrupted this, as it may while a table is being changed; try again.",
    2,
    cause,
  );
}

function serverRefusal(error: MongoServerError, table: Table | undefined): unknown {
  if (error.code === DUPLICATE_KEY && table !== undefined) return duplicate(error, table);
  if (error.code === VALIDATION_FAILED) return againstValidator(error, table);
  if (error.code === SHARD_KEY_NOT_FOUND) return shardedOtherwise(error);
  if (isAway(error.code) || isUnconfirmed(error)) return away(error);
  if (error.code === TIME_LIMIT) return tookTooLong(error);
  if (isInterrupted(error)) return interrupted(error);
  if (error.code === OUT_OF_DISK_SPACE)
    return unavailable("The database's disk is nearly full; try again when there is room.", 60, error);
  if (isTooLarge(error)) return new RecordTooLarge(error);
  if (typeof error.code === "number" && TOO_DEEP.includes(error.code)) return tooDeep(error);
  if (error.code === BAD_VALUE && /parallel arrays/.test(error.message)) return listsInTwo(error);
  if (isTypeMismatch(error) && NO_NUMBER.test(error.message)) return uncountable(error, table);
  return error;
}

function tooDeep(cause: unknown): AppError {
  const message =
    "The query, with the rules for what it asks, goes through more relations than the database takes; ask for fewer levels.";
  return new AppError("BAD_REQUEST", { message, cause });
}

function shardedOtherwise(cause: unknown): AppError {
  const message =
    "The collection is sharded by another key than its ids, by which this MongoDB changes no single record.";
  return new AppError("CONFLICT", { message, cause });
}

/** Other programs may store lists where a column has single values. */
function listsInTwo(cause: unknown): AppError {
  const message =
    "sort: a record holds lists in two of these columns, which have no order; sort by one of them.";
  return new AppError("BAD_REQUEST", { message, cause });
}

/** What the server says where it should add to something else than a number. */
const NO_NUMBER =
  /Cannot apply \$inc to a value of non-numeric type|\$add only supports numeric or date types/;

/** Only fields of our own are added to; in an adopted collection another program may have one of the same name. */
function uncountable(error: MongoServerError, table: Table | undefined): AppError {
  const where = table === undefined ? "" : `"${table.name}": `;
  const message = `${where}a field in which Portico counts the changes of a record, such as ${VERSION_FIELD}, holds no number: another program has written it; remove it there.`;
  return new AppError("CONFLICT", { message, cause: error });
}

function isTooLarge({ code }: MongoServerError): boolean {
  return typeof code === "number" && TOO_LARGE.includes(code);
}

/** For a failed write. @throws AppError 400 for a record of more than 16 MB, any other error as it is */
export function refuseTooLarge(error: unknown): never {
  if (!isTooLargeToWrite(error)) throw error;
  const message =
    "The record would be larger than 16 MB, which is as much as the database takes; make it smaller.";
  throw new AppError("BAD_REQUEST", { message, cause: error });
}

/**
 * Was a write refused for a document of more than 16 MB? The driver looks at several documents before it sends any, and has no
 * room for one that is far too large; the server checks what it is sent.
 */
export function isTooLargeToWrite(error: unknown): boolean {
  if (error instanceof MongoServerError)
    return isTooLarge(error) || (error.code === BAD_VALUE && /too large/.test(error.message));
  const isOurs = error instanceof MongoInvalidArgumentError || !(error instanceof MongoError);
  return isOurs && error instanceof Error && BEFORE_SENDING.test(error.message);
}

/** Does an operator of the update not apply to what it found in a field? */
export function isTypeMismatch(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === TYPE_MISMATCH;
}

/**
 * Is it the documents that are refused, by their collection's validator or because they would be too large, and is that all
 * that went wrong?
 */
export function isAgainstDocument(error: unknown): boolean {
  const isOne = ({ code }: { readonly code?: unknown }): boolean =>
    typeof code === "number" && [VALIDATION_FAILED, ...TOO_LARGE].includes(code);
  if (!(error instanceof MongoServerError) || !isOne(error)) return false;
  if (!(error instanceof MongoBulkWriteError)) return true;
  return !isUnconfirmed(error) && [error.writeErrors].flat().every(isOne);
}

const MEBIBYTE = 1024 * 1024;
/** What the server says of its disk: the bytes that are free, and those without which it begins no index. */
const ROOM = /disk space of (\d+) bytes is less than required minimum of (\d+)/;

/**
 * For what is done where no request could be refused: at the start, and by commands.
 * @param where the database, for whoever reads the error
 * @throws ConfigError with one sentence when an index needs more room than there is; any other error as it is
 */
export async function tellingFullDisk<Result>(where: string, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    const isFull = error instanceof MongoServerError && error.code === OUT_OF_DISK_SPACE;
    throw isFull ? fullDisk(error, where) : error;
  }
}

function fullDisk({ message }: MongoServerError, where: string): ConfigError {
  const [, free, needed] = ROOM.exec(message) ?? [];
  const sizes =
    free === undefined
      ? "it has no room for an index"
      : `${Math.floor(Number(free) / MEBIBYTE)} MiB are free, and making an index needs ${Math.ceil(Number(needed) / MEBIBYTE)} MiB`;
  return new ConfigError([`The disk of ${where} is nearly full: ${sizes}; make room there.`]);
}

/** Is this a lost race for a unique value? */
export function isDuplicate(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/** For writes that lose to whoever was first. @throws the error, unless it says that they did */
export function unlessDuplicate(error: unknown): undefined {
  if (!isDuplicate(error)) throw error;
}

function duplicate(error: MongoServerError, table: Table): AppError {
  const fields = duplicateFields(error, table);
  const members = fields.map((field) => memberIn(table, field)).filter((member) => member !== undefined);
  return new Taken(table, members, error);
}

/** A conflict, and not about the body: a validator may refuse fields that Portico adds, or what was there before. */
function againstValidator(error: MongoServerError, table: Table | undefined): AppError {
  const where = table === undefined ? "" : `"${table.name}": `;
  const message = `${where}the collection's own validation in the database (its validator) refuses this record.`;
  return new AppError("CONFLICT", { message, cause: error });
}

/** The position of the document at which an ordered insert of several was refused; undefined for any other write. */
export function refusedAt(error: unknown): number | undefined {
  const cause = error instanceof AppError ? error.cause : error;
  return cause instanceof MongoBulkWriteError ? cause.insertedCount : undefined;
}

/** How many documents an ordered insert had written when it failed, as far as the answer tells. */
export function insertedBefore(error: unknown): number {
  return refusedAt(error) ?? 0;
}

/** The fields of the index that refused. */
function duplicateFields(error: MongoServerError, table: Table): string[] {
  const pattern: unknown = error.keyPattern;
  if (typeof pattern === "object" && pattern !== null) return Object.keys(pattern);
  // An error of `insertMany` names only the index, inside its text: by its keys and directions, `shelf_1_place_1`.
  const name = / index: (\S+) dup key/.exec(error.message)?.[1];
  if (name === "_id_") return ["_id"];
  const field = / dup key: \{ (.+?): /.exec(error.message)?.[1];
  // If an index of that name already existed, ours tells whose it is; and two may have the same name by their keys.
  const nameOf = ({ key }: IndexSpec): string => key.flat().join("_");
  const byKeys = name === undefined ? undefined : keyName(name);
  const named = indexesOf(table).filter((spec) => nameOf(spec) === byKeys);
  const index = named.find(({ key }) => key[0]?.[0] === field) ?? named[0];
  if (index !== undefined) return index.key.map(([each]) => each);
  // An index that existed before the table may have any name; its first field comes before its first value.
  return field === undefined ? [] : [field];
}
