// Documents -> the JSON of the answer. The one serializer: what the query did not select can't leave here.

import type { Binary } from "bson";
import type { Column } from "../catalog/catalog.js";
import { COLUMN_TYPES, isBinary } from "../catalog/column-types.js";
import { getOrMake } from "../get-or-make.js";
import type { Json } from "../json.js";
import type { AuthorizedNode, Mask } from "./ast.js";
import { childField, isKeyOnly, maskField } from "./lower/read.js";

/** Opens values of encrypted columns. */
export type Unseal = (sealed: Binary, column: Column) => Json;

/** A document as the driver hands it over. */
export type StoredRecord = Readonly<Record<string, unknown>>;

type Shape = (document: StoredRecord) => Json;

/** A query that is asked again brings the node of the first time along: see records/remembered. */
const made = new WeakMap<Unseal, WeakMap<AuthorizedNode, Shape>>();

/** The function that turns this query's documents into records. */
export function shaper(node: AuthorizedNode, unseal: Unseal): Shape {
  const known = getOrMake(made, unseal, () => new WeakMap<AuthorizedNode, Shape>());
  return getOrMake(known, node, () => makeShape(node, unseal));
}

function makeShape(node: AuthorizedNode, unseal: Unseal): Shape {
  const columns = node.columns.map((column) => ({ name: column.name, read: columnReader(column, unseal) }));
  const children = node.children.map((child) => ({
    name: child.relation.name,
    read: childReader(child, unseal),
  }));
  const members = [...columns, ...children];
  const { masks = [] } = node;
  if (masks.length > 0) return maskedShaper(members, masks);
  return (document) => {
    const record: Record<string, Json> = {};
    for (const { name, read } of members) record[name] = read(document);
    return record;
  };
}

interface Member {
  readonly name: string;
  readonly read: (document: StoredRecord) => Json;
}

/** Leaves out, row by row, what no rule that matches the row grants. */
function maskedShaper(members: readonly Member[], masks: readonly Mask[]): (document: StoredRecord) => Json {
  const hidden = new Set(masks.flatMap(({ hides }) => hides));
  return (document) => {
    const matched = masks.filter((_, at) => {
      const found = document[maskField(at)];
      return Array.isArray(found) && found.length > 0;
    });
    const shown = new Set(matched.flatMap(({ shows }) => shows));
    const record: Record<string, Json> = {};
    for (const { name, read } of members) {
      if (!hidden.has(name) || shown.has(name)) record[name] = read(document);
    }
    return record;
  };
}

function columnReader(column: Column, unseal: Unseal): (document: StoredRecord) => Json {
  const { field } = column;
  const toJson = column.encrypted
    ? (stored: unknown) => (isBinary(stored) ? unseal(stored, column) : null)
    : COLUMN_TYPES[column.type].toJson;
  return (document) => {
    const stored = document[field];
    return stored === null || stored === undefined ? null : toJson(stored);
  };
}

function childReader(
  child: AuthorizedNode["children"][number],
  unseal: Unseal,
): (document: StoredRecord) => Json {
  const { relation, node } = child;
  if (isKeyOnly(child)) {
    const readId = columnReader({ ...node.table.idColumn, field: relation.link.field }, unseal);
    return (document) => {
      const id = readId(document);
      return id === null ? null : { id };
    };
  }
  const shape = shaper(node, unseal);
  const field = childField(child);
  return (document) => {
    const joined = document[field];
    const records = Array.isArray(joined) ? joined.map((each: StoredRecord) => shape(each)) : [];
    return relation.many ? records : (records[0] ?? null);
  };
}
