// Refusals of the store of records that use cases recognise, or give in the same words.
import { AppError } from "@portico/shared/app-error";
import type { Column, Relation, Table } from "./catalog/catalog.js";
import { asWhole } from "./records/body/violations.js";

/** The refusal of a read if one of its records is larger than the database can hold. */
export class RecordTooLarge extends AppError {
  constructor(cause?: unknown) {
    const message =
      "The answer holds a record with more than 16 MB; ask for fewer fields or related records.";
    super("BAD_REQUEST", { message, cause });
  }
}

/** The failure of a read that shows an encrypted value which no key of ours opens. */
export class CantDecrypt extends AppError {
  constructor(message: string, cause: unknown) {
    super("INTERNAL_ERROR", { message, cause });
  }
}

/** The refusal of a read that takes longer than QUERY_TIMEOUT_MS. */
export function tookTooLong(cause?: unknown): AppError {
  const message = "The query took too long; filter by fewer records or by an indexed column.";
  return new AppError("QUERY_TIMEOUT", { message, cause });
}

/** Is it this refusal? */
export function isTookTooLong(error: unknown): boolean {
  return error instanceof AppError && error.code === "QUERY_TIMEOUT";
}

/** Where in a request that makes several records the refused one stands. */
export interface TakenPlace {
  /** What violations in it begin with. */
  readonly place: string;
  /** The record of the same request that has the value, where it is none from before. */
  readonly by: string | undefined;
}

/**
 * Something unique is taken. As the database refuses it, this names everything that is unique together;
 * `records/write/tell-taken` reduces that to what the caller may know.
 */
export class Taken extends AppError {
  readonly table: Table | undefined;
  readonly members: readonly (Column | Relation)[];
  readonly at: TakenPlace | undefined;

  /** @param table undefined if not even its name may be told */
  constructor(
    table: Table | undefined,
    members: readonly (Column | Relation)[],
    cause: unknown,
    at?: TakenPlace,
  ) {
    const names = members.map(({ name }) => name);
    const text = at?.by === undefined ? takenText(table, names) : takenByText(at.by, names);
    const message = at === undefined ? text : [(names.length > 0 ? at.place : asWhole(at.place)) + text];
    if (names.length === 0) super("CONFLICT", { message, cause });
    else super("DUPLICATE_RESOURCE", { message, details: { fields: names }, cause });
    this.table = table;
    this.members = members;
    this.at = at;
  }
}

/** The words for something unique that is taken. @param names empty where none may be told, or where there is none */
export function takenText(table: Table | undefined, names: readonly string[]): string {
  if (table === undefined) return "A record exists already that one of these must differ from.";
  if (names.length > 0)
    return `${names.join(", ")}: a record of "${table.name}" with this value exists already`;
  return table.singleton
    ? `"${table.name}" holds a single record, and it exists already.`
    : `A record of "${table.name}" exists already that this one must differ from.`;
}

/** The words for a value that another record of the same request has. @param names empty where none may be told */
export function takenByText(place: string, names: readonly string[]): string {
  if (names.length === 0) return `${place} already has a value that this one must differ from`;
  return `${names.join(", ")}: ${place} has this value already`;
}
