// Ids -> the filter and the pipeline that find their documents.
import type { Stored } from "../../catalog/stored.js";
import type { Document, Stage } from "./document.js";

/** A single id is found without planning a query. */
export function idsFilter(ids: readonly Stored[]): Document {
  const [only, ...others] = ids;
  return only !== undefined && others.length === 0 ? { _id: { $eq: only } } : { _id: { $in: [...ids] } };
}

/** The documents with these ids. @param fields a projection */
export function idsPipeline(ids: readonly Stored[], fields: Document): Stage[] {
  return [{ $match: idsFilter(ids) }, { $project: fields }];
}
