// What a caller is told about a unique value that another record has, and about records that stay after a refusal: of columns,
// tables and records only those that they may know.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import { type Catalog, type Column, type Relation, type Table, tableById } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { idText } from "../../catalog/record-ids.js";
import type { Rights } from "../../permission/rights.js";
import { matchStages } from "../../query/lower/condition.js";
import { Names } from "../../query/lower/document.js";
import { Taken } from "../../store-refusals.js";
import { isWritable } from "../body/bind-body.js";
import type { RecordDeps } from "../record-deps.js";
import { RefusedInPart, type StayingRecords } from "../whole/refused-in-part.js";

/** Whether the caller may read a member in some record, or write it. */
export function mayName(rights: Rights, catalog: Catalog, table: Table, member: Column | Relation): boolean {
  return rights.view(catalog).shows(table, member) || isWritable(rights, catalog, table, member);
}

type Deps = Pick<RecordDeps, "catalogs" | "store">;

/** Runs a write. @throws AppError its refusals, naming no unique members and no records but those that the caller may know */
export async function tellingTaken<Result>(
  deps: Deps,
  rights: Rights,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    throw await asTold(deps, rights, error);
  }
}

async function asTold(deps: Deps, rights: Rights, error: unknown): Promise<unknown> {
  if (error instanceof Taken) return toldOf(error, rights, await deps.catalogs.get());
  if (!(error instanceof RefusedInPart)) return error;
  const told = await asTold(deps, rights, error.refusal);
  const kept = await keptFor(deps, rights, await deps.catalogs.get(), error.staying);
  return sayingKept(told, kept);
}

/** The refusal with the records that stay, if there are any. */
export function sayingKept(told: unknown, kept: readonly unknown[]): unknown {
  if (kept.length === 0 || !(told instanceof AppError)) return told;
  const { code, messages, details, headers, cause } = told;
  return new AppError(code, { message: messages, details: { ...details, kept }, headers, cause });
}

/** A record that stays after the refusal of the request that made it. */
interface KeptRecord {
  /** Its name. */
  readonly table: string;
  readonly id: Json;
}

async function keptFor(
  { store }: Deps,
  rights: Rights,
  catalog: Catalog,
  staying: readonly StayingRecords[],
): Promise<KeptRecord[]> {
  const view = rights.view(catalog);
  const kept: KeptRecord[] = [];
  for (const { table: tableId, ids } of staying) {
    const table = tableById(catalog, tableId);
    if (table === undefined || !view.mayRead(table)) continue;
    const seen = await store.existing(table, ids, matchStages([view.rows(table)], new Names()));
    const { toJson } = COLUMN_TYPES[table.idColumn.type];
    for (const id of ids) if (seen.has(idText(table, id))) kept.push({ table: table.name, id: toJson(id) });
  }
  return kept;
}

function toldOf(taken: Taken, rights: Rights, catalog: Catalog): Taken {
  const { table, members, cause, at } = taken;
  if (table === undefined) return taken;
  const known = members.filter((member) => mayName(rights, catalog, table, member));
  const actions = ["create", "update", "delete"] as const;
  const isKnown =
    rights.view(catalog).mayRead(table) ||
    actions.some((action) => rights.write(catalog, table, action).length > 0);
  return new Taken(isKnown ? table : undefined, known, cause, at);
}
