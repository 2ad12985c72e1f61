// Versions of records: ETag, If-Match and If-None-Match (RFC 9110, sections 8.8.3 and 13.1).
//
// An ETag has two parts, "{version}-{digest}". The version counts the changes of the record itself: If-Match asks for
// it, whatever was shown of the record. The digest stands for what was shown, which changes with other records too (a
// name of the author): If-None-Match compares both.
import { hash } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import type { Table } from "../catalog/catalog.js";
import { VERSION_FIELD } from "../mongo/record-store.js";
import type { ReadView } from "../permission/read-view.js";
import type { Document } from "../query/lower/document.js";
import type { StoredRecord } from "../query/shape.js";

/** A record as it is answered. */
export interface Versioned {
  readonly json: Json;
  /** Undefined when the caller may not know when the record was changed. */
  readonly version: number | undefined;
}

/** The versions that If-Match names; undefined without the header, and for `*`, which any record satisfies. */
export type Expected = readonly number[] | undefined;

/** Versions tell when a record was changed, also where the caller may not see what was. */
export function mayKnowVersion(view: ReadView, table: Table): boolean {
  return view.column(table, "updatedAt") !== undefined;
}

export function versionOf(document: StoredRecord): number {
  const version = document[VERSION_FIELD];
  return typeof version === "number" ? version : 0;
}

/** The ETag of an answer with one record. */
export function etagOf({ json, version }: Versioned): string {
  const digest = hash("sha256", JSON.stringify(json), "base64url").slice(0, 16);
  return `"${version ?? ""}-${digest}"`;
}

const ENTITY_TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;

/**
 * Reads If-Match. Tags that are weak or not ours match no version.
 * @throws AppError 400 for what is no list of entity tags
 */
export function expectedVersions(ifMatch: string | undefined): Expected {
  if (ifMatch === undefined || ifMatch.trim() === "*") return undefined;
  return ifMatch.split(",").flatMap((each) => {
    const tag = ENTITY_TAG.exec(each.trim());
    if (tag === null)
      throw new AppError("BAD_REQUEST", 'If-Match must be * or ETags in quotes: If-Match: "3-k2d0a".');
    const version = /^(\d{1,15})-/.exec(tag[2] ?? "")?.[1];
    return tag[1] !== undefined || version === undefined ? [] : [Number(version)];
  });
}

/** The condition that a document has one of these versions. */
export function atVersion(expected: Expected): Document {
  if (expected === undefined) return {};
  // A record that was never changed has no version.
  return { [VERSION_FIELD]: { $in: expected.map((version) => (version === 0 ? null : version)) } };
}

export function movedOn(table: { readonly name: string }): AppError {
  return new AppError(
    "PRECONDITION_FAILED",
    `This "${table.name}" record was changed since; read it again and send its new ETag in If-Match.`,
  );
}
