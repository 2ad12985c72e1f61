// A table as its owner wrote it and as `svc_table` keeps it.
import type { Json } from "@portico/shared/json";
import type { IdType, OnDelete, Rules } from "./catalog.js";
import type { ColumnType } from "./column-types.js";

export const RELATION_TYPES = ["many-to-one", "one-to-one", "many-to-many"] as const;
export type RelationType = (typeof RELATION_TYPES)[number];

/**
 * Only with `id` does every promise about records hold on every shard: each write goes to one shard, and ids stay unique.
 */
export const SHARD_KEYS = ["id"] as const;
export type ShardKey = (typeof SHARD_KEYS)[number];

/** Rules in JSON form, as in contract 6. */
export interface RulesDefinition extends Omit<Rules, "min" | "max"> {
  readonly min?: number | string;
  readonly max?: number | string;
}

export interface ColumnDefinition {
  readonly id: string;
  readonly name: string;
  readonly type: ColumnType;
  readonly required: boolean;
  readonly default?: Json;
  readonly unique: boolean;
  readonly hidden: boolean;
  readonly readOnly: boolean;
  readonly encrypted: boolean;
  readonly searchable: boolean;
  readonly options?: { readonly values: readonly string[] };
  readonly rules?: RulesDefinition;
  readonly description: string | null;
}

export interface RelationDefinition {
  readonly id: string;
  readonly name: string;
  readonly type: RelationType;
  readonly table: string;
  readonly inverse: string | null;
  readonly required: boolean;
  readonly onDelete: OnDelete;
  readonly counted: boolean;
  readonly description: string | null;
}

/** Does a relation like this lead to many records? */
export function isList({ type }: Pick<RelationDefinition, "type">): boolean {
  return type === "many-to-many";
}

/** A column whose id is its name, with the defaults of whatever isn't said. */
export function plainColumn(
  name: string,
  type: ColumnType,
  own: Partial<ColumnDefinition> = {},
): ColumnDefinition {
  return {
    id: name,
    name,
    type,
    required: false,
    unique: false,
    hidden: false,
    readOnly: false,
    encrypted: false,
    searchable: false,
    description: null,
    ...own,
  };
}

/** A link to one record of a table; its id is its name, with the defaults of whatever isn't said. */
export function plainRelation(
  name: string,
  table: string,
  own: Partial<RelationDefinition> = {},
): RelationDefinition {
  return {
    id: name,
    name,
    type: "many-to-one",
    table,
    inverse: null,
    required: false,
    onDelete: "SET NULL",
    counted: false,
    description: null,
    ...own,
  };
}

export interface TableDefinition {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly singleton: boolean;
  /** Its changes can be followed (`GET /{table}/changes`). */
  readonly changes?: boolean;
  /** Who changed what is kept (`GET /{table}/{id}/history`). */
  readonly history?: boolean;
  /** Deleted records are kept, and can be restored. */
  readonly softDelete?: boolean;
  /** On a sharded cluster the records are spread over the shards by their ids. */
  readonly shardKey?: ShardKey | null;
  readonly idType: IdType;
  readonly columns: readonly ColumnDefinition[];
  readonly relations: readonly RelationDefinition[];
  readonly uniques: readonly (readonly string[])[];
  readonly indexes: readonly (readonly string[])[];
  /** Where the data is stored. Fixed when the table or member is made, so that a rename moves nothing. */
  readonly storage: {
    readonly collection: string;
    /**
     * The collection existed before the table, and other programs may use it, too: nothing is ever removed from its
     * documents, whatever becomes of the table.
     */
    readonly adopted?: boolean;
    /** Member id -> field name inside documents; `createdAt` and `updatedAt` where these have another name. */
    readonly fields: Readonly<Record<string, string>>;
    /** Ids of members whose numbers or indexes are already written, but are not yet complete for older records. */
    readonly building?: readonly string[];
    /** How many times the table has begun to keep a journal: between the entries of two such periods there is a gap. */
    readonly journalEpoch?: number;
    /**
     * Fields with values of removed or changed members: kept for undo, and never used for anything else, except by a member
     * of an adopted collection that is to show the same field again.
     */
    readonly retired?: readonly string[];
  };
}
