// POST /svc_table. If documents with the table's name already exist, it is made in the way a schema file adopts them: first
// without members, then changed, so that the documents are checked, counted and completed like the records of any change.
// Until then the bare table says who makes it, so that it can be removed if its maker has died.
import { AppError, isClientError } from "@portico/shared/app-error";
import type { ErrorCode } from "@portico/shared/error-codes";
import { isObject, type Json } from "@portico/shared/json";
import { changeBody } from "../catalog/schema-file.js";
import { maybeWritten } from "../records/whole/uncertain.js";
import { changeToFile, confirming, createBare, existingOf } from "./apply-file.js";
import { recordCosts, requireAllowed } from "./ask-data.js";
import type { ChangeDeps } from "./change-deps.js";
import { deleteTable } from "./change-table.js";
import { stubOf } from "./compare-tables.js";
import { adoptedBy, createTable, type SchemaDeps } from "./create-table.js";
import type { Noted } from "./dead-instances.js";
import { planChange } from "./plan-change.js";

type Deps = ChangeDeps & SchemaDeps;

/**
 * Makes a table and returns its id once it is usable.
 * @throws AppError 422 with every problem of the definition, 409 for a taken name, or if the documents stand against it; 503
 * `uncertain` where it may be there
 */
export async function makeTable(deps: Deps, body: Json): Promise<string> {
  const definition = await adoptedBy(deps, body);
  if (definition === undefined || !isObject(body)) return createTable(deps, body);
  const { name, idType, storage } = definition;
  const table = { name, id: undefined, json: { ...body, storage: { collection: storage.collection } } };
  const stub = { ...stubOf(table), idType };
  const plan = planChange(
    deps,
    [...(await deps.catalogStore.load()), stub],
    stub.id,
    changeBody(table, stub),
    { ownIds: true },
  );
  // Documents that lack a value are accepted as they are: there were no rules for them.
  const costs = (await recordCosts(deps, plan)).filter(({ confirmed }) => confirmed !== "kept");
  requireAllowed(plan, costs, undefined);
  const refusal = await createBare(deps, table, true);
  if (refusal !== undefined) throw refusal;
  const { id } = await existingOf(deps, [table], table);
  try {
    await changeToFile(deps, [table], table, { confirmed: true, isNew: true });
    await deps.catalogStore.made(id);
    await passMaking(deps, id);
    return id;
  } catch (error) {
    // That is the service's own, whoever has left meanwhile.
    const isGone = await takeBack({ ...deps, requireCaller: async () => {} }, id).catch(
      async (err: unknown) => {
        deps.logger.warn({ err, table: name }, "a table without members was not taken back yet");
        await deps.catalogStore.leave(id).catch((failure: unknown) => {
          throw maybeWritten(failure);
        });
        return false;
      },
    );
    throw isGone || isClientError(error) ? error : maybeWritten(error);
  }
}

/** Nobody was asked about documents that lack a value, and there was nothing before to go back to. */
async function passMaking({ changes }: Deps, id: string): Promise<void> {
  const change = await changes.lastUndoable(id, new Date(0));
  if (change !== undefined) await changes.pass(change.id);
}

/** Removes the bare tables whose makers will not go on. @param isLeft will the maker do no more about it? */
export async function removeHalfMade(deps: Deps, isLeft: (maker: Noted) => Promise<boolean>): Promise<void> {
  for (const { id, maker } of await deps.catalogStore.halfMade()) {
    if (!(await isLeft(maker))) continue;
    await takeBack(deps, id).catch((err: unknown) =>
      // Others may lead to it by now; the next look tries again.
      deps.logger.warn({ err, id }, "a table without members was not taken back yet"),
    );
  }
}

/** A table that was never changed. */
const NEW = [0];

/**
 * Documents that were not asked about may be against it. The bare table disappears without a trace, because it showed nothing;
 * it stays if somebody has changed it or was faster, and if it was made after all.
 * @returns whether it is gone
 */
async function takeBack(deps: Deps, id: string): Promise<boolean> {
  try {
    await confirming(true, (hash) => deleteTable(deps, id, hash, NEW));
  } catch (error) {
    if (hasCode(error, "NOT_FOUND")) return true;
    if (hasCode(error, "PRECONDITION_FAILED")) return false;
    throw error;
  }
  const change = await deps.changes.lastUndoable(id, new Date(0));
  if (change !== undefined) await deps.changes.forget(change.id);
  return true;
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof AppError && error.code === code;
}
