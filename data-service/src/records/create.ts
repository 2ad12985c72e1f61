// POST of records: check everything, write all or none, answer with the records as they are now.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Column, Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { isArray, type Json } from "../json.js";
import { idText } from "../mongo/record-store.js";
import type { Rights } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import type { Parameters } from "../query/parameters.js";
import { actingFor } from "./acting-for.js";
import { answerOf } from "./answer.js";
import { authorizeForeign } from "./authorize-foreign.js";
import { type Alternative, chooseCreates } from "./authorize-write.js";
import { alternativesFor, checkBulk, isWritable, MAX_BULK, openWrite, PLAIN } from "./bind-body.js";
import { requireObject } from "./check-body.js";
import type { RecordDeps } from "./deps.js";
import { findTable, parseId } from "./find-table.js";
import { type OnceKey, once } from "./once.js";
import { asRead, type RecordShape, type Written } from "./read-one.js";
import { type Made, requireLinked, runCreate } from "./run-write.js";
import { mayName, tellingTaken } from "./tell-taken.js";
import type { UndoLog } from "./undo.js";
import type { Versioned } from "./version.js";
import { alone, inList, type PathOf } from "./violations.js";
import type { Stamp, WritePlan } from "./write-plan.js";
import { bringsRecords, checkTree, makeTrees, type TreeMaker } from "./write-tree.js";

export interface Created {
  readonly records: readonly Versioned[];
  /** Ids in the order of the body. */
  readonly ids: readonly string[];
}

/** What comes with a create besides its body. */
export interface CreateBesides {
  /** What the service writes with it. */
  readonly stamp?: Stamp;
  /** Idempotency-Key. */
  readonly key?: OnceKey | undefined;
}

/** Creates one record, or all records of a list, or none. @returns them in the asked shape */
export async function create(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
  besides: CreateBesides = {},
): Promise<Created> {
  return deps.gate.run(() =>
    createSettled(actingFor(deps, principal), principal, tableName, body, parameters, besides),
  );
}

async function createSettled(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  body: Json,
  parameters: Parameters,
  besides: CreateBesides,
): Promise<Created> {
  const rights = await deps.rights(principal);
  return tellingTaken(deps, rights, () => createAllowed(deps, rights, tableName, body, parameters, besides));
}

async function createAllowed(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  body: Json,
  parameters: Parameters,
  { stamp, key }: CreateBesides,
): Promise<Created> {
  const tree = await treeOf(deps, rights, tableName, body);
  if (tree !== undefined) return createTrees(deps, rights, tree, body, parameters, key);
  const bound = await bindCreates(deps, rights, tableName, body, { parameters, stamp });
  const { table, shape } = bound;
  const { ids, documents } = await allOrNone(deps, key, isOneWrite(bound), async (writing, log) =>
    runCreate(writing, table, await judgeCreates(deps, bound), log, pathIn(body)),
  );
  deps.ruleHooks.afterChange(table);
  const written: Written | undefined =
    documents && ((fields) => documents.map((document) => asRead(document, fields)));
  const records = await answerOf(deps, shape, ids, written);
  return { records, ids: ids.map((id) => idText(table, id)) };
}

function pathIn(body: Json): PathOf {
  return isArray(body) ? inList : alone;
}

/** Makes the records of one request, with the writes and the log of the request. */
type Make = (deps: RecordDeps, log: UndoLog) => Promise<Made>;

/** @param isOne one write says it all, so that nothing can be left in half */
async function allOrNone(
  deps: RecordDeps,
  key: OnceKey | undefined,
  isOne: boolean,
  make: Make,
): Promise<Made> {
  const { unfinished } = deps;
  if (key === undefined && isOne) return unfinished.orUndo((log) => make(deps, log));
  // What says that all of it is there waits for the disk, and for all that was written before.
  const noted = (log: UndoLog) => make({ ...deps, writes: deps.writesUnderNote }, log);
  if (key === undefined) return unfinished.wholly(noted);
  const ids = await once(
    deps.once,
    key,
    (owner) => unfinished.undoOf(owner),
    (turn) => unfinished.wholly(async (log) => (await noted(log)).ids, turn),
  );
  return { ids, documents: undefined };
}

function isOneWrite({ bodies }: BoundCreates): boolean {
  return bodies.length === 1 && bodies.flat().every(({ plan }) => plan.foreign.length === 0);
}

/** A request whose bodies bring records along. */
interface Tree {
  readonly maker: TreeMaker;
  readonly table: Table;
}

export async function treeOf(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  body: Json,
): Promise<Tree | undefined> {
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, tableName);
    const bodies = isArray(body) ? body : [body];
    if (!bringsRecords(bodies, table, catalog)) return undefined;
    return { table, maker: treeMaker({ ...deps, writes: deps.writesUnderNote }, rights, catalog) };
  });
}

function treeMaker(deps: RecordDeps, rights: Rights, catalog: Catalog): TreeMaker {
  return {
    catalog,
    maxDepth: deps.limits.maxDepth,
    mostAtOnce: MAX_BULK,
    mayBring: (table, relation) => isWritable(rights, catalog, table, relation),
    check(table, body) {
      const context = openWrite(deps, rights, catalog, table, "create", PLAIN);
      requireCommonCreate(table);
      alternativesFor(context, body);
    },
    async make(table, bodies, log, pathOf) {
      const bound = await bindCreates(deps, rights, table.name, bodies, { parameters: PLAIN, pathOf });
      const { ids } = await runCreate(deps, table, await judgeCreates(deps, bound), log, pathOf);
      deps.ruleHooks.afterChange(table);
      return ids.map((id) => COLUMN_TYPES[table.idColumn.type].toJson(id));
    },
  };
}

/** A file without bytes, or a table without a collection, would be neither. @throws AppError VALIDATION_ERROR */
function requireCommonCreate({ name, ownCreate }: Table): void {
  if (ownCreate !== true) return;
  const message = [`id: is required: a new record of "${name}" is made by a call of its own`];
  throw new AppError("VALIDATION_ERROR", { message });
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
    const tree = requireObject(each);
    checkTree(maker, table, tree, (flat) => void alternativesFor(context, flat));
    return tree;
  });
  const { ids } = await allOrNone(deps, key, false, async (_writing, log) => {
    const made = await makeTrees(maker, table, bodies, log, pathIn(body));
    return { ids: made.map((id) => parseId(table, String(id))), documents: undefined };
  });
  return { records: await answerOf(deps, context.shape, ids), ids: ids.map((id) => idText(table, id)) };
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
  /** Where in the request each of a list stands. */
  readonly pathOf?: PathOf;
}

/** Checks a body, or each of a list. */
async function bindCreates(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  body: Json,
  { parameters, stamp, isImport = false, pathOf }: BindOptions,
): Promise<BoundCreates> {
  return deps.catalogs.decide((now) => {
    const opened = openWrite(deps, rights, now, findTable(now, tableName), "create", parameters);
    const context = { ...opened, stamp, keepsGenerated: isImport && rights.isRoot };
    const bodies = checkBulk(body, (each) => alternativesFor(context, each), pathOf);
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
  given: RecordDeps,
  principal: Principal,
  tableName: string,
  bodies: readonly Json[],
): Promise<void> {
  const deps = actingFor(given, principal);
  await deps.gate.run(async () => {
    const rights = await deps.rights(principal);
    const bound = await bindCreates(deps, rights, tableName, bodies, FOR_IMPORT);
    const plans = await judgeCreates(deps, bound);
    // Which of them were written could not be told from other records with their ids after a crash, and need not be:
    // the import goes on where it was cut off.
    const bringsIds = plans.some(({ own }) => own.set.has("_id"));
    await tellingTaken(deps, rights, () =>
      allOrNone(deps, undefined, bringsIds, (writing, log) =>
        runCreate(writing, bound.table, plans, log, pathIn(bodies)),
      ),
    );
    deps.ruleHooks.afterChange(bound.table);
  });
}

/** New records that may be written, as far as their rules and their bodies go. */
export interface JudgedCreates {
  readonly table: Table;
  readonly shape: RecordShape;
  /** In the order of the bodies. */
  readonly plans: readonly WritePlan[];
  /** Whether the caller may hear of a member. */
  readonly mayName: (member: Column | Relation) => boolean;
}

/**
 * What `createBatch` would refuse of a batch, except for values that are taken. Writes nothing.
 * @param isComing ids of other records that will be there by then, where root brings ids
 */
export async function tryBatch(
  deps: RecordDeps,
  principal: Principal,
  tableName: string,
  bodies: readonly Json[],
  isComing: (id: Stored) => boolean,
): Promise<JudgedCreates> {
  return deps.gate.run(async () => {
    const rights = await deps.rights(principal);
    const bound = await bindCreates(deps, rights, tableName, bodies, FOR_IMPORT);
    const plans = await judgeCreates(deps, bound);
    await requireLinked(deps, plans, {
      pathOf: pathIn(bodies),
      isComing: (target, id) => rights.isRoot && target.id === bound.table.id && isComing(id),
    });
    const { table, catalog } = bound;
    return { ...bound, plans, mayName: (member) => mayName(rights, catalog, table, member) };
  });
}
