// What differs for `svc_table`: a record of it is a table, so making one makes the table.
import { principalOf } from "../http/authenticate.js";
import { requireAccess } from "../permission/access.js";
import { readParameters } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { findTable } from "../records/find-table.js";
import { readOne } from "../records/read-one.js";
import { body, type OwnHandlers, respondCreated, searchOf } from "../records/routes.js";
import { createTable, type SchemaDeps } from "./create-table.js";

/** The handlers of the table of tables. */
export function schemaHandlers(deps: SchemaDeps & RecordDeps): OwnHandlers {
  const name = `${deps.systemTablePrefix}table`;
  return {
    collection: {
      [name]: {
        POST: async (request, response) => {
          const principal = principalOf(request);
          await deps.catalogs.decide((catalog) =>
            requireAccess(principal, findTable(catalog, name), "create"),
          );
          const parameters = readParameters(searchOf(request), ["fields"]);
          const id = await createTable(deps, body(request));
          respondCreated(response, name, [await readOne(deps, principal, name, id, parameters)], [id]);
        },
      },
    },
    member: { [name]: { PATCH: null, DELETE: null } },
  };
}
