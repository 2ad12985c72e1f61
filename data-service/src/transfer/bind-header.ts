// The first line of a CSV file -> columns of the table, or what is wrong with it.
import type { Catalog, Table } from "../catalog/catalog.js";
import type { Principal } from "../principal.js";
import { COUNTS } from "../query/shape.js";
import { importProblems } from "../records/body/bind-body.js";
import { standingNow } from "../records/decide-as.js";
import { findTable } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import { type ImportColumn, importColumn } from "./csv-columns.js";
import type { Header } from "./read-csv.js";
import { MOST_MESSAGES } from "./rows.js";

/** What a header can name. */
interface Writable {
  readonly table: Table;
  readonly catalog: Catalog;
  /** What is wrong with a member's name, and how it is spelled; undefined when the caller may write it. */
  readonly problemOf: (name: string, given?: string) => string | undefined;
}

/** Looks up header cells among what the caller may write. */
export async function bindHeader(
  deps: RecordDeps,
  { principal, table: tableName }: { readonly principal: Principal; readonly table: string },
  headers: readonly string[],
): Promise<Header> {
  // A table that another instance has just changed may have columns that this one does not know yet.
  const { rights, catalog } = await standingNow(deps, principal);
  const table = findTable(catalog, tableName);
  return readHeader(headers, { table, catalog, problemOf: importProblems(rights, catalog, table) });
}

/**
 * Stops at MOST_MESSAGES problems. A table has few members and none may come twice, so that happens soon, however many cells
 * a header has.
 */
function readHeader(headers: readonly string[], writable: Writable): Header {
  const columns = new Map<string, ImportColumn>();
  const problems: string[] = [];
  for (const [at, header] of headers.entries()) {
    const column = importColumn(header, writable.table, writable.catalog);
    // A cell that names no column of ours stands for itself.
    const member = column?.name ?? header;
    const problem = cellProblem(header, member, writable);
    if (header === "") problems.push(`column ${at + 1} has no name`);
    else if (column === undefined || problem !== undefined)
      problems.push(`${header}: ${problem ?? "unknown field"}`);
    else if (columns.has(member)) problems.push(`${member}: is named twice`);
    else columns.set(member, column);
    if (problems.length === MOST_MESSAGES) break;
  }
  if (problems.length === 0) return { columns: [...columns.values()] };
  const separator = separatorIn(headers);
  return { problems: separator === undefined ? problems : [separator] };
}

/**
 * In some countries programs separate by semicolons, and then the whole header is one cell. No name has such characters.
 */
function separatorIn([header = "", ...others]: readonly string[]): string | undefined {
  if (others.length > 0 || !/[;\t]/.test(header)) return undefined;
  const given = header.includes(";") ? "semicolons" : "tabs";
  return `cells are separated by commas, not by ${given}`;
}

/** Of what the caller does not know, worded as for a header that means nothing, whatever it would mean with other rights. */
function cellProblem(header: string, member: string, writable: Writable): string | undefined {
  if (header.startsWith(`${COUNTS}(`)) return "is counted from other records; leave this column out";
  const inside = insideProblem(header, writable);
  if (inside !== undefined) return inside;
  return writable.problemOf(member, header);
}

/**
 * `author.name`, where `author` is a relation that the caller knows: exports have such columns, and imports can't use them.
 */
function insideProblem(header: string, { table, problemOf }: Writable): string | undefined {
  const [name = "", inner] = header.split(".");
  if (inner === undefined || !table.relations.has(name) || problemOf(name) !== undefined) return undefined;
  if (inner === "id" && header.split(".").length === 2 && table.relations.get(name)?.many === false)
    return undefined;
  return `of a linked record only the id can be imported, as "${name}"; leave this column out`;
}
