// The first line of a CSV file -> columns of the table, or everything that is wrong with it.
import type { Catalog, Table } from "../catalog/catalog.js";
import type { Principal } from "../principal.js";
import { unknownMembers } from "../records/bind-body.js";
import type { RecordDeps } from "../records/deps.js";
import { findTable } from "../records/find-table.js";
import { importColumn } from "./csv-columns.js";
import type { Header } from "./read-csv.js";

/** Looks header cells up among what the caller may write. */
export async function bindHeader(
  deps: RecordDeps,
  { principal, table: tableName }: { readonly principal: Principal; readonly table: string },
  headers: readonly string[],
): Promise<Header> {
  const rights = await deps.rights(principal);
  // A table that another instance has just changed may have what this one does not know yet.
  const catalog = await deps.catalogs.refresh();
  const table = findTable(catalog, tableName);
  const grants = rights.write(catalog, table, "create");
  const problemOf = (name: string): string | undefined => unknownMembers([name], table, grants).get(name);
  const problems = headers.flatMap((header, at) => {
    if (header === "") return [`column ${at + 1} has no name`];
    const member = memberOf(header, table, catalog);
    const earlier = headers.slice(0, at).map((each) => memberOf(each, table, catalog));
    const problem = insideProblem(header, table, problemOf) ?? problemOf(member);
    if (problem !== undefined) return [`${member}: ${problem}`];
    return earlier.includes(member) ? [`${member}: is named twice`] : [];
  });
  const columns = headers.map((header) => importColumn(header, table, catalog));
  const found = columns.filter((column) => column !== undefined);
  return problems.length > 0 || found.length < headers.length ? { problems } : { columns: found };
}

/** What the header sets: `author.id` the relation `author`; what is no column of ours stands for itself. */
function memberOf(header: string, table: Table, catalog: Catalog): string {
  return importColumn(header, table, catalog)?.name ?? header;
}

/** `author.name`, where `author` is a relation the caller knows: an export has it, and nothing can take it. */
function insideProblem(
  header: string,
  table: Table,
  problemOf: (name: string) => string | undefined,
): string | undefined {
  const [name = "", inner] = header.split(".");
  if (inner === undefined || !table.relations.has(name) || problemOf(name) !== undefined) return undefined;
  if (inner === "id" && header.split(".").length === 2 && table.relations.get(name)?.many === false)
    return undefined;
  return `of a linked record only the id can be imported, as "${name}"; leave this column out`;
}
