// Documents -> the JSON of an answer's records: whatever the query did not select can't get out here.
import type { Json } from "@portico/shared/json";
import type { Binary } from "bson";
import { isBinary } from "../catalog/bson-json.js";
import type { Column, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { getOrMake } from "../get-or-make.js";
import { CantDecrypt } from "../store-refusals.js";
import type { AuthorizedChild, AuthorizedNode, CountNode, Mask } from "./ast.js";
import type { StoredRecord } from "./lower/document.js";
import { isKeyOnly } from "./lower/joined-or-together.js";
import { shownIn } from "./lower/masks.js";
import { childField, countField } from "./lower/read.js";

/** Decrypts values of encrypted columns. */
export type Unseal = (sealed: Binary, column: Column) => Json;

type Shape = (document: StoredRecord) => Json;

/** A repeated query brings the node of the first time: see records/read/remembered. */
const made = new WeakMap<Unseal, WeakMap<AuthorizedNode, Shape>>();

/** The function that turns this query's documents into records. */
export function shaper(node: AuthorizedNode, unseal: Unseal): Shape {
  const known = getOrMake(made, unseal, () => new WeakMap<AuthorizedNode, Shape>());
  return getOrMake(known, node, () => makeShape(node, unseal));
}

function makeShape(node: AuthorizedNode, unseal: Unseal): Shape {
  const members = membersOf(node, unseal);
  const { masks } = node;
  return masks.length > 0 ? maskedShaper(members, masks) : plainShaper(members);
}

function membersOf({ table, columns, children, counts }: AuthorizedNode, unseal: Unseal): Member[] {
  return [
    ...columns.map((column) => ({ name: column.name, read: columnReader(table, column, unseal) })),
    ...children.map((child) => ({ name: child.relation.name, read: childReader(child, unseal) })),
    ...(counts.length === 0 ? [] : [countsMember(counts)]),
  ];
}

/**
 * It must not refer to the node from which it was made: it is stored under that node, and both would stay in memory
 * (decision 023).
 */
function plainShaper(members: readonly Member[]): Shape {
  return (document) => {
    const record: Record<string, Json> = {};
    for (const { name, read } of members) record[name] = read(document, always);
    return record;
  };
}

const always: IsShown = () => true;

type IsShown = (name: string) => boolean;

interface Member {
  readonly name: string;
  /** @param isShown for a member that contains others: which of them this record shows */
  readonly read: (document: StoredRecord, isShown: IsShown) => Json;
}

/** The member with the numbers of related records, by relation. No member of a table can have this name. */
export const COUNTS = "_count";

/** A relation that this record does not show is not counted either. */
function countsMember(counts: readonly CountNode[]): Member {
  const numbers = counts.map((count) => ({ name: count.step.relation.name, field: countField(count) }));
  return {
    name: COUNTS,
    read: (document, isShown) =>
      Object.fromEntries(
        numbers
          .filter(({ name }) => isShown(name))
          // If there are none, a stored number is absent.
          .map(({ name, field }) => [name, Number(document[field] ?? 0)]),
      ),
  };
}

/** Leaves out, row by row, what no rule that matches the row grants. */
function maskedShaper(members: readonly Member[], masks: readonly Mask[]): (document: StoredRecord) => Json {
  const shownOf = shownIn(masks);
  return (document) => {
    const record: Record<string, Json> = {};
    const isShown = shownOf(document);
    for (const { name, read } of members) if (isShown(name)) record[name] = read(document, isShown);
    return record;
  };
}

function columnReader(table: Table, column: Column, unseal: Unseal): (document: StoredRecord) => Json {
  const { field, encrypted } = column;
  const { toJson } = COLUMN_TYPES[column.type];
  return (document) => {
    const stored = document[field];
    if (stored === null || stored === undefined) return null;
    if (!encrypted) return toJson(stored);
    return isBinary(stored) ? opened(table, column, unseal, stored, document) : null;
  };
}

/** Null would be taken for the value, and written back: the whole answer fails, and says why. */
function opened(
  { name, idColumn }: Table,
  column: Column,
  unseal: Unseal,
  stored: Binary,
  document: StoredRecord,
): Json {
  try {
    return unseal(stored, column);
  } catch (cause) {
    const id = COLUMN_TYPES[idColumn.type].toJson(document[idColumn.field]);
    const message = `${column.name}: the value of the record ${String(id)} of "${name}" can't be decrypted`;
    throw new CantDecrypt(message, cause);
  }
}

function childReader(child: AuthorizedChild, unseal: Unseal): (document: StoredRecord) => Json {
  const { relation, node } = child;
  if (isKeyOnly(child)) {
    const readId = columnReader(node.table, { ...node.table.idColumn, field: relation.link.field }, unseal);
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
