// A pipeline that only matches, sorts, cuts and projects -> the same as a `find`, which costs the server half as much.
import { allOf, type Document, type Stage, type Value } from "../query/lower/document.js";

/** The parts of a `find`. */
export interface FindForm {
  readonly filter: Document;
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  readonly skip?: number;
  readonly limit?: number;
  readonly projection?: Document;
}

/** The stages of a `find`, in the order in which it applies them. */
const ORDER = ["$match", "$sort", "$skip", "$limit", "$project"];

/** @returns undefined when the pipeline has other stages, or these in another order */
export function findForm(pipeline: readonly Stage[]): FindForm | undefined {
  const matches: Document[] = [];
  let form: Omit<FindForm, "filter"> = {};
  let reached = 0;
  for (const stage of pipeline) {
    const [name = ""] = Object.keys(stage);
    const place = ORDER.indexOf(name);
    // Matches may follow each other; there may be only one of each other stage.
    if (place < reached || (place === reached && place > 0)) return undefined;
    reached = place;
    const value = stage[name];
    if (name === "$match" && isDocument(value)) matches.push(value);
    else if (name === "$sort" && isOrder(value)) form = { ...form, sort: value };
    else if (name === "$skip" && typeof value === "number") form = { ...form, skip: value };
    else if (name === "$limit" && typeof value === "number") form = { ...form, limit: value };
    else if (name === "$project" && isSelection(value)) form = { ...form, projection: value };
    else return undefined;
  }
  return { filter: allOf(matches), ...form };
}

function isOrder(value: Value | undefined): value is Record<string, 1 | -1> {
  return isDocument(value) && Object.values(value).every((direction) => direction === 1 || direction === -1);
}

/** Fields that are kept as they are, with or without the id; expressions are left to pipelines. */
function isSelection(value: Value | undefined): value is Document {
  return (
    isDocument(value) &&
    Object.entries(value).every(([field, kept]) => kept === 1 || (field === "_id" && kept === 0))
  );
}

function isDocument(value: Value | undefined): value is Document {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
