// What writing a file's record or a folder means beyond its columns: names are made safe, folders never end up inside
// themselves, and a file's bytes are removed after its record.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import { requireField, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { CONTENT_KEY, TURN_FIELD } from "../catalog/own-fields.js";
import { idText } from "../catalog/record-ids.js";
import type { ContentLedger } from "../mongo/content-ledger.js";
import type { Lock } from "../mongo/lock.js";
import type { RecordStore } from "../mongo/record-store.js";
import { asStored } from "../query/as-read.js";
import type { Document } from "../query/lower/document.js";
import type { WritePlan } from "../records/body/write-plan.js";
import type { Contents } from "./contents.js";
import { safeFileName } from "./file-name.js";
import { slugOf } from "./slug.js";

export interface FileHooksDeps {
  readonly files: string;
  readonly folders: string;
  readonly contents: Contents;
  readonly ledger: Pick<ContentLedger, "keysOf">;
  readonly store: Pick<RecordStore, "updateAndGet">;
  readonly treeLock: Lock;
}

export interface FileHooks {
  /** Changes the body before it is checked. */
  prepare(table: Table, body: Json, mode: "create" | "update"): Json;
  /**
   * Runs the update of one record.
   * @param update is given a condition, and changes the record only while that holds
   * @throws AppError 409 when a folder would be inside itself
   */
  updating<Result>(
    table: Table,
    id: Stored,
    plan: WritePlan,
    update: (condition: Document) => Promise<Result>,
  ): Promise<Result>;
  /** Runs the removal of the records that satisfy the condition it is given. @returns how many were removed */
  removing(
    table: Table,
    ids: readonly Stored[],
    remove: (condition: Document) => Promise<number>,
  ): Promise<number>;
}

export function makeFileHooks(deps: FileHooksDeps): FileHooks {
  const { files, folders, contents, ledger, treeLock } = deps;
  return {
    prepare(table, body, mode) {
      if (!isObject(body)) return body;
      if (table.name === files) return withSafeName(body);
      return table.name === folders && mode === "create" ? withSlug(body) : body;
    },
    async updating(table, id, plan, update) {
      const parent = table.name === folders ? newParent(table, plan) : undefined;
      if (parent === undefined) return update({});
      return treeLock(async (turn) => {
        await takeTurn(deps, table, id, turn);
        if (await isInside(deps, table, parent, id, turn))
          throw new AppError("CONFLICT", "parent: a folder can't lie inside itself");
        return update({ [TURN_FIELD]: turn });
      });
    },
    async removing(table, ids, remove) {
      if (table.name !== files) return remove({});
      let removed = 0;
      for (;;) {
        const keys = await ledger.keysOf(ids);
        // Only with the content that was seen here: otherwise content that replaced it meanwhile would be forgotten.
        const went = await contents.letGo(keys, () => remove({ [CONTENT_KEY]: { $in: keys } }));
        removed += went;
        if (went === 0) return removed;
      }
    },
  };
}

function withSafeName(body: JsonObject): JsonObject {
  return typeof body.filename === "string" ? { ...body, filename: safeFileName(body.filename) } : body;
}

function withSlug(body: JsonObject): JsonObject {
  const given = body.slug !== undefined && body.slug !== null;
  return given || typeof body.name !== "string" ? body : { ...body, slug: slugOf(body.name) };
}

function newParent(table: Table, { own }: WritePlan): Stored | undefined {
  return own.set.get(requireField(table, "parent"));
}

/** Puts a turn into a folder, so that no earlier turn can move it any more. @returns the folder's parent */
async function takeTurn(
  { store }: Pick<FileHooksDeps, "store">,
  table: Table,
  id: Stored,
  turn: string,
): Promise<unknown> {
  const field = requireField(table, "parent");
  const found = await store.updateAndGet(
    table,
    { _id: id },
    { $set: { [TURN_FIELD]: turn } },
    { [field]: 1 },
  );
  return found?.[field];
}

/**
 * Is `start` the folder, or below it? An existing circle ends the walk. Every folder on the way gets the turn: two moves can
 * make a circle only if each finds the other's folder on its way.
 */
async function isInside(
  deps: Pick<FileHooksDeps, "store">,
  table: Table,
  start: Stored,
  folder: Stored,
  turn: string,
): Promise<boolean> {
  const seen = new Set<string>();
  let at: unknown = start;
  while (at !== undefined && at !== null && !seen.has(idText(table, at))) {
    if (idText(table, at) === idText(table, folder)) return true;
    seen.add(idText(table, at));
    at = await takeTurn(deps, table, asStored(at), turn);
  }
  return false;
}
