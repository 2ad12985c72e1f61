// The file at an address, for a caller who may have it.
import type { AppError } from "@portico/shared/app-error";
import { signInNeeded } from "@portico/shared/bearer-token";
import { isObject } from "@portico/shared/json";
import type { Table } from "../catalog/catalog.js";
import { CONTENT_AT, CONTENT_KEY } from "../catalog/own-fields.js";
import type { Stored } from "../catalog/stored.js";
import type { Principal } from "../principal.js";
import type { StoredRecord } from "../query/lower/document.js";
import { decideAs } from "../records/decide-as.js";
import { findTable, parseId, recordNotFound } from "../records/find-table.js";
import { readShaped, recordShape } from "../records/read/read-one.js";
import type { FileDeps } from "./deps.js";
import { nameWithoutName } from "./file-name.js";

export interface Asset {
  readonly id: string;
  /** One made of the id where the caller may have the bytes and not see the name. */
  readonly filename: string;
  readonly mimetype: string;
  readonly filesize: number;
  readonly isPublic: boolean;
  readonly key: string;
  readonly at: Date;
}

/**
 * Public files are for everybody; others are for root admins, their uploader, and whoever may read the record.
 * @throws AppError 404; for anonymous callers 401, whether there is such a file or not, but for what can't be an id
 */
export async function findAsset(deps: FileDeps, principal: Principal, idText: string): Promise<Asset> {
  const table = findTable(await deps.catalogs.get(), deps.fileTables.files);
  const id = parseId(table, idText);
  const [record] = await deps.store.byIds(table, [id], {});
  if (record === undefined) throw notThere(table, principal);
  const asset = toAsset(record, idText);
  if (isForAnyRights(principal, record)) return asset;
  const shown = await shownOf(deps, principal, id);
  const [now] = await deps.store.byIds(table, [id], { [CONTENT_KEY]: 1 });
  // The rules were asked about the record as it is now: its former content is not for them to give.
  if (now !== undefined && now[CONTENT_KEY] !== record[CONTENT_KEY])
    return findAsset(deps, principal, idText);
  if (now === undefined || shown === "nothing") throw notThere(table, principal);
  return shown === "name" ? asset : { ...asset, filename: nameWithoutName(idText, asset.mimetype) };
}

/** Whoever has the address of a public file gets it as it is, signed in or not; and it is the uploader's own. */
function isForAnyRights(principal: Principal, record: StoredRecord): boolean {
  if (record.isPublic === true) return true;
  if (principal.kind !== "user") return false;
  return principal.isRootAdmin || String(record.uploadedById) === principal.userId;
}

/** What the rules show of the record: some of it, which may be had with the bytes, with its name or without; or nothing. */
async function shownOf(
  deps: FileDeps,
  principal: Principal,
  id: Stored,
): Promise<"name" | "no name" | "nothing"> {
  const shape = await decideAs(deps, principal, ({ rights, catalog }) => {
    const table = findTable(catalog, deps.fileTables.files);
    const view = rights.view(catalog);
    if (!view.mayRead(table)) return undefined;
    const fields = (view.column(table, "filename", "show") ?? table.idColumn).name;
    return recordShape(deps, view, table, { fields, filterFromText: false });
  });
  if (shape === undefined) return "nothing";
  const [shown] = await readShaped(deps, shape, [id]);
  if (!isObject(shown)) return "nothing";
  return shown.filename === undefined ? "no name" : "name";
}

function notThere(table: Table, principal: Principal): AppError {
  if (principal.kind !== "anonymous") return recordNotFound(table);
  return signInNeeded("There is no public file here; sign in to see whether there is one for you.");
}

function toAsset(record: StoredRecord, id: string): Asset {
  const { filename, mimetype, filesize, isPublic } = record;
  const at = record[CONTENT_AT];
  return {
    id,
    filename: String(filename),
    mimetype: String(mimetype),
    filesize: Number(filesize),
    isPublic: isPublic === true,
    key: String(record[CONTENT_KEY]),
    at: at instanceof Date ? at : new Date(0),
  };
}
