// What a write of a record means beyond its columns. A few tables of the system have hooks of their own (users, roles,
// permission rules, files, folders); all others have none.
import type { Json, JsonObject } from "@portico/shared/json";
import type { Catalog, Column, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";
import type { Document } from "../query/lower/document.js";
import type { WriteMode } from "./body/check-body.js";
import type { LinkedOptions } from "./body/require-linked.js";
import type { WritePlan } from "./body/write-plan.js";

/** What a change does to the fields of the record itself, by their names in storage. */
export interface FieldsChanged {
  readonly set: ReadonlyMap<string, unknown>;
  readonly unset: readonly string[];
}

/** Where new records stand in a request. */
export type NewPlaces = Required<Pick<LinkedOptions, "pathOf">> & Pick<LinkedOptions, "isComing">;

/** The hooks of one table, which every write of its records passes, in the order in which they stand here. */
export interface TableHooks {
  /** The body as it is to be checked: with an address in its one spelling, with a name made safe. */
  prepare(body: Json, mode: WriteMode): Json;
  /** What the record has of a prepared body although a new one would be refused for it: see WriteView. */
  tolerated(id: Stored, body: Json): Promise<JsonObject>;
  /** What is to be written for a checked body, with marks of the service's own. */
  plan<Plan extends WritePlan>(table: Table, plan: Plan, isRoot: boolean): Plan;
  /** The fields of those marks that say something of the value in a field: wherever it stays, they stay. */
  marksOf(table: Table, field: string): readonly string[];
  /** @throws AppError 400 where the bodies of new records ask for more work than such a caller may cause at once */
  requireFew(bodies: readonly Json[], isRoot: boolean): void;
  /**
   * @param places where in the request each body stands, and which linked records need not be there yet
   * @throws AppError 400 with every problem of the new records
   */
  beforeCreate(catalog: Catalog, bodies: readonly Json[], places: NewPlaces): Promise<void>;
  /** @throws AppError 400 with every problem that the record would have */
  beforeUpdate(id: Stored, body: Json): Promise<void>;
  /** The plan without what the record has already, where writing it again would mean something. */
  withoutKnown<Plan extends WritePlan>(table: Table, id: Stored, plan: Plan): Promise<Plan>;
  /**
   * Runs the change or the deletion of one record.
   * @param change null = deletion
   * @param act makes it while the record satisfies what it is given
   * @throws AppError 409 when it would leave something that must not be
   */
  changing<Result>(
    table: Table,
    id: Stored,
    change: FieldsChanged | null,
    act: (condition: Document) => Promise<Result>,
  ): Promise<Result>;
  /** Whether each deletion has to pass `changing` by itself, also where many records go at once. */
  readonly deletesEach: boolean;
  /** Whether a record that others have changed since stays when the request that made it is taken back. */
  readonly staysOnceChanged: boolean;
  /** The value to store for a column's checked value. */
  stored(column: Column, value: Stored): Stored | Promise<Stored>;
  /** Fields to write together with a change. */
  alongside(table: Table, change: FieldsChanged): Readonly<Record<string, Stored>>;
  /** Runs the removal of records for good. @param remove those that satisfy the condition @returns how many went */
  removing(ids: readonly Stored[], remove: (condition: Document) => Promise<number>): Promise<number>;
  /** After a write. @param ids the records that it changed or deleted; none where it made new ones */
  afterWrite(ids: readonly Stored[]): Promise<void>;
}

export type HooksOf = (table: Table) => TableHooks;

/** Nothing beyond the columns. */
export const NO_HOOKS: TableHooks = {
  prepare: (body) => body,
  tolerated: async () => ({}),
  plan: (_table, plan) => plan,
  marksOf: () => [],
  requireFew: () => undefined,
  beforeCreate: async () => undefined,
  beforeUpdate: async () => undefined,
  withoutKnown: async (_table, _id, plan) => plan,
  changing: (_table, _id, _change, act) => act({}),
  deletesEach: false,
  staysOnceChanged: false,
  stored: (_column, value) => value,
  alongside: () => ({}),
  removing: (_ids, remove) => remove({}),
  afterWrite: async () => undefined,
};

/** @param own by the names of the tables that have some */
export function hooksByTable(own: ReadonlyMap<string, TableHooks>): HooksOf {
  return ({ name }) => own.get(name) ?? NO_HOOKS;
}
