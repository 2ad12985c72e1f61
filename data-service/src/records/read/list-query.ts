// What a list is to read: parse → bind → authorize.
import type { Table } from "../../catalog/catalog.js";
import type { Rights } from "../../permission/rights.js";
import { type Principal, requireRoot } from "../../principal.js";
import type { AuthorizedQuery } from "../../query/ast.js";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import type { Parameters } from "../../query/parameters.js";
import { type ExportFormat, parametersOfExport, parseFormat } from "../../query/syntax/format.js";
import { parseExplain } from "../../query/syntax/paging.js";
import { decideAs } from "../decide-as.js";
import { findTable } from "../find-table.js";
import { type RecordDeps, withoutMaxLimit } from "../record-deps.js";
import type { Standing } from "../request.js";
import { askedRows } from "./asked-rows.js";
import { Remembered } from "./remembered.js";
import { withoutOthers } from "./without-others.js";

/** What a client asks a list for. */
interface Asked {
  readonly parameters: Parameters;
  /** When a file is asked for. */
  readonly format: ExportFormat | undefined;
  /** Only asks how the list would be read. */
  readonly explained: boolean;
}

/** @throws AppError 400 */
export function parseList(given: Parameters): Asked {
  const format = parseFormat(given.format);
  const parameters = format === undefined ? given : parametersOfExport(format, given);
  return { parameters, format, explained: parseExplain(parameters.explain) };
}

const known = new Remembered<AuthorizedQuery>();

/** What a list reads, and the rights of its caller by which it does. @throws AppError 400, 401, 403, 404 */
export async function loadListQuery(
  deps: Pick<RecordDeps, "rights" | "catalogs" | "limits">,
  principal: Principal,
  tableName: string,
  parameters: Parameters,
): Promise<{ readonly query: AuthorizedQuery; readonly rights: Rights }> {
  return decideAs(deps, principal, ({ rights, catalog }) => {
    const table = readableTable({ rights, catalog }, tableName);
    // A plan reveals tables and rules that others may not know.
    if (parseExplain(parameters.explain)) requireRoot(principal, "explain is for root admins.");
    return { query: bindListIn(deps, { rights, catalog }, table, parameters), rights };
  });
}

/** @throws AppError 401, 403, 404 */
export function readableTable({ rights, catalog }: Standing, name: string): Table {
  const table = findTable(catalog, name, rights);
  rights.require(catalog, table, "read");
  return table;
}

/** @returns what a list of a table reads that the caller may read @throws AppError 400 */
export function bindListIn(
  deps: Pick<RecordDeps, "limits">,
  { rights, catalog }: Standing,
  table: Table,
  given: Parameters,
): AuthorizedQuery {
  const view = rights.view(catalog);
  const parameters = withoutOthers(given, table, view);
  // A file for root holds all that an import by root can take, however much: links to deleted records, too.
  const isCopy = rights.isRoot && parseFormat(parameters.format) !== undefined;
  const { limits } = isCopy ? withoutMaxLimit(deps) : deps;
  const linked = isCopy && parameters.deleted !== undefined ? "all" : "living";
  // That goes for those of a table that keeps no deleted records itself.
  const isAll = isCopy && parameters.deleted === "with" && table.deletedAt === undefined;
  const rows = askedRows(isAll ? undefined : parameters.deleted, rights, catalog, table);
  const bind = () => authorizeRead(bindQuery(parameters, table, view, limits), view, rows(view), linked);
  // Deleted records are only for those who may delete, which the view does not say.
  if (parameters.deleted !== undefined) return bind();
  return known.of(view, [table.name, parameters, limits], bind);
}
