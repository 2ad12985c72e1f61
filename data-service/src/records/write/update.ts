// PATCH of records: check everything, write, answer with the record as it is now.

import { isObject, type Json } from "@portico/shared/json";
import type { Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../../catalog/column-types.js";
import type { Rights } from "../../permission/rights.js";
import type { Document } from "../../query/lower/document.js";
import { judgeForeign } from "../body/authorize-foreign.js";
import { chooseUpdate, notAllowed } from "../body/authorize-write.js";
import { alternativesFor, type OwnLinks, openWrite, PLAIN } from "../body/bind-body.js";
import { requireLinked } from "../body/require-linked.js";
import type { OwnFields, Stamp } from "../body/write-plan.js";
import { heldBy } from "../delete/leaving.js";
import { findTable, parseId } from "../find-table.js";
import { shownFields } from "../read/read-one.js";
import type { RecordDeps } from "../record-deps.js";
import type { RecordRequest, Standing, TableCall } from "../request.js";
import { atVersion, type Expected, type Versioned } from "../version.js";
import type { UndoLog } from "../whole/undo.js";
import { answerOf } from "./answer.js";
import { runUpdate } from "./run-update.js";
import { treeOf } from "./tree-maker.js";
import { all, isVisible, requireChangeable, requireVersion, whileOthersChange } from "./write-guard.js";
import { checkTree, makeForChange } from "./write-tree.js";
import { writing } from "./writing.js";

export interface UpdateRequest extends RecordRequest {
  readonly body: Json;
  /** What the service writes with it. */
  readonly stamp?: Stamp;
  /** A member that the stamp changes for the caller: only rules that let it be written count, with their rows and checks. */
  readonly needs?: string;
  /** It happens only while the record satisfies this; asked anew at each try. */
  readonly guard?: (id: Stored, standing: Standing) => Promise<Document>;
  /** If-Match. */
  readonly expected?: Expected;
  /** Is told what was written, presets included. */
  readonly onWritten?: (table: Table, own: OwnFields) => void;
}

/** Changes the named members of one record. @returns it in the asked shape */
export async function update(given: RecordDeps, request: UpdateRequest): Promise<Versioned> {
  return writing(given, request.principal, (deps, rights) => updateWhole(deps, rights, request));
}

/** Changes a record with all that its body brings along. */
async function updateWhole(deps: RecordDeps, rights: Rights, request: UpdateRequest): Promise<Versioned> {
  const { body, parameters, expected } = request;
  const tree = await treeOf(deps, rights, request);
  if (tree === undefined || !isObject(body)) return updateOne(deps, rights, request);
  const { maker, table } = tree;
  const { catalog } = maker;
  const context = openWrite(deps, { rights, catalog, table, mode: "update", parameters });
  checkTree(maker, table, body, (flat, ownLinks) => void alternativesFor(context, flat, ownLinks));
  const stored = parseId(table, request.id);
  await requireChangeable(deps, context, stored, expected);
  const id = COLUMN_TYPES[table.idColumn.type].toJson(stored);
  const noted = { ...deps, writes: deps.writesUnderNote };
  return deps.unfinished.wholly(async (log) => {
    const { change, ownLinks } = await makeForChange(maker, table, body, id, log);
    return updateOne(noted, rights, { ...request, body: change }, { log, ownLinks });
  });
}

/** @param brought what a request has made that does more than this change, and its log */
async function updateOne(
  deps: RecordDeps,
  rights: Rights,
  request: UpdateRequest,
  brought?: { readonly log: UndoLog; readonly ownLinks: OwnLinks },
): Promise<Versioned> {
  const { body, parameters, stamp, needs, guard, expected, onWritten } = request;
  const { table, id, shape, alternatives, catalog } = await deps.catalogs.decide((now) => {
    const found = findTable(now, request.table, rights);
    const wanted = { rights, catalog: now, table: found, mode: "update" as const, parameters };
    const context = openWrite(deps, { ...wanted, stamp, needs });
    const ways = alternativesFor(context, body, brought?.ownLinks);
    return { ...context, id: parseId(found, request.id), alternatives: ways };
  });
  await deps.ruleHooks.beforeUpdate(table, catalog, id, body);
  const fields = shownFields(shape);
  const written = await whileOthersChange(deps, table, id, async () => {
    const judged = await chooseUpdate(deps, table, id, alternatives, rights.now);
    if (judged === undefined) throw notAllowed(table, "update", await isVisible(deps, shape, id));
    const [plan = judged.plan] = await judgeForeign(deps, rights, catalog, table, [judged.plan], id);
    await requireVersion(deps, shape, id, expected);
    // Before a folder's way up is looked at, which would tell that an unseen one lies in it.
    await requireLinked(deps, [{ mustExist: judged.unasked }]);
    const unmoved = [judged.guard, atVersion(expected), (await guard?.(id, { rights, catalog })) ?? {}];
    const done = await deps.fileHooks.updating(table, id, plan, (besides) => {
      const held = { condition: all([...unmoved, besides]), held: heldBy(catalog, table) };
      return runUpdate(deps, { table, id, plan, guard: held, fields }, brought?.log);
    });
    if (done !== false) onWritten?.(table, plan.own);
    return done;
  });
  deps.ruleHooks.afterChange(table);
  const { document } = written;
  const [record] = await answerOf(deps, shape, [id], { written: document && (() => [document]) });
  if (record === undefined) throw new Error("an answer without its record");
  return record;
}

/**
 * Refuses a body that no record could be changed to, with all that it brings along.
 * @param first judges what else the request says, before its body
 * @throws AppError 400, 401, 403
 */
export async function checkUpdate(
  deps: RecordDeps,
  { principal, table: tableName }: TableCall,
  body: Json,
  first: () => void,
): Promise<void> {
  const rights = await deps.rights(principal);
  const tree = await treeOf(deps, rights, { table: tableName, body });
  await deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, tableName, rights);
    const context = openWrite(deps, { rights, catalog, table, mode: "update", parameters: PLAIN });
    first();
    if (tree === undefined || !isObject(body)) alternativesFor(context, body);
    else checkTree(tree.maker, table, body, (flat, own) => void alternativesFor(context, flat, own));
  });
}
