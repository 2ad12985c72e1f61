// A value as MongoDB holds it. Never null: absence is not a value.
import type { JsonObject } from "@portico/shared/json";
import type { Binary, Decimal128, Double, Long, ObjectId } from "bson";

export type Stored =
  | string
  | number
  | boolean
  | Date
  | Double
  | Long
  | Decimal128
  | ObjectId
  | Binary
  | StoredList
  | JsonObject;

interface StoredList extends ReadonlyArray<Stored | null> {}
