// The file at an address, for a caller who may have it.
import type { AppError } from "@portico/shared/app-error";
import { signInNeeded } from "@portico/shared/bearer-token";
import type { Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { CONTENT_AT, CONTENT_KEY } from "../catalog/own-fields.js";
import type { Principal } from "../principal.js";
import { matchStages } from "../query/lower/condition.js";
import { Names } from "../query/lower/document.js";
import type { StoredRecord } from "../query/shape.js";
import { findTable, parseId, recordNotFound } from "../records/find-table.js";
import type { FileDeps } from "./deps.js";

export interface Asset {
  readonly id: string;
  readonly filename: string;
  readonly mimetype: string;
  readonly filesize: number;
  readonly isPublic: boolean;
  readonly key: string;
  readonly at: Date;
}

/**
 * Public files are for everybody; others are for root admins, their uploader, and whoever may read the record.
 * @throws AppError 404; for anonymous callers 401, whether there is such a file or not
 */
export async function findAsset(deps: FileDeps, principal: Principal, idText: string): Promise<Asset> {
  const table = findTable(await deps.catalogs.get(), deps.fileTables.files);
  const id = parseId(table, idText);
  const [record] = await deps.store.byIds(table, [id], {});
  if (record === undefined || !(await mayHave(deps, principal, table, id, record)))
    throw notThere(table, principal);
  return toAsset(record, idText);
}

async function mayHave(
  deps: FileDeps,
  principal: Principal,
  table: Table,
  id: Stored,
  record: StoredRecord,
): Promise<boolean> {
  if (record.isPublic === true) return true;
  if (principal.kind === "user" && principal.isRootAdmin) return true;
  if (principal.kind === "user" && String(record.uploadedById) === principal.userId) return true;
  const rights = await deps.rights(principal);
  const catalog = await deps.catalogs.get();
  const rows = rights.view(catalog).rows(table);
  if (rows.kind === "never") return false;
  return (await deps.store.existing(table, [id], matchStages([rows], new Names()))).size > 0;
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
