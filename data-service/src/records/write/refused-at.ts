// A refusal of the database -> the same with the place, in the request, of the record that it is about.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { Table } from "../../catalog/catalog.js";
import { refusedAt } from "../../mongo/driver-errors.js";
import type { Document } from "../../query/lower/document.js";
import { Taken } from "../../store-refusals.js";
import { asWhole, type PathOf } from "../body/violations.js";
import { uniqueKey } from "../unique-key.js";
import { uniqueFields } from "../unique-values.js";

/**
 * Why an insert was refused, and of which of the documents.
 * @param pathOf where in the request each of them stands
 */
export function refusedInsert(
  error: unknown,
  table: Table,
  documents: readonly Document[],
  pathOf: PathOf,
): unknown {
  const at = documents.length === 1 ? 0 : refusedAt(error);
  if (at === undefined) return error;
  const earlier = error instanceof Taken ? sameAs(error, table, documents, at) : undefined;
  const by = earlier === undefined ? undefined : pathOf(earlier).replace(/\.$/, "");
  return placed(error, pathOf(at), by);
}

/** Why links in other records, whose members the place must not seem to have, could not be set to a new one. */
export function refusedLinks(error: unknown, place: string): unknown {
  const isTaken = error instanceof AppError && error.code === "DUPLICATE_RESOURCE";
  return isTaken ? placed(error, asWhole(place), undefined) : error;
}

/** A record that stands alone has no place. */
function placed(error: unknown, place: string, by: string | undefined): unknown {
  if (place === "" || !isClientError(error)) return error;
  if (error instanceof Taken) return new Taken(error.table, error.members, error.cause, { place, by });
  const { code, violations, details, headers, cause } = error;
  const message = violations.map((each) => asWhole(place) + each);
  return new AppError(code, { message, headers, cause, ...(details && { details }) });
}

/** The position of the document before the refused one that has its values. What came before it was inserted. */
function sameAs(
  { members }: Taken,
  table: Table,
  documents: readonly Document[],
  at: number,
): number | undefined {
  const named = new Set(members.map((member) => ("link" in member ? member.link.field : member.field)));
  // An index that another program has made may have other fields as well.
  const fields = uniqueFields(table).find(
    (each) => each.length === named.size && each.every((field) => named.has(field)),
  );
  if (fields === undefined) return undefined;
  const keyOf = (document: Document = {}) =>
    uniqueKey(
      fields,
      fields.map((field) => document[field]),
    );
  const key = keyOf(documents[at]);
  const earlier = documents.slice(0, at).findIndex((document) => keyOf(document) === key);
  return earlier < 0 ? undefined : earlier;
}
