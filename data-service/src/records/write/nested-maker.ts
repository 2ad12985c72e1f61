// How records that bodies bring along are checked and made: by the rules for their tables, as every new record.
import { AppError } from "@portico/shared/app-error";
import { isArray, type Json } from "@portico/shared/json";
import type { Catalog, Table } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { getOrMake } from "../../get-or-make.js";
import type { Rights } from "../../permission/rights.js";
import { underNote } from "../acting-for.js";
import { alternativesFor, type BodyContext, isWritable, openWrite, PLAIN } from "../body/bind-body.js";
import { bindCreates, judgeCreates } from "../body/judge-creates.js";
import { withoutLink } from "../body/write-plan.js";
import { findTable } from "../find-table.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import { prepareCreate } from "./run-create.js";
import { bringsRecords, type NestedChecker, type NestedMaker } from "./write-nested.js";

/** A request whose bodies bring records along. */
export interface NestedWrite {
  readonly maker: NestedMaker;
  readonly table: Table;
}

/** @returns undefined where no body brings records along */
export async function nestedWriteOf(
  deps: ActingDeps,
  rights: Rights,
  { table: tableName, body }: { readonly table: string; readonly body: Json },
): Promise<NestedWrite | undefined> {
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, tableName, rights);
    const bodies = isArray(body) ? body : [body];
    if (!bringsRecords(bodies, table, catalog)) return undefined;
    return { table, maker: nestedMaker(underNote(deps), rights, catalog) };
  });
}

/** Checks such bodies, and writes nothing. */
export function nestedChecker(deps: RecordDeps, rights: Rights, catalog: Catalog): NestedChecker {
  const contexts = new Map<Table, BodyContext>();
  const contextOf = (table: Table): BodyContext =>
    getOrMake(contexts, table, () =>
      openWrite(deps, { rights, catalog, table, mode: "create", parameters: PLAIN }),
    );
  return {
    catalog,
    maxDepth: deps.limits.maxDepth,
    mayBring: (table, relation) => isWritable(rights, catalog, table, relation),
    mayNameBackLink(table, relation) {
      const { shape, ways } = contextOf(table);
      if (shape.view.shows(table, relation)) return true;
      // A rule that sets the link lets nobody know of it.
      const maySet = ways.some(({ view }) => view.mayWrite(relation));
      return maySet && isWritable(rights, catalog, table, relation);
    },
    check(table, body, broughtLinks) {
      const context = contextOf(table);
      requireCommonCreate(table);
      // The links that a body chooses are the same by every rule.
      return alternativesFor(context, body, broughtLinks)[0]?.plan.foreign ?? [];
    },
  };
}

function nestedMaker(deps: ActingDeps, rights: Rights, catalog: Catalog): NestedMaker {
  return {
    ...nestedChecker(deps, rights, catalog),
    async make(table, bodies, log, { pathOf, laterOf, broughtLinksOf }) {
      const bound = await bindCreates(deps, rights, {
        table: table.name,
        body: bodies,
        parameters: PLAIN,
        pathOf,
        ...(broughtLinksOf && { broughtLinksOf }),
      });
      const judged = await judgeCreates(deps, bound, { pathOf, broughtLinksOf });
      const plans = judged.map((plan, at) => withoutLink(plan, laterOf?.(at)));
      const create = await prepareCreate(deps, table, plans, pathOf);
      const { ids } = await create(log);
      await deps.hooksOf(table).afterWrite([]);
      return ids.map((id) => COLUMN_TYPES[table.idColumn.type].toJson(id));
    },
  };
}

/** A file needs bytes, and a table a collection: a nested body makes neither. @throws AppError VALIDATION_ERROR */
function requireCommonCreate({ name, ownCreate }: Table): void {
  if (ownCreate === undefined) return;
  const message = [`id: is required: a new record of "${name}" is made by a call of its own`];
  throw new AppError("VALIDATION_ERROR", { message });
}
