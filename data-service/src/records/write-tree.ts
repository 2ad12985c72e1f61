// Creates the records that bodies bring along, in an order that leaves nothing dangling if the process dies in between:
// first those whose ids stand in the record, then the record, then those that link to it. A refusal takes all back.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Table } from "../catalog/catalog.js";
import type { Json, JsonObject } from "../json.js";
import { owningRelation } from "./check-body.js";
import { type Nested, nestedIn, withIds } from "./nested.js";
import type { UndoLog } from "./undo.js";
import { Violations } from "./violations.js";

/** Nested records of one request. */
const MOST = 1_000;

/** What a tree of records is made with; ids are JSON. */
export interface TreeMaker {
  readonly catalog: Catalog;
  /** How deep records may be nested. */
  readonly maxDepth: number;
  /** Refuses bodies with nested records taken out of them, before anything is written. @throws AppError */
  check(table: Table, body: JsonObject): void;
  /** Creates records, all or none, and notes how to take them back. @returns their ids in JSON */
  make(table: Table, bodies: readonly JsonObject[], log: UndoLog): Promise<readonly Json[]>;
}

/** True when some record brings others along. */
export function bringsRecords(bodies: readonly Json[], table: Table, catalog: Catalog): boolean {
  return bodies.some((body) => nestedIn(body, table, catalog).length > 0);
}

/**
 * Checks a body and all records inside it, through all levels, before anything is written.
 * @param checkOwn checks the body itself, with stand-ins for what it brings along
 * @throws AppError VALIDATION_ERROR with every violation; 401, 403 for a table where the caller may create nothing
 */
export function checkTree(
  maker: TreeMaker,
  table: Table,
  body: JsonObject,
  checkOwn: (body: JsonObject) => void,
): void {
  const violations = new Violations();
  violations.collect("", () => checkOwn(flat(body, table, maker.catalog)));
  let count = 0;
  const visit = (of: Table, each: JsonObject, prefix: string, depth: number): void => {
    for (const nested of nestedIn(each, of, maker.catalog)) {
      const path = prefix + nested.path;
      count += 1;
      if (depth > maker.maxDepth || count > MOST) throw tooMuch(path, maker.maxDepth);
      const inside = (): JsonObject => standIn(nested, of, maker.catalog);
      violations.collect(`${path}.`, () => maker.check(nested.target, inside()));
      visit(nested.target, nested.body, `${path}.`, depth + 1);
    }
  };
  visit(table, body, "", 1);
  violations.refuseAny();
}

function tooMuch(path: string, maxDepth: number): AppError {
  const limits = `records may be nested ${maxDepth} levels deep, and be ${MOST} in all`;
  return new AppError("VALIDATION_ERROR", { message: [`${path}: ${limits}`] });
}

/** A nested body as it will be, with ids that stand for those that there will be. */
function standIn(nested: Nested, around: Table, catalog: Catalog): JsonObject {
  const { target, body } = nested;
  return linked(flat(body, target, catalog), nested, someId(around));
}

/** A body with ids that stand for its nested records. */
function flat(body: JsonObject, table: Table, catalog: Catalog): JsonObject {
  const nested = nestedIn(body, table, catalog);
  const ids = nested.filter(comesFirst).map(({ path, target }): [string, Json] => [path, someId(target)]);
  return withIds(body, nested, new Map(ids));
}

function someId({ idColumn: { type } }: Table): Json {
  if (type === "int") return 1;
  return type === "uuid" ? "00000000-0000-7000-8000-000000000000" : "0".repeat(24);
}

/** The nested record's own id stands in the record around it. */
function comesFirst({ relation }: Nested): boolean {
  return relation.link.on === "self";
}

/** The body of a record that links to the one around it. @throws AppError when it names that link itself */
function linked(body: JsonObject, { relation, target }: Nested, id: Json): JsonObject {
  if (relation.link.on === "self") return body;
  const owning = owningRelation({ relation, target });
  if (owning === undefined) throw new Error(`nothing stores "${relation.name}"`);
  if (body[owning.name] !== undefined) {
    const message = [`${owning.name}: is set by the record around it; leave it out`];
    throw new AppError("VALIDATION_ERROR", { message });
  }
  return { ...body, [owning.name]: owning.many ? [id] : id };
}

/** Creates records with all that they bring along. @returns their ids, in the order of the bodies */
export async function makeTrees(
  maker: TreeMaker,
  table: Table,
  bodies: readonly JsonObject[],
  log: UndoLog,
): Promise<readonly Json[]> {
  const prepared: JsonObject[] = [];
  for (const body of bodies) prepared.push(await withFirst(maker, table, body, log));
  const ids = await maker.make(table, prepared, log);
  for (const [at, body] of bodies.entries()) {
    const after = nestedIn(body, table, maker.catalog).filter((each) => !comesFirst(each));
    for (const nested of after) await makeNested(maker, nested, ids[at] ?? null, log);
  }
  return ids;
}

/** The body with the ids of those that come first. */
async function withFirst(
  maker: TreeMaker,
  table: Table,
  body: JsonObject,
  log: UndoLog,
): Promise<JsonObject> {
  const nested = nestedIn(body, table, maker.catalog);
  const ids = new Map<string, Json>();
  for (const each of nested.filter(comesFirst)) ids.set(each.path, await makeNested(maker, each, null, log));
  return withIds(body, nested, ids);
}

async function makeNested(maker: TreeMaker, nested: Nested, around: Json, log: UndoLog): Promise<Json> {
  const [id = null] = await makeTrees(maker, nested.target, [linked(nested.body, nested, around)], log);
  return id;
}

/**
 * Creates what a change of a record brings along. @returns the change with the ids in their places
 * @param id of the record that is changed
 */
export async function makeForChange(
  maker: TreeMaker,
  table: Table,
  body: JsonObject,
  id: Json,
  log: UndoLog,
): Promise<JsonObject> {
  const nested = nestedIn(body, table, maker.catalog);
  const ids = new Map<string, Json>();
  for (const each of nested) {
    // A one-to-one link can only be set once the former one is let go, which the change itself does.
    const body = each.relation.exclusive ? each.body : linked(each.body, each, id);
    const [made = null] = await makeTrees(maker, each.target, [body], log);
    ids.set(each.path, made);
  }
  return withIds(body, nested, ids);
}
