// Which `_id`s an address can name, by the type of a table's ids. In an adopted collection another program may leave some of
// another kind: read as the table's type, their text would name nothing, or somebody else's record.
import { UUID } from "bson";
import type { ColumnType } from "../../catalog/column-types.js";
import type { Document } from "./document.js";

const NAMED: Readonly<Partial<Record<ColumnType, Document>>> = {
  objectId: { $type: "objectId" },
  // Bytes are ordered by their length and their kind first.
  uuid: { $gte: new UUID("0".repeat(32)), $lte: new UUID("f".repeat(32)) },
  // Bits are those of whole numbers alone.
  int: { $gte: Number.MIN_SAFE_INTEGER, $lte: Number.MAX_SAFE_INTEGER, $bitsAllClear: 0 },
  string: { $type: "string" },
  mixed: { $type: ["objectId", "binData", "number", "string", "object", "date", "timestamp"] },
};

/** What a value must satisfy. */
export function namedId(type: ColumnType): Document {
  const condition = NAMED[type];
  if (condition === undefined) throw new Error(`no ids are of the type ${type}`);
  return condition;
}
