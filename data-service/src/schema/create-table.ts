// POST /svc_table: check the definition, reserve its name, make collection and indexes, publish.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import { isObject, type Json, noObject } from "@portico/shared/json";
import type { Logger } from "@portico/shared/logger";
import { ObjectId } from "bson";
import { buildCatalog, type SystemTableDefinition } from "../catalog/build-catalog.js";
import { type Catalog, type Table, tableById } from "../catalog/catalog.js";
import { checkDefinition } from "../catalog/check-definition.js";
import { memberElsewhere } from "../catalog/check-member.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { DefinitionContext } from "../catalog/definition-context.js";
import { type IndexSpec, tooManyIndexes } from "../catalog/indexes.js";
import { definitionJson } from "../catalog/merge-definition.js";
import type { CatalogStore } from "../mongo/catalog-store.js";
import type { ChangeLock } from "../mongo/change-lock.js";
import type { ChangeStore } from "../mongo/change-store.js";
import type { TableData } from "../mongo/table-data.js";
import type { AskingCaller } from "../records/acting-for.js";
import { maybeWritten, mayStillBeDone } from "../records/whole/uncertain.js";
import { until } from "../until.js";
import { untilStill } from "../until-still.js";
import type { CurrentCatalog } from "./current-catalog.js";
import type { Noted } from "./dead-instances.js";
import {
  type NumberIndex,
  nameTaken,
  numberIndexes,
  requireOwnCollection,
  requireRoomInParents,
  schemaError,
} from "./plan-change.js";
import type { Presence } from "./presence.js";

/** Makes the index of a number of children. @throws AppError 409 where MongoDB allows no more */
export type ProvisionNumber = (parents: Table, index: IndexSpec) => Promise<void>;

export interface SchemaDeps extends AskingCaller {
  readonly catalogs: CurrentCatalog;
  readonly catalogStore: CatalogStore;
  readonly changeLock: Pick<ChangeLock, "holder">;
  readonly changes: Pick<ChangeStore, "keepsCollection">;
  readonly presence: Pick<Presence, "everyone" | "id">;
  readonly data: Pick<TableData, "holdsAny" | "whyNoTable" | "dropIndexes">;
  readonly systemTables: readonly SystemTableDefinition[];
  readonly systemTablePrefix: string;
  readonly provision: (table: Table) => Promise<void>;
  readonly provisionNumber: ProvisionNumber;
  /**
   * The same for a table whose name is reserved: what earlier ones had unique there is so no longer.
   * @param isOurs is it still? Refuses what became another's
   */
  readonly provisionNew: (table: Table, isOurs: () => Promise<boolean>) => Promise<void>;
  readonly clock: Clock;
}

/** How often to try again when other instances make changes at the same moment. */
const ATTEMPTS = 50;
/** How long a new table waits for a change of another one to end. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;

/** How a table is made. */
export interface Making extends Partial<Pick<DefinitionContext, "ownIds">> {
  /** Its maker goes on when it is there; where that dies before, the table goes again (see make-table). */
  readonly isHalf?: boolean;
}

/**
 * Makes a table and returns its id once it is usable. With `ownIds` the definition may bring ids along, as in a schema file.
 * @throws AppError 422 with every problem of the definition, 409 for a taken name
 */
export async function createTable(
  deps: SchemaDeps,
  body: Json,
  { ownIds = false, isHalf = false }: Making = {},
): Promise<string> {
  const catalog = await deps.catalogs.refresh();
  const definition = await newTable(deps, body, catalog, { ownIds });
  requireOwnCollection(catalog, definition);
  const maker: Noted = { instance: deps.presence.id, at: deps.clock.now() };
  if (!(await deps.catalogStore.reserve(definition, maker, isHalf))) throw nameTaken(definition.name);
  await provisionAndPublish(deps, definition, async (catalog) => {
    await deps.requireCaller();
    checkNew(deps, body, catalog, { ownIds });
    requireOwnCollection(catalog, definition);
  });
  return definition.id;
}

/** Deletes that take longer check against the new catalog when they are done (see run-delete). */
const DELETES_MS = 5_000;

/**
 * Waits for deletes that know nothing of a new table's links: what they delete must be gone before anything links to it. The
 * table exists in any case, so a failure to wait is only logged.
 */
export async function deletesEnded(
  deps: SchemaDeps & { readonly logger: Logger },
  id: string,
): Promise<void> {
  const wait = async (): Promise<void> => {
    const table = tableById(await deps.catalogs.refresh(), id);
    if (![...(table?.relations.values() ?? [])].some(({ link }) => link.on === "self")) return;
    await deps.presence.everyone(deps.catalogs.version, DELETES_MS);
  };
  await wait().catch((err: unknown) =>
    deps.logger.info({ err, id }, "a new table did not wait for all writes"),
  );
}

/** A new table's definition if documents of other programs have its name, otherwise undefined. @throws AppError 409, 422 */
export async function adoptedBy(deps: SchemaDeps, body: Json): Promise<TableDefinition | undefined> {
  const catalog = await deps.catalogs.refresh();
  const definition = await newTable(deps, body, catalog, { ownIds: false });
  return definition.storage.adopted === true ? definition : undefined;
}

async function newTable(
  deps: SchemaDeps,
  body: Json,
  catalog: Catalog,
  options: { readonly ownIds: boolean },
): Promise<TableDefinition> {
  const definition = await withOwnCollection(deps, catalog, checkNew(deps, body, catalog, options));
  await requireCollection(deps, definition);
  return definition;
}

/** @throws AppError 409 where the collection can't be a table */
export async function requireCollection(
  { data }: { readonly data: Pick<TableData, "whyNoTable"> },
  { name, storage }: TableDefinition,
): Promise<void> {
  const { collection } = storage;
  const why = await data.whyNoTable(collection);
  const place = collection === name ? "name" : "storage.collection";
  if (why !== undefined)
    throw new AppError("CONFLICT", `${place}: "${collection}" ${why}, which can't be a table`);
}

/**
 * A table that was renamed or deleted keeps its collection, so a new one with its former name gets another; if others have
 * put documents under the name, the new table shows those.
 */
export async function withOwnCollection(
  deps: Pick<SchemaDeps, "changes" | "data">,
  catalog: Catalog,
  definition: TableDefinition,
): Promise<TableDefinition> {
  const { name, id, storage } = definition;
  if (storage.adopted === true) return definition;
  const isUsed = [...catalog.tables.values()].some((table) => table.collection === name);
  if (!isUsed && !(await deps.changes.keepsCollection(name))) {
    // Documents that another program has put there are not ours to remove.
    const adopted = await deps.data.holdsAny(name);
    return adopted ? { ...definition, storage: { ...storage, adopted } } : definition;
  }
  // No table's name has a dot.
  return { ...definition, storage: { ...storage, collection: `${name}.${id}` } };
}

function checkNew(
  deps: SchemaDeps,
  body: Json,
  catalog: Catalog,
  { ownIds }: { readonly ownIds: boolean },
): TableDefinition {
  if (!isObject(body)) throw schemaError([`body: ${noObject(body)}`]);
  // Before anything else: a definition that is sent twice also repeats its inverse names, which would be reported instead.
  const { name } = body;
  if (typeof name === "string" && catalog.tables.get(name)?.system === false) throw nameTaken(name);
  const checked = checkDefinition(body, {
    catalog,
    systemPrefix: deps.systemTablePrefix,
    newId: () => new ObjectId().toHexString(),
    ownIds,
  });
  if (!checked.ok) throw schemaError(checked.problems);
  const { definition } = checked;
  const tooMany = tooManyIndexes(builtTable(deps, definition));
  if (tooMany !== undefined) throw schemaError([tooMany]);
  const counted = definition.relations.filter((relation) => relation.counted).map(({ table }) => table);
  requireRoomInParents(catalog, counted, { areThere: false });
  return definition;
}

/** A table on its own. */
export function builtTable(deps: Pick<SchemaDeps, "systemTables">, definition: TableDefinition): Table {
  // On its own it has everything that collection and indexes depend on; targets that are missing here do not matter.
  const related = definition.relations
    .map((relation) => relation.table)
    .filter((name) => name !== definition.name);
  const standIns = related.map((name) => ({ ...definition, id: name, name, relations: [] }));
  const table = buildCatalog(0, [definition, ...standIns], deps.systemTables).tables.get(definition.name);
  if (table === undefined) throw new Error(`no table "${definition.name}"`);
  return table;
}

/** Indexes on numbers of children, in the tables at the other end of counted relations: these are sorted by them. */
async function provisionNumbers(deps: SchemaDeps, definition: TableDefinition): Promise<void> {
  for (const { parents, index } of await numbersOf(deps, definition))
    await deps.provisionNumber(parents, index);
}

/**
 * Removes what is left of a table that is not made after all. A schema file may have given its relations' ids to another
 * table.
 */
async function dropNumbers(deps: SchemaDeps, definition: TableDefinition): Promise<void> {
  const catalog = await deps.catalogs.refresh();
  if (tableById(catalog, definition.id) !== undefined) return;
  const relations = definition.relations.filter(({ id }) => memberElsewhere(catalog, id) === undefined);
  for (const { parents, index } of await numbersOf(deps, { ...definition, relations }))
    await deps.data.dropIndexes(parents, [index], async () => {});
}

/** The indexes that a new table's counted relations give other tables. */
async function numbersOf(deps: SchemaDeps, definition: TableDefinition): Promise<NumberIndex[]> {
  if (!definition.relations.some(({ counted }) => counted)) return [];
  const { id, name } = definition;
  const others = (await deps.catalogStore.load()).filter((each) => each.id !== id && each.name !== name);
  const catalog = buildCatalog(0, [...others, definition], deps.systemTables);
  return numberIndexes(catalog, tableById(catalog, id));
}

/** Throws when the definition does not fit into a catalog that others have changed meanwhile, or its maker may no longer make it. */
type Check = (catalog: Catalog) => Promise<void>;

/**
 * Once it may be published, an error is no refusal: the answer may have been lost, or what comes after it may have failed.
 * @throws AppError 503 `uncertain` where nobody knows whether the table is there, else why it is not
 */
async function provisionAndPublish(
  deps: SchemaDeps,
  definition: TableDefinition,
  check: Check,
): Promise<void> {
  let isSent = false;
  const publish = async (seen: number): Promise<boolean> => {
    isSent = true;
    isSent = await deps.catalogStore.publish(definition, seen);
    return isSent;
  };
  try {
    await provisionAnd(publish, deps, definition, check);
  } catch (error) {
    if (!isSent || isClientError(error)) throw error;
    const look = async () => tableById(await deps.catalogs.refresh(), definition.id) !== undefined;
    const isThere = await look().catch(() => undefined);
    if (isThere === true) return;
    throw isThere === undefined || mayStillBeDone(error) ? maybeWritten(error) : error;
  }
}

/** @param publish is told the version that was checked, and returns false when there is another by then */
async function provisionAnd(
  publish: (seen: number) => Promise<boolean>,
  deps: SchemaDeps,
  definition: TableDefinition,
  check: Check,
): Promise<void> {
  const isOurs = async (): Promise<boolean> => {
    // Another table may have come to the same documents meanwhile, or be coming back to them by a change.
    await unlocked(deps);
    requireOwnCollection(await deps.catalogs.refresh(), definition);
    return deps.catalogStore.isMaking(definition, deps.presence.id);
  };
  try {
    // Now that the name is reserved: what a table that is gone has left in the collection may just be going (see sweep-changes).
    await unlocked(deps);
    const catalog = await deps.catalogs.refresh();
    // An instance that took this one for dead has made it meanwhile.
    if (tableById(catalog, definition.id) !== undefined) return;
    // Checked once more, now that nobody else can take the name: making indexes must not touch another table of this name.
    await check(catalog);
    await deps.provisionNew(builtTable(deps, definition), isOurs);
    await provisionNumbers(deps, definition);
    const publishChecked = async (): Promise<boolean> => {
      await unlocked(deps);
      const catalog = await deps.catalogs.refresh();
      // An instance that started a moment ago took this making for an interrupted one and has published the table.
      if (catalog.tables.get(definition.name)?.id === definition.id) return true;
      await check(catalog);
      return publish(catalog.version);
    };
    const gaveUp = () => {
      throw new AppError("CONFLICT", "Other tables are being changed at this moment; try again.");
    };
    await untilStill(publishChecked, { attempts: ATTEMPTS, gaveUp });
    // An instance that took this making for an interrupted one may have given it up.
    if (tableById(await deps.catalogs.refresh(), definition.id) === undefined)
      throw new AppError("CONFLICT", `The new table "${definition.name}" was given up or deleted by others.`);
  } catch (error) {
    // If this fails, it only costs a place among the other table's indexes.
    await dropNumbers(deps, definition).catch(() => undefined);
    throw error;
  } finally {
    // Published tables no longer have a reservation.
    await deps.catalogStore.release(definition, deps.presence.id);
  }
}

/** Waits until no table is being changed. @throws AppError 409 when that takes too long */
export async function unlocked(
  { changeLock }: Pick<SchemaDeps, "changeLock">,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const isUnlocked = async () => (await changeLock.holder()) === undefined;
  const tooLate = () => {
    throw new AppError("CONFLICT", "Another table is being changed; try again when that is done.");
  };
  await until(isUnlocked, { patienceMs, everyMs: LOOK_MS, tooLate });
}

/**
 * Finishes tables whose making was interrupted by a crash; one that no longer fits, or fails, is given up: it keeps nobody from
 * being served. At its start an instance finishes everything it finds, and while it runs, what dead ones have left.
 * @param isLeft whether the maker will do nothing more about it
 */
export async function finishInterrupted(
  deps: SchemaDeps & { readonly logger: Logger },
  isLeft: (maker: Noted) => Promise<boolean> = async () => true,
): Promise<void> {
  for (const making of await deps.catalogStore.making()) {
    const { definition, maker } = making;
    if (!(await isLeft(maker)) || !(await deps.catalogStore.takeOver(making, deps.presence.id))) continue;
    try {
      await provisionAndPublish(deps, definition, async (catalog) =>
        requireStillFits(deps, definition, catalog),
      );
    } catch (error) {
      if (isClientError(error)) continue;
      deps.logger.error({ err: error, table: definition.name }, "finishing the making of a table failed");
    }
  }
}

/** Tables may have been renamed or deleted since. */
function requireStillFits(deps: SchemaDeps, definition: TableDefinition, catalog: Catalog): void {
  if (catalog.tables.has(definition.name)) throw nameTaken(definition.name);
  const checked = checkDefinition(definitionJson(definition), {
    catalog,
    systemPrefix: deps.systemTablePrefix,
    newId: () => new ObjectId().toHexString(),
    existing: definition,
  });
  if (!checked.ok) throw schemaError(checked.problems);
  requireOwnCollection(catalog, definition);
}
