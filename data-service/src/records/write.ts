// POST, PATCH and DELETE of records: check everything, write, answer with the record as it is now.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Column, Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { isArray, isObject, type Json } from "../json.js";
import { idText } from "../mongo/record-store.js";
import type { WriteGrant } from "../permission/compile-rules.js";
import { ReadView } from "../permission/read-view.js";
import type { Principal } from "../principal.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { Parameters } from "../query/parameters.js";
import { requireSettled } from "../schema/write-gate.js";
import { authorizeForeign } from "./authorize-foreign.js";
import { authorizeLinks } from "./authorize-links.js";
import { type Alternative, chooseCreates, chooseUpdate, judgeDelete, notAllowed } from "./authorize-write.js";
import { checkBody } from "./check-body.js";
import type { RecordDeps } from "./deps.js";
import { findTable, parseId } from "./find-table.js";
import { type RecordShape, readEach, readShaped, recordShape } from "./read-one.js";
import { type DeleteStep, type MayKnow, runCreate, runDelete, runUpdate } from "./run-write.js";
import { planWrite, type Stamp, stamped, tablesDeletedFrom, tablesWritten } from "./write-plan.js";

/** Records one POST may create. */
const MAX_BULK = 1_000;

/** How often a record that others keep changing is judged anew. */
const ATTEMPTS = 50;

export interface Created {
  readonly records: readonly Json[];
  /** Ids in the order of the body. */
  readonly ids: readonly string[];
}

/** What the service adds to a write of its own. */
export interface OwnPart {
  readonly stamp: Stamp;
  /** An update happens only while the record satisfies it; asked anew at each try. */
  readonly guard?: (id: Stored) => Promise<Document>;
}

const NOTHING: OwnPart = { stamp: {} };

/** Creates one record, or all records of a list, or none. @returns them in the asked shape */
export async function create(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
  own: OwnPart = NOTHING,
): Promise<Created> {
  return deps.gate.run(() => createSettled(deps, principal, tableName, body, parameters, own));
}

async function createSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
  { stamp }: OwnPart,
): Promise<Created> {
  const rights = await deps.rights(principal);
  const { table, shape, bodies, catalog } = await deps.catalogs.decide((now) => {
    const found = findTable(now, tableName);
    rights.require(now, found, "create");
    requireSettled(now, tablesWritten(now, found));
    const wish = recordShape(deps, rights, found, now, parameters);
    const grants = rights.write(now, found, "create");
    const write: BodyContext = {
      deps,
      table: found,
      catalog: now,
      shape: wish,
      mode: "create",
      byRoot: rights.isRoot,
      stamp,
    };
    return {
      table: found,
      catalog: now,
      shape: wish,
      bodies: checkBulk(body, (each) => alternativesFor(write, each, grants)),
    };
  });
  await deps.ruleHooks.beforeCreate(table, catalog, isArray(body) ? body : [body]);
  const plans = await chooseCreates(deps, table, bodies);
  await authorizeForeign(deps, rights, catalog, plans);
  const ids = await runCreate(deps, table, plans);
  deps.ruleHooks.afterChange(table);
  return { records: await answerOf(deps, shape, ids), ids: ids.map((id) => idText(table, id)) };
}

/**
 * The written records; the id alone of those that the caller may not read, and of those that can't be read just now:
 * they are written, and a refusal would say the opposite.
 */
async function answerOf(deps: RecordDeps, shape: RecordShape, ids: readonly Stored[]): Promise<Json[]> {
  const { table } = shape.node;
  const row = COLUMN_TYPES[table.idColumn.type];
  const records = await readEach(deps, shape, ids).catch((err: unknown) => {
    deps.logger.warn({ err, table: table.name }, "what was written could not be read for the answer");
    return undefined;
  });
  const lost = records?.includes(undefined) === true && shape.view.rows(table).kind === "always";
  if (lost) throw new AppError("CONFLICT", "Another request has deleted what this one had just written.");
  return ids.map((id, at) => records?.[at] ?? { id: row.toJson(id) });
}

interface BodyContext {
  readonly deps: RecordDeps;
  readonly table: Table;
  readonly catalog: Catalog;
  readonly shape: RecordShape;
  readonly mode: "create" | "update";
  readonly byRoot: boolean;
  readonly stamp: Stamp;
}

/**
 * The ways in which the rules allow a body, in their order.
 * @throws AppError what is wrong with the body, as far as the most generous rule goes
 */
function alternativesFor(context: BodyContext, body: Json, grants: readonly WriteGrant[]): Alternative[] {
  const refusals: AppError[] = [];
  const alternatives = grants.flatMap((grant) => {
    try {
      return [alternativeFor(context, body, grant)];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refusals.push(error);
      return [];
    }
  });
  const [first] = refusals.toSorted((a, b) => countOf(a) - countOf(b));
  if (alternatives.length === 0 && first !== undefined) throw first;
  return alternatives;
}

function countOf(error: AppError): number {
  return [error.messages].flat().length;
}

function alternativeFor(context: BodyContext, body: Json, grant: WriteGrant): Alternative {
  const { deps, table, catalog, shape, mode, stamp } = context;
  const preset = new Set(Object.keys(grant.presets));
  const filled = isObject(body) ? { ...body, ...grant.presets } : body;
  const prepared = deps.fileHooks.prepare(table, deps.userHooks.prepare(table, filled), mode);
  const mayWrite = (member: Column | Relation) => preset.has(member.name) || grant.members(member);
  const checked = checkBody(prepared, table, catalog, { mayWrite, stamped: Object.keys(stamp) }, mode);
  const plan = stamped(planWrite(authorizeLinks(checked, table, shape.view, preset)), table, stamp);
  const marked = context.byRoot ? plan : deps.userHooks.markUnproven(table, plan);
  return { rows: grant.rows, check: grant.check, plan: marked };
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
  own: OwnPart = NOTHING,
): Promise<Json[]> {
  return deps.gate.run(() => updateSettled(deps, principal, tableName, idText, body, parameters, own));
}

async function updateSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
  { stamp, guard }: OwnPart,
): Promise<Json[]> {
  const rights = await deps.rights(principal);
  const { table, id, shape, alternatives, catalog } = await deps.catalogs.decide((now) => {
    const found = findTable(now, tableName);
    rights.require(now, found, "update");
    requireSettled(now, tablesWritten(now, found));
    const wish = recordShape(deps, rights, found, now, parameters);
    const grants = rights.write(now, found, "update");
    const write: BodyContext = {
      deps,
      table: found,
      catalog: now,
      shape: wish,
      mode: "update",
      byRoot: rights.isRoot,
      stamp,
    };
    return {
      table: found,
      catalog: now,
      id: parseId(found, idText),
      shape: wish,
      alternatives: alternativesFor(write, body, grants),
    };
  });
  await deps.ruleHooks.beforeUpdate(table, catalog, id, body);
  const updateOnce = async (): Promise<boolean> => {
    const judged = await chooseUpdate(deps, table, id, alternatives);
    if (judged === undefined) throw notAllowed(table, "update", await isVisible(deps, shape, id));
    await authorizeForeign(deps, rights, catalog, [judged.plan], id);
    const also = await guard?.(id);
    const both = also === undefined ? judged.guard : { $and: [judged.guard, also] };
    return deps.fileHooks.updating(table, id, judged.plan, () =>
      runUpdate(deps, table, id, judged.plan, both),
    );
  };
  await whileOthersChange(table, updateOnce);
  deps.ruleHooks.afterChange(table);
  return answerOf(deps, shape, [id]);
}

/** Judges and acts until nothing changed in between. */
async function whileOthersChange(table: Table, act: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) if (await act()) return;
  throw new AppError("CONFLICT", `Others keep changing this "${table.name}" record; try again.`);
}

async function isVisible(deps: RecordDeps, shape: RecordShape, id: Stored): Promise<boolean> {
  return (await readShaped(deps, shape, [id])).length > 0;
}

/**
 * Lets a request pass that may change or delete this record by some rule: before its body is read.
 * @param member only rules that let this member be written count
 * @throws AppError 401, 403, 404
 */
export async function requireRecord(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  action: "update" | "delete",
  idText: string,
  member: string,
): Promise<Stored> {
  const rights = await deps.rights(principal);
  const catalog = await deps.catalogs.get();
  const table = findTable(catalog, tableName);
  rights.require(catalog, table, action);
  const id = parseId(table, idText);
  const column = table.columns.get(member);
  const grants = rights.write(catalog, table, action);
  const fitting = grants.filter((grant) => column === undefined || grant.members(column));
  if ((await judgeDelete(deps, table, id, anyRow(fitting))) === undefined) {
    const shape = recordShape(deps, rights, table, catalog, { filterFromText: false });
    throw notAllowed(table, action, await isVisible(deps, shape, id));
  }
  return id;
}

function anyRow(grants: readonly WriteGrant[]): AuthorizedPredicate {
  const all = grants.find((grant) => grant.rows.kind === "always");
  return all?.rows ?? { kind: "or", of: grants.map((grant) => grant.rows) };
}

/** Tells which relations a delete follows instead of being refused by them. */
export type Follows = (owner: Table, relation: Relation) => boolean;

/** Deletes one record with all that `onDelete` asks for. @param follows takes along only what the caller may delete */
export async function remove(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  follows?: Follows,
): Promise<void> {
  await deps.gate.run(() => removeSettled(deps, principal, tableName, idText, follows));
}

async function removeSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  follows: Follows | undefined,
): Promise<void> {
  const rights = await deps.rights(principal);
  // What links here must be known in full: another instance may have made a table with such a link a moment ago.
  const catalog = await deps.catalogs.refresh();
  const table = findTable(catalog, tableName);
  rights.require(catalog, table, "delete");
  requireSettled(catalog, tablesDeletedFrom(catalog, table));
  const id = parseId(table, idText);
  const rowsOf = (each: Table) => anyRow(rights.write(catalog, each, "delete"));
  const mayTake = async (step: DeleteStep): Promise<void> => {
    // What `onDelete` takes along goes whatever the caller may do with it; see contract 7.
    const followed = [...step.table.relations.values()].some((each) => follows?.(step.table, each));
    if (followed) await requireTakeable(deps, step, rowsOf(step.table));
  };
  await whileOthersChange(table, async () => {
    const guard = await judgeDelete(deps, table, id, rowsOf(table));
    if (guard === undefined) {
      const shape = recordShape(deps, rights, table, catalog, { filterFromText: false });
      throw notAllowed(table, "delete", await isVisible(deps, shape, id));
    }
    const view = new ReadView(catalog, rights.read(catalog));
    const mayKnow: MayKnow = (owner, relation) => view.relation(owner, relation.name, "show") !== undefined;
    const reach = follows === undefined ? { mayKnow } : { mayKnow, follows, mayTake };
    return runDelete(deps, catalog, table, id, guard, reach);
  });
  deps.ruleHooks.afterChange(table);
}

/** @throws AppError 403 when the rules don't let the caller delete each of these */
async function requireTakeable(
  { store }: RecordDeps,
  { table, ids }: DeleteStep,
  rows: AuthorizedPredicate,
): Promise<void> {
  if (rows.kind === "always") return;
  const allowed = await store.existing(table, ids, matchStages([rows], new Names()));
  if (allowed.size === ids.length) return;
  throw new AppError("FORBIDDEN", `You may not delete every "${table.name}" record that would go with it.`);
}
