// PATCH of records: check everything, write, answer with the record as it is now.
import type { Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";
import { isObject, type Json } from "../json.js";
import type { Rights } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import type { Document } from "../query/lower/document.js";
import type { Parameters } from "../query/parameters.js";
import { actingFor } from "./acting-for.js";
import { answerOf } from "./answer.js";
import { authorizeForeign } from "./authorize-foreign.js";
import { chooseUpdate, lettingWrite, notAllowed } from "./authorize-write.js";
import { alternativesFor, openWrite, PLAIN } from "./bind-body.js";
import { treeOf } from "./create.js";
import type { RecordDeps } from "./deps.js";
import { findTable, parseId } from "./find-table.js";
import { heldBy } from "./leaving.js";
import { shownFields } from "./read-one.js";
import { runUpdate } from "./run-write.js";
import { tellingTaken } from "./tell-taken.js";
import type { UndoLog } from "./undo.js";
import { atVersion, type Expected, type Versioned } from "./version.js";
import { all, isVisible, requireChangeable, requireVersion, whileOthersChange } from "./write-guard.js";
import type { OwnFields, Stamp } from "./write-plan.js";
import { checkTree, makeForChange } from "./write-tree.js";

/** What comes with an update besides its body. */
export interface UpdateBesides {
  /** What the service writes with it. */
  readonly stamp?: Stamp;
  /** A member that the stamp changes for the caller: only rules that let it be written count, with their rows and checks. */
  readonly needs?: string;
  /** It happens only while the record satisfies this; asked anew at each try. */
  readonly guard?: (id: Stored) => Promise<Document>;
  /** If-Match. */
  readonly expected?: Expected;
  /** Is told what was written, presets included. */
  readonly onWritten?: (table: Table, own: OwnFields) => void;
}

/** Changes the named members of one record. @returns it in the asked shape */
export async function update(
  given: RecordDeps,
  principal: Principal,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
  besides: UpdateBesides = {},
): Promise<Versioned> {
  const deps = actingFor(given, principal);
  return deps.gate.run(async () => {
    const rights = await deps.rights(principal);
    return tellingTaken(deps, rights, () =>
      updateAllowed(deps, rights, tableName, idText, body, parameters, besides),
    );
  });
}

async function updateAllowed(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
  besides: UpdateBesides,
): Promise<Versioned> {
  const tree = await treeOf(deps, rights, tableName, body);
  const whole = async (change: Json, writing = deps, log?: UndoLog): Promise<Versioned> =>
    updateSettled(writing, rights, tableName, idText, change, parameters, besides, log);
  if (tree === undefined || !isObject(body)) return whole(body);
  const { maker, table } = tree;
  const context = openWrite(deps, rights, maker.catalog, table, "update", parameters);
  checkTree(maker, table, body, (flat) => void alternativesFor(context, flat));
  const stored = parseId(table, idText);
  await requireChangeable(deps, context, stored, besides.expected);
  const id = COLUMN_TYPES[table.idColumn.type].toJson(stored);
  const writing = { ...deps, writes: deps.writesUnderNote };
  return deps.unfinished.wholly(async (log) =>
    whole(await makeForChange(maker, table, body, id, log), writing, log),
  );
}

async function updateSettled(
  deps: RecordDeps,
  rights: Rights,
  tableName: string,
  idText: string,
  body: Json,
  parameters: Parameters,
  { stamp, needs, guard, expected, onWritten }: UpdateBesides,
  log: UndoLog | undefined,
): Promise<Versioned> {
  const { table, id, shape, alternatives, catalog } = await deps.catalogs.decide((now) => {
    const opened = openWrite(deps, rights, now, findTable(now, tableName), "update", parameters);
    const grants = needs === undefined ? opened.grants : lettingWrite(opened.grants, opened.table, needs);
    const context = { ...opened, grants, stamp };
    const id = parseId(context.table, idText);
    return { ...context, id, alternatives: alternativesFor(context, body) };
  });
  await deps.ruleHooks.beforeUpdate(table, catalog, id, body);
  const fields = shownFields(shape);
  const written = await whileOthersChange(deps, table, id, async () => {
    const judged = await chooseUpdate(deps, table, id, alternatives);
    if (judged === undefined) throw notAllowed(table, "update", await isVisible(deps, shape, id));
    await authorizeForeign(deps, rights, catalog, [judged.plan], id);
    await requireVersion(deps, shape, id, expected);
    const unmoved = [judged.guard, atVersion(expected), (await guard?.(id)) ?? {}];
    const held = { condition: all(unmoved), held: heldBy(catalog, table) };
    const done = await deps.fileHooks.updating(table, id, judged.plan, () =>
      runUpdate(deps, table, id, judged.plan, held, { log, fields }),
    );
    if (done !== false) onWritten?.(table, judged.plan.own);
    return done;
  });
  deps.ruleHooks.afterChange(table);
  const { document } = written;
  const [record] = await answerOf(deps, shape, [id], document && (() => [document]));
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
