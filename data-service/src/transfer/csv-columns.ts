// The columns of a CSV file: those that a query asks for, and those that an imported file has. Pure.
import { isObject, type Json } from "@portico/shared/json";
import type { JsonRead } from "@portico/shared/read-json";
import type { Column, Relation, Table } from "../catalog/catalog.js";
import { type Catalog, targetOf } from "../catalog/catalog.js";
import type { ColumnType } from "../catalog/column-types.js";
import type { AuthorizedNode } from "../query/ast.js";
import { COUNTS } from "../query/shape.js";
import type { Cell } from "./cells.js";
import { cellOf, columnValue, relationValue } from "./cells.js";

/** A column of an exported file. */
export interface ExportColumn {
  /** `title`, `_count(comments)`, or `author.name` through a to-one relation. */
  readonly header: string;
  readonly cell: (record: Json) => Cell;
}

/** The columns for the records of a query; the records of a to-many relation become one column of JSON. */
export function exportColumns(node: AuthorizedNode, path: readonly string[] = []): ExportColumn[] {
  const columns = node.columns.map(({ name, type }) => exportColumn([...path, name], type));
  const children = node.children.flatMap(({ relation, node: child }) => {
    const inner = [...path, relation.name];
    return relation.many ? [exportColumn(inner, "json")] : exportColumns(child, inner);
  });
  const counts = node.counts.map(({ step: { relation } }) => ({
    ...exportColumn([...path, COUNTS, relation.name], "int"),
    header: [...path, `${COUNTS}(${relation.name})`].join("."),
  }));
  return [...columns, ...children, ...counts];
}

function exportColumn(path: readonly string[], type: ColumnType): ExportColumn {
  return { header: path.join("."), cell: (record) => cellOf(type, valueAt(record, path)) };
}

/** A member that this record does not show, or whose record does not exist, is null. */
function valueAt(record: Json, path: readonly string[]): Json {
  return path.reduce<Json>((value, name) => (isObject(value) ? (value[name] ?? null) : null), record);
}

/** A column of an imported file. */
export interface ImportColumn {
  /** The member of the body that it sets. */
  readonly name: string;
  /** What an empty cell means: in a required column it is left to the default. */
  readonly isRequired: boolean;
  readonly value: (cell: Cell) => JsonRead;
  /** What a text must be that has to be JSON and is not. */
  readonly json: string;
}

/**
 * Reads a header cell: a column, a relation, or `author.id` for a to-one relation.
 * @returns undefined when the table has no such member
 */
export function importColumn(header: string, table: Table, catalog: Catalog): ImportColumn | undefined {
  const [name = "", key, ...rest] = header.split(".");
  const column = table.columns.get(name);
  if (column !== undefined && key === undefined) return ofColumn(column);
  const relation = table.relations.get(name);
  if (relation === undefined || rest.length > 0) return undefined;
  if (key !== undefined && (key !== "id" || relation.many)) return undefined;
  return ofRelation(relation, targetOf(catalog, relation));
}

function ofColumn(column: Column): ImportColumn {
  const [first = "a"] = column.values;
  const list = JSON.stringify([first]);
  return {
    name: column.name,
    isRequired: column.required,
    value: (cell) => columnValue(column, cell),
    json: column.type === "enumList" ? `a list of values, such as ${list}` : 'JSON, such as {"a":1} or ["a"]',
  };
}

function ofRelation(relation: Relation, target: Table): ImportColumn {
  return {
    name: relation.name,
    isRequired: relation.required,
    value: (cell) => relationValue(relation, target, cell),
    json: `a list of ids, such as ${target.idColumn.type === "int" ? "[1,2]" : '["…"]'}`,
  };
}
