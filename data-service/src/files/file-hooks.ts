// What writing a file's record or a folder means beyond its columns: names are made safe, folders never end up inside
// themselves, and a file's bytes are removed after its record.
import { AppError } from "@portico/shared/app-error";
import { isObject, type JsonObject } from "@portico/shared/json";
import { requireField, type Table } from "../catalog/catalog.js";
import { CONTENT_KEY, TURN_FIELD } from "../catalog/own-fields.js";
import { idText } from "../catalog/record-ids.js";
import type { Stored } from "../catalog/stored.js";
import type { ContentLedger } from "../mongo/content-ledger.js";
import type { Lock } from "../mongo/lock.js";
import type { RecordStore } from "../mongo/record-store.js";
import { asStored } from "../query/as-read.js";
import { NO_HOOKS, type TableHooks } from "../records/table-hooks.js";
import type { Contents } from "./contents.js";
import { safeFileName } from "./file-name.js";
import { slugOf } from "./slug.js";

export interface FileHooksDeps {
  readonly contents: Contents;
  readonly ledger: Pick<ContentLedger, "keysOf">;
}

/** Of the table of files. */
export function makeFileHooks({ contents, ledger }: FileHooksDeps): TableHooks {
  return {
    ...NO_HOOKS,
    prepare: (body) => (isObject(body) ? withSafeName(body) : body),
    async removing(ids, remove) {
      let removed = 0;
      for (;;) {
        const keys = await ledger.keysOf(ids);
        // Only with the content that was seen here: otherwise content that replaced it meanwhile would be forgotten.
        const went = await contents.letGo(keys, () => remove({ [CONTENT_KEY]: { $in: keys } }));
        removed += went;
        // Once all have gone, a look that fails would hide that they have.
        if (went === 0 || removed === ids.length) return removed;
      }
    },
  };
}

export interface FolderHooksDeps {
  readonly store: Pick<RecordStore, "updateAndGet">;
  readonly treeLock: Lock;
}

/** Of the table of folders. */
export function makeFolderHooks(deps: FolderHooksDeps): TableHooks {
  return {
    ...NO_HOOKS,
    prepare: (body, mode) => (isObject(body) && mode === "create" ? withSlug(body) : body),
    /** Keeps folders out of themselves. */
    async changing(table, id, change, act) {
      const parent = change?.set.get(requireField(table, "parent"));
      if (parent === undefined || parent === null) return act({});
      return deps.treeLock(async (turn) => {
        await takeTurn(deps, table, id, turn);
        if (await isInside(deps, table, asStored(parent), id, turn))
          throw new AppError("CONFLICT", "parent: a folder can't lie inside itself");
        return act({ [TURN_FIELD]: turn });
      });
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

/** Puts a turn into a folder, so that no earlier turn can move it any more. @returns the folder's parent */
async function takeTurn(
  { store }: Pick<FolderHooksDeps, "store">,
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
  deps: Pick<FolderHooksDeps, "store">,
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
