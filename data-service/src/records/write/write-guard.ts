// What stands around the write of one record: whether the caller may make it, which version the record must have, and trying
// again until others leave it alone.
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import { matchStages } from "../../query/lower/condition.js";
import { Names } from "../../query/lower/document.js";
import { refuseContended, untilStill } from "../../until-still.js";
import { type BodyContext, PLAIN } from "../body/bind-body.js";
import { anyRow, judgeRows, lettingWrite, notAllowed } from "../body/choose-rule.js";
import { decided } from "../delete/await-leaving.js";
import { findTable, parseId, recordNotFound } from "../find-table.js";
import { type RecordShape, recordShape } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { RecordCall } from "../request.js";
import { atVersion, type Expected, mayKnowVersion, notAtVersion, versionsUnknown } from "../version.js";

/** How often to try with a record that others keep changing. */
const ATTEMPTS = 50;

/**
 * Refuses early, and with the right words, what the condition of the write itself would not let pass either.
 * @throws AppError 412, 404
 */
export async function requireVersion(
  deps: RecordDeps,
  { node: { table }, view }: RecordShape,
  id: Stored,
  expected: Expected,
): Promise<void> {
  if (expected === undefined) return;
  if (!mayKnowVersion(view, table)) throw versionsUnknown(table);
  const which = { $and: [{ _id: id }, atVersion(expected)] };
  const found = await deps.store.read(table, [{ $match: which }, { $project: { _id: 1 } }]);
  if (found.length > 0) return;
  throw (await deps.store.existing(table, [id])).size === 0
    ? recordNotFound(table)
    : notAtVersion(table, expected);
}

/**
 * Judges and acts, again and again until others left the record alone in between.
 * @param act returns false when they did not, or a delete wants the record
 * @throws AppError 503 when it takes long until the delete is decided, or others never leave the record alone
 */
export async function untilUncontended<Result>(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  act: () => Promise<Result | false>,
): Promise<Result> {
  const judgeAndAct = async (): Promise<Result | false> => {
    const result = await act();
    if (result === false) await decided(deps, table, id);
    return result;
  };
  return untilStill(judgeAndAct, { attempts: ATTEMPTS, gaveUp: refuseContended(table.name) });
}

/** May the caller see the record? Whatever else the shape asks for can't be refused here in place of the write. */
export async function isVisible(
  { store }: Pick<RecordDeps, "store">,
  { node: { table }, view }: RecordShape,
  id: Stored,
): Promise<boolean> {
  const among = matchStages([view.rows(table)], new Names());
  return (await store.read(table, [{ $match: { _id: id } }, ...among, { $project: { _id: 1 } }])).length > 0;
}

/**
 * Refuses a change that could not be made, before other records are made for it.
 * @throws AppError 403, 404, 412
 */
export async function requireChangeable(
  deps: RecordDeps,
  { table, shape, grants }: BodyContext,
  id: Stored,
  expected: Expected,
): Promise<void> {
  if ((await judgeRows(deps, table, id, anyRow(grants))) === undefined)
    throw notAllowed(table, "update", await isVisible(deps, shape, id));
  if ((await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
  await requireVersion(deps, shape, id, expected);
}

/**
 * Lets a request pass if some rule may let it change or delete this record: before its body is read.
 * @param member only rules that let this member be written count
 * @throws AppError 401, 403, 404
 */
export async function requireRecord(
  deps: RecordDeps,
  { principal, table: tableName, id: givenId }: RecordCall,
  action: "update" | "delete",
  member: string,
): Promise<Stored> {
  const rights = await deps.rights(principal);
  const catalog = await deps.catalogs.get();
  const table = findTable(catalog, tableName, rights);
  rights.require(catalog, table, action);
  const id = parseId(table, givenId);
  const fitting = lettingWrite(rights.write(catalog, table, action), table, member);
  if ((await judgeRows(deps, table, id, anyRow(fitting))) === undefined) {
    const shape = recordShape(deps, rights.view(catalog), table, PLAIN);
    throw notAllowed(table, action, await isVisible(deps, shape, id));
  }
  return id;
}
