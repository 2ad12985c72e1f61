// POST, PATCH and DELETE of records: check everything, write, answer with the record as it is now.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Column, Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { isArray, isObject, type Json } from "../json.js";
import { idText } from "../mongo/record-store.js";
import type { WriteGrant } from "../permission/compile-rules.js";
import type { Rights } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { Parameters } from "../query/parameters.js";
import { requireSettled } from "../schema/write-gate.js";
import { authorizeForeign } from "./authorize-foreign.js";
import { authorizeLinks } from "./authorize-links.js";
import { type Alternative, chooseCreates, chooseUpdate, judgeDelete, notAllowed } from "./authorize-write.js";
import { checkBody, unknownMember } from "./check-body.js";
import type { RecordDeps } from "./deps.js";
import { findTable, parseId, recordNotFound } from "./find-table.js";
import { type OnceKey, once, type Turn } from "./once.js";
import { type RecordShape, readEach, readShaped, recordShape } from "./read-one.js";
import {
  type DeleteStep,
  type MayKnow,
  requireLinked,
  runCreate,
  runDelete,
  runUpdate,
} from "./run-write.js";
import { orUndo } from "./undo.js";
import { atVersion, type Expected, movedOn, type Versioned } from "./version.js";
import {
  planWrite,
  type Stamp,
  stamped,
  tablesDeletedFrom,
  tablesWritten,
  type WritePlan,
} from "./write-plan.js";
import { bringsRecords, checkTree, makeForChange, makeTrees, type TreeMaker } from "./write-tree.js";

/** Records one POST may create. */
const MAX_BULK = 1_000;

/** How often a record that others keep changing is judged anew. */
const ATTEMPTS = 50;

export interface Created {
  readonly records: readonly Versioned[];
  /** Ids in the order of the body. */
  readonly ids: readonly string[];
}

/** What comes with a write besides its body. */
export interface Besides {
  /** What the service writes with it. */
  readonly stamp?: Stamp;
  /** An update happens only while the record satisfies it; asked anew at each try. */
  readonly guard?: (id: Stored) => Promise<Document>;
  /** Idempotency-Key of a create. */
  readonly key?: OnceKey | undefined;
  /** If-Match of an update. */
  readonly expected?: Expected;
}

export interface RemoveBesides {
  readonly expected?: Expected;
  readonly follows?: Follows | undefined;
}

/** Creates one record, or all records of a list, or none. @returns them in the asked shape */
export async function create(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
  besides: Besides = {},
): Promise<Created> {
  return deps.gate.run(() => createSettled(deps, principal, tableName, body, parameters, besides));
}

async function createSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
  { stamp, key }: Besides,
): Promise<Created> {
  const rights = await deps.rights(principal);
  const tree = await treeOf(deps, rights, tableName, body);
  if (tree !== undefined) return createTrees(deps, rights, tree, body, parameters, key);
  const bound = await bindCreates(deps, rights, tableName, body, { parameters, stamp });
  const { table, shape } = bound;
  const run = async (turn?: Turn): Promise<readonly Stored[]> =>
    runCreate(deps, table, await judgeCreates(deps, bound), turn);
  const ids = key === undefined ? await run() : await once(deps.once, key, run);
  deps.ruleHooks.afterChange(table);
  return { records: await answerOf(deps, shape, ids), ids: ids.map((id) => idText(table, id)) };
}

/** A request whose bodies bring records along. */
interface Tree {
  readonly maker: TreeMaker;
  readonly table: Table;
}

async function treeOf(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  body: Json,
): Promise<Tree | undefined> {
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, tableName);
    const bodies = isArray(body) ? body : [body];
    if (!bringsRecords(bodies, table, catalog)) return undefined;
    return { table, maker: treeMaker(deps, rights, catalog) };
  });
}

const PLAIN: Parameters = { filterFromText: false };

function treeMaker(deps: RecordDeps, rights: Rights, catalog: Catalog): TreeMaker {
  return {
    catalog,
    maxDepth: deps.limits.maxDepth,
    check: (table, body) =>
      void alternativesFor(openWrite(deps, rights, catalog, table, "create", PLAIN), body),
    async make(table, bodies, undo) {
      const bound = await bindCreates(deps, rights, table.name, bodies, { parameters: PLAIN });
      const ids = await runCreate(deps, table, await judgeCreates(deps, bound));
      undo.push(async () => void (await deps.writes.remove(table, ids)));
      deps.ruleHooks.afterChange(table);
      return ids.map((id) => COLUMN_TYPES[table.idColumn.type].toJson(id));
    },
  };
}

/** Creates records and those that they bring along, all or none. */
async function createTrees(
  deps: RecordDeps,
  rights: Rights,
  { maker, table }: Tree,
  body: Json,
  parameters: Parameters,
  key: OnceKey | undefined,
): Promise<Created> {
  const context = openWrite(deps, rights, maker.catalog, table, "create", parameters);
  const bodies = checkBulk(body, (each) => {
    if (!isObject(each)) return alternativesFor(context, each) && {};
    checkTree(maker, table, each, (flat) => void alternativesFor(context, flat));
    return each;
  });
  const run = async (turn?: Turn): Promise<readonly Stored[]> => {
    if (turn?.ids !== undefined) throw interrupted(table);
    await turn?.choose([]);
    const made = await orUndo((undo) => makeTrees(maker, table, bodies, undo));
    return made.map((id) => parseId(table, String(id)));
  };
  const ids = key === undefined ? await run() : await once(deps.once, key, run);
  return { records: await answerOf(deps, context.shape, ids), ids: ids.map((id) => idText(table, id)) };
}

function interrupted(table: Table): AppError {
  return new AppError(
    "CONFLICT",
    `The first request with this Idempotency-Key was cut off while it made "${table.name}" records with others inside; look what is there before you send it with a new key.`,
  );
}

/** Bodies of new records that are right as far as can be told without asking the database. */
interface BoundCreates {
  readonly rights: Rights;
  readonly table: Table;
  readonly catalog: Catalog;
  readonly shape: RecordShape;
  readonly given: readonly Json[];
  /** In the order of the bodies: the ways in which the rules allow each. */
  readonly bodies: readonly (readonly Alternative[])[];
}

interface BindOptions {
  readonly parameters: Parameters;
  /** Root brings ids and times: see WriteView. */
  readonly isImport?: boolean;
  readonly stamp?: Stamp | undefined;
}

/** Checks a body, or each of a list. */
async function bindCreates(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  body: Json,
  { parameters, stamp, isImport = false }: BindOptions,
): Promise<BoundCreates> {
  return deps.catalogs.decide((now) => {
    const opened = openWrite(deps, rights, now, findTable(now, tableName), "create", parameters);
    const context = { ...opened, stamp, keepsGenerated: isImport && rights.isRoot };
    const bodies = checkBulk(body, (each) => alternativesFor(context, each));
    return { ...context, rights, given: isArray(body) ? body : [body], bodies };
  });
}

/** Asks the rules about new records. Writes nothing. @returns in the order of the bodies, what is to be written */
async function judgeCreates(
  deps: RecordDeps,
  { rights, table, catalog, given, bodies }: BoundCreates,
): Promise<readonly WritePlan[]> {
  await deps.ruleHooks.beforeCreate(table, catalog, given);
  const plans = await chooseCreates(deps, table, bodies);
  await authorizeForeign(deps, rights, catalog, plans);
  return plans;
}

const FOR_IMPORT: BindOptions = { parameters: PLAIN, isImport: true };

/** Creates the records of one batch of an import, all or none, as a POST of a list does; nothing is read for an answer. */
export async function createBatch(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  bodies: readonly Json[],
): Promise<void> {
  await deps.gate.run(async () => {
    const bound = await bindCreates(deps, await deps.rights(principal), tableName, bodies, FOR_IMPORT);
    await runCreate(deps, bound.table, await judgeCreates(deps, bound));
    deps.ruleHooks.afterChange(bound.table);
  });
}

/** New records that may be written, as far as their rules and their bodies go. */
export interface JudgedCreates {
  readonly table: Table;
  readonly shape: RecordShape;
  /** In the order of the bodies. */
  readonly plans: readonly WritePlan[];
}

/** What `createBatch` would refuse of a batch, except for values that are taken. Writes nothing. */
export async function tryBatch(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  bodies: readonly Json[],
): Promise<JudgedCreates> {
  return deps.gate.run(async () => {
    const bound = await bindCreates(deps, await deps.rights(principal), tableName, bodies, FOR_IMPORT);
    const plans = await judgeCreates(deps, bound);
    await requireLinked(deps, plans);
    return { ...bound, plans };
  });
}

/** What is wrong with the members that an import names, which are the same for all of its records. */
export function unknownMembers(
  names: readonly string[],
  table: Table,
  grants: readonly WriteGrant[],
): Map<string, string> {
  const views = grants.map((grant) => ({ mayWrite: writableBy(grant) }));
  const problems = names.flatMap((name): [string, string][] => {
    const member = table.columns.get(name) ?? table.relations.get(name);
    const isGenerated = member !== undefined && "generated" in member && member.generated;
    if (isGenerated || (member !== undefined && views.some(({ mayWrite }) => mayWrite(member)))) return [];
    const [view] = views;
    return view === undefined ? [] : [[name, unknownMember(name, table, view)]];
  });
  return new Map(problems);
}

/**
 * The written records; the id alone of those that the caller may not read, and of those that can't be read just now:
 * they are written, and a refusal would say the opposite.
 */
async function answerOf(deps: RecordDeps, shape: RecordShape, ids: readonly Stored[]): Promise<Versioned[]> {
  const { table } = shape.node;
  const row = COLUMN_TYPES[table.idColumn.type];
  const records = await readEach(deps, shape, ids).catch((err: unknown) => {
    deps.logger.warn({ err, table: table.name }, "what was written could not be read for the answer");
    return undefined;
  });
  const lost = records?.includes(undefined) === true && shape.view.rows(table).kind === "always";
  if (lost) throw new AppError("CONFLICT", "Another request has deleted what this one had just written.");
  return ids.map((id, at) => records?.[at] ?? { json: { id: row.toJson(id) }, version: undefined });
}

type Mode = "create" | "update";

interface BodyContext {
  readonly deps: RecordDeps;
  readonly table: Table;
  readonly catalog: Catalog;
  readonly shape: RecordShape;
  readonly mode: Mode;
  readonly byRoot: boolean;
  readonly grants: readonly WriteGrant[];
  readonly keepsGenerated?: boolean;
  readonly stamp?: Stamp | undefined;
}

/** @throws AppError 401, 403 without a right to it, 409 while the table is being changed */
function openWrite(
  deps: RecordDeps,
  rights: Rights,
  catalog: Catalog,
  table: Table,
  mode: Mode,
  parameters: Parameters,
): BodyContext {
  rights.require(catalog, table, mode);
  requireSettled(catalog, tablesWritten(catalog, table));
  const shape = recordShape(deps, rights, table, catalog, parameters);
  const grants = rights.write(catalog, table, mode);
  return { deps, table, catalog, shape, mode, byRoot: rights.isRoot, grants };
}

/**
 * The ways in which the rules allow a body, in their order.
 * @throws AppError what is wrong with the body, as far as the most generous rule goes
 */
function alternativesFor(context: BodyContext, body: Json): Alternative[] {
  const refusals: AppError[] = [];
  const alternatives = context.grants.flatMap((grant) => {
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
  const { deps, table, catalog, shape, mode } = context;
  const preset = new Set(Object.keys(grant.presets));
  const filled = isObject(body) ? { ...body, ...grant.presets } : body;
  const { stamp = {}, keepsGenerated = false } = context;
  const prepared = deps.fileHooks.prepare(table, deps.userHooks.prepare(table, filled), mode);
  const view = { mayWrite: writableBy(grant), keepsGenerated, stamped: Object.keys(stamp) };
  const checked = checkBody(prepared, table, catalog, view, mode);
  const plan = stamped(planWrite(authorizeLinks(checked, table, shape.view, preset)), table, stamp);
  const marked = context.byRoot ? plan : deps.userHooks.markUnproven(table, plan);
  return { rows: grant.rows, check: grant.check, plan: marked };
}

/** What a rule lets a body name; its presets are in the body whether the client names them or not. */
function writableBy({ presets, members }: WriteGrant): (member: Column | Relation) => boolean {
  const preset = new Set(Object.keys(presets));
  return (member) => preset.has(member.name) || members(member);
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
  besides: Besides = {},
): Promise<Versioned> {
  return deps.gate.run(async () => {
    const rights = await deps.rights(principal);
    const tree = await treeOf(deps, rights, tableName, body);
    const whole = async (change: Json): Promise<Versioned> =>
      updateSettled(deps, rights, tableName, idText, change, parameters, besides);
    if (tree === undefined || !isObject(body)) return whole(body);
    const { maker, table } = tree;
    const context = openWrite(deps, rights, maker.catalog, table, "update", parameters);
    checkTree(maker, table, body, (flat) => void alternativesFor(context, flat));
    const id = COLUMN_TYPES[table.idColumn.type].toJson(parseId(table, idText));
    return orUndo(async (undo) => whole(await makeForChange(maker, table, body, id, undo)));
  });
}

async function updateSettled(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
  { stamp, guard, expected }: Besides,
): Promise<Versioned> {
  const { table, id, shape, alternatives, catalog } = await deps.catalogs.decide((now) => {
    const opened = openWrite(deps, rights, now, findTable(now, tableName), "update", parameters);
    const context = { ...opened, stamp };
    const id = parseId(context.table, idText);
    return { ...context, id, alternatives: alternativesFor(context, body) };
  });
  await deps.ruleHooks.beforeUpdate(table, catalog, id, body);
  const updateOnce = async (): Promise<boolean> => {
    const judged = await chooseUpdate(deps, table, id, alternatives);
    if (judged === undefined) throw notAllowed(table, "update", await isVisible(deps, shape, id));
    await authorizeForeign(deps, rights, catalog, [judged.plan], id);
    await requireVersion(deps, shape, id, expected);
    const condition = all([judged.guard, atVersion(expected), (await guard?.(id)) ?? {}]);
    return deps.fileHooks.updating(table, id, judged.plan, () =>
      runUpdate(deps, table, id, judged.plan, condition),
    );
  };
  await whileOthersChange(table, updateOnce);
  deps.ruleHooks.afterChange(table);
  const [record] = await answerOf(deps, shape, [id]);
  if (record === undefined) throw new Error("an answer without its record");
  return record;
}

/** Refuses a body that no record could be changed to. @throws AppError 400, 401, 403 */
export async function checkUpdate(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
): Promise<void> {
  const rights = await deps.rights(principal);
  await deps.catalogs.decide((now) => {
    const context = openWrite(deps, rights, now, findTable(now, tableName), "update", PLAIN);
    return alternativesFor(context, body);
  });
}

/** All conditions that say anything. */
function all(conditions: readonly Document[]): Document {
  const saying = conditions.filter((each) => Object.keys(each).length > 0);
  return saying.length < 2 ? (saying[0] ?? {}) : { $and: saying };
}

/**
 * Refuses early what the write itself would refuse too; there the condition is part of the write.
 * @throws AppError 412, 404
 */
async function requireVersion(
  deps: RecordDeps,
  { node: { table }, view }: RecordShape,
  id: Stored,
  expected: Expected,
): Promise<void> {
  if (expected === undefined) return;
  if (view.column(table, "updatedAt") === undefined) throw movedOn(table);
  const which = { $and: [{ _id: id }, atVersion(expected)] };
  const found = await deps.store.read(table, [{ $match: which }, { $project: { _id: 1 } }]);
  if (found.length > 0) return;
  throw (await deps.store.existing(table, [id])).size === 0 ? recordNotFound(table) : movedOn(table);
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
    const shape = recordShape(deps, rights, table, catalog, PLAIN);
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
  besides: RemoveBesides = {},
): Promise<void> {
  await deps.gate.run(() => removeSettled(deps, principal, tableName, idText, besides));
}

async function removeSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  { expected, follows }: RemoveBesides,
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
  const shape = recordShape(deps, rights, table, catalog, PLAIN);
  const mayKnow: MayKnow = (owner, relation) =>
    shape.view.relation(owner, relation.name, "show") !== undefined;
  const reach = follows === undefined ? { mayKnow } : { mayKnow, follows, mayTake };
  await whileOthersChange(table, async () => {
    const guard = await judgeDelete(deps, table, id, rowsOf(table));
    if (guard === undefined) throw notAllowed(table, "delete", await isVisible(deps, shape, id));
    await requireVersion(deps, shape, id, expected);
    return runDelete(deps, catalog, table, id, all([guard, atVersion(expected)]), reach);
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
