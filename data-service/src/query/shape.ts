// Documents -> the JSON of the answer. The one serializer: what the query did not select can't leave here.
import type { Binary } from "bson";
import type { Column } from "../catalog/catalog.js";
import { COLUMN_TYPES, isBinary } from "../catalog/column-types.js";
import type { Json } from "../json.js";
import type { AuthorizedNode } from "./ast.js";
import { childField, isKeyOnly } from "./lower/read.js";

/** Opens values of encrypted columns. */
export type Unseal = (sealed: Binary, column: Column) => Json;

/** A document as the driver hands it over. */
export type StoredRecord = Readonly<Record<string, unknown>>;

/** Makes the function that turns this query's documents into records. */
export function shaper(node: AuthorizedNode, unseal: Unseal): (document: StoredRecord) => Json {
  const columns = node.columns.map((column) => ({ name: column.name, read: columnReader(column, unseal) }));
  const children = node.children.map((child) => ({
    name: child.relation.name,
    read: childReader(child, unseal),
  }));
  const members = [...columns, ...children];
  return (document) => {
    const record: Record<string, Json> = {};
    for (const { name, read } of members) record[name] = read(document);
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
