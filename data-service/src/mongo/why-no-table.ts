// What a collection's name may belong to that can't be a table.
import type { CollectionInfo } from "mongodb";
import { comparesPlainly } from "./provision.js";

/**
 * Completes "people …". The documents of a view or a time series can't be written, or not as records are; a default collation
 * would hold for every query and index, also for ids and in rules, where texts are compared by their code points.
 * @returns undefined for what can be a table
 */
export function whyNoTable({
  type = "collection",
  options = {},
}: Pick<CollectionInfo, "type" | "options">): string | undefined {
  if (type === "timeseries") return "is a time series";
  if (type !== "collection") return `is a ${type}`;
  if (comparesPlainly(options)) return undefined;
  return `is a collection with a default collation ("${options.collation.locale}")`;
}
