// POST, PATCH and DELETE of records: check everything, write, answer with the record as it is now.
import { AppError } from "@portico/shared/app-error";
import type { Relation, Table } from "../catalog/catalog.js";
import { isArray, type Json } from "../json.js";
import { idText } from "../mongo/record-store.js";
import { type Action, requireAccess, writeView } from "../permission/access.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import { requireSettled } from "../schema/write-gate.js";
import { authorizeLinks } from "./authorize-links.js";
import { checkBody } from "./check-body.js";
import type { RecordDeps } from "./deps.js";
import { findTable, parseId, recordNotFound } from "./find-table.js";
import { type RecordShape, readShaped, recordShape } from "./read-one.js";
import { runCreate, runDelete, runUpdate } from "./run-write.js";
import { planWrite, tablesDeletedFrom, tablesWritten } from "./write-plan.js";

/** Records one POST may create. */
const MAX_BULK = 1_000;

export interface Created {
  readonly records: readonly Json[];
  /** Ids in the order of the body. */
  readonly ids: readonly string[];
}

/** Creates one record, or all records of a list, or none. @returns them in the asked shape */
export async function create(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
): Promise<Created> {
  return deps.gate.run(() => createSettled(deps, principal, tableName, body, parameters));
}

async function createSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
): Promise<Created> {
  const { table, shape, plans } = await deps.catalogs.decide((catalog) => {
    const found = writable(findTable(catalog, tableName), principal, "create");
    requireSettled(catalog, tablesWritten(catalog, found));
    const wish = recordShape(deps, principal, found, catalog, parameters);
    const bodies = checkBulk(body, (each) => {
      const prepared = deps.userHooks.prepare(found, each);
      const checked = checkBody(prepared, found, catalog, writeView(principal), "create");
      return authorizeLinks(checked, readableRelation(found, wish));
    });
    return { table: found, shape: wish, plans: bodies.map(planWrite) };
  });
  const ids = await runCreate(deps, table, plans);
  const records = await readShaped(deps, shape, ids);
  if (records.length < ids.length) {
    throw new AppError("CONFLICT", "Another request has deleted what this one had just created.");
  }
  return { records, ids: ids.map((id) => idText(table, id)) };
}

/** Checks a single body, or each of a list with its position before the field. */
function checkBulk<Checked>(body: Json, check: (body: Json) => Checked): Checked[] {
  if (!isArray(body)) return [check(body)];
  if (body.length === 0 || body.length > MAX_BULK) {
    throw new AppError("VALIDATION_ERROR", { message: [`body: must have 1 to ${MAX_BULK} records`] });
  }
  const violations: string[] = [];
  const checked = body.flatMap((each, at) => {
    try {
      return [check(each)];
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "VALIDATION_ERROR") throw error;
      violations.push(...[error.messages].flat().map((message) => `[${at}].${message}`));
      return [];
    }
  });
  if (violations.length > 0) throw new AppError("VALIDATION_ERROR", { message: violations });
  return checked;
}

/** Changes the named members of one record. @returns it in the asked shape */
export async function update(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
): Promise<Json[]> {
  return deps.gate.run(() => updateSettled(deps, principal, tableName, idText, body, parameters));
}

async function updateSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
): Promise<Json[]> {
  const { table, id, shape, plan } = await deps.catalogs.decide((catalog) => {
    const found = writable(findTable(catalog, tableName), principal, "update");
    requireSettled(catalog, tablesWritten(catalog, found));
    const wish = recordShape(deps, principal, found, catalog, parameters);
    const prepared = deps.userHooks.prepare(found, body);
    const checked = checkBody(prepared, found, catalog, writeView(principal), "update");
    return {
      table: found,
      id: parseId(found, idText),
      shape: wish,
      plan: planWrite(authorizeLinks(checked, readableRelation(found, wish))),
    };
  });
  await runUpdate(deps, table, id, plan);
  const records = await readShaped(deps, shape, [id]);
  if (records.length === 0) throw recordNotFound(table);
  return records;
}

/** Deletes one record with all that `onDelete` asks for. */
export async function remove(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
): Promise<void> {
  await deps.gate.run(async () => {
    // What links here must be known in full: another instance may have made a table with such a link a moment ago.
    const catalog = await deps.catalogs.refresh();
    const table = writable(findTable(catalog, tableName), principal, "delete");
    requireSettled(catalog, tablesDeletedFrom(catalog, table));
    await runDelete(deps, catalog, table, parseId(table, idText));
  });
}

/** Tells whether the caller may read what a relation of the table leads to. */
function readableRelation(table: Table, { view }: RecordShape): (relation: Relation) => boolean {
  return (relation) => view.relation(table, relation.name) !== undefined;
}

function writable(table: Table, principal: Principal, action: Action): Table {
  requireAccess(principal, table, action);
  return table;
}
