// Versions of records: ETag, If-Match and If-None-Match (RFC 9110, sections 8.8.3 and 13.1).
//
// An ETag has two parts, "{version}-{digest}". The version counts the changes of the record itself: If-Match asks for
// it, whatever was shown of the record. The digest stands for what was shown, which changes with other records too (a
// name of the author): If-None-Match compares both.
import { hash } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import { isStoredNumber } from "../catalog/bson-json.js";
import type { Table } from "../catalog/catalog.js";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import { tagsIn } from "../http/entity-tags.js";
import type { ReadView } from "../permission/read-view.js";
import type { Document, StoredRecord } from "../query/lower/document.js";

/** A record as an answer shows it. */
export interface Versioned {
  readonly json: Json;
  /** Undefined when the caller may not know when the record was changed. */
  readonly version: number | undefined;
}

/** What an ETag of If-Match names: a version, or nothing, as it is weak or none of ours. */
export type NamedVersion = number | "weak" | "none";

/** What If-Match names; undefined without the header, and for `*`, which any record satisfies. */
export type Expected = readonly NamedVersion[] | undefined;

/** Versions tell that a record was changed, even if the caller may not see what was. */
export function mayKnowVersion(view: ReadView, table: Table): boolean {
  return view.column(table, "updatedAt") !== undefined;
}

export function versionOf(document: StoredRecord): number {
  return countIn(document[VERSION_FIELD]);
}

/** A count as it is stored: another program may have made it a number of another kind, or something else, which counts nothing. */
export function countIn(value: unknown): number {
  return isStoredNumber(value) ? Number(String(value)) : 0;
}

/** The ETag of an answer with one record. */
export function etagOf({ json, version }: Versioned): string {
  const digest = hash("sha256", JSON.stringify(json), "base64url").slice(0, 16);
  return `"${version ?? ""}-${digest}"`;
}

const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * Reads If-Match. Tags that are weak or not ours match no version.
 * @throws AppError 400 for what is no list of entity tags
 */
export function expectedVersions(ifMatch: string | undefined): Expected {
  if (ifMatch === undefined || ifMatch.trim() === "*") return undefined;
  const tags = tagsIn(ifMatch);
  if (tags.length === 0 || !tags.every((tag) => ENTITY_TAG.test(tag)))
    throw new AppError("BAD_REQUEST", 'If-Match must be * or ETags in quotes: If-Match: "3-k2d0a".');
  return tags.map((tag) => {
    if (tag.startsWith("W/")) return "weak";
    const version = /^"(\d{1,15})-/.exec(tag)?.[1];
    return version === undefined ? "none" : Number(version);
  });
}

function versionsIn(expected: readonly NamedVersion[]): number[] {
  return expected.filter((each) => typeof each === "number");
}

/** Does If-Match name a version that a record may have had? */
export function namesVersion(expected: Expected): boolean {
  return versionsIn(expected ?? []).length > 0;
}

/** The condition that a document has one of these versions. */
export function atVersion(expected: Expected): Document {
  if (expected === undefined) return {};
  const versions = versionsIn(expected);
  const named = { [VERSION_FIELD]: { $in: versions } };
  if (!versions.includes(0)) return named;
  // A record that was never changed has no version; what another program may have put there is none (see `versionOf`).
  const unnumbered = { [VERSION_FIELD]: { $not: { $type: "number" } } };
  // A list of numbers counts as a number there.
  const list = { [VERSION_FIELD]: { $type: "array" } };
  return { $or: [named, unnumbered, list] };
}

/** The refusal of a change whose record is at none of the versions that If-Match names. */
export function notAtVersion({ name }: { readonly name: string }, expected: Expected): AppError {
  return new AppError("PRECONDITION_FAILED", whyNot(name, expected ?? []));
}

/** Reading the record again helps only where a version was named. */
function whyNot(table: string, expected: readonly NamedVersion[]): string {
  if (versionsIn(expected).length > 0)
    return `This "${table}" record was changed since; read it again and send its new ETag in If-Match.`;
  if (expected.includes("weak"))
    return 'If-Match: weak ETags (W/"…") match nothing. This service sends strong ones; something on the way, such as a proxy that compresses answers, has made this one weak.';
  return `If-Match: this ETag names no version of a "${table}" record; send the one that the record was read with. If it is that one, something on the way, such as a proxy, has replaced it.`;
}

/** The refusal of If-Match from a caller whose ETags name no version (see mayKnowVersion). */
export function versionsUnknown({ name }: { readonly name: string }): AppError {
  return new AppError(
    "PRECONDITION_FAILED",
    `You may not read updatedAt in every row of "${name}", so your ETags name no version and If-Match can't be used.`,
  );
}
