// What differs for `svc_table`: a record of it is a table, so making one makes the table.
import { principalOf } from "../http/authenticate.js";
import { readParameters } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { findTable, parseId } from "../records/find-table.js";
import { readShaped, recordShape } from "../records/read-one.js";
import { body, type OwnHandlers, respondCreated, searchOf } from "../records/routes.js";
import { createTable, type SchemaDeps } from "./create-table.js";
import { oneAtATime } from "./one-at-a-time.js";

/** The handlers of the table of tables. */
export function schemaHandlers(deps: SchemaDeps & RecordDeps): OwnHandlers {
  const name = `${deps.systemTablePrefix}table`;
  // Each change builds on the one before; many at once would only get in each other's way.
  const queue = oneAtATime();
  return {
    collection: {
      [name]: {
        POST: async (request, response) => {
          const principal = principalOf(request);
          const parameters = readParameters(searchOf(request), ["fields"]);
          const rights = await deps.rights(principal);
          const { table, shape } = await deps.catalogs.decide((catalog) => {
            const found = findTable(catalog, name);
            rights.require(catalog, found, "create");
            return { table: found, shape: recordShape(deps, rights, found, catalog, parameters) };
          });
          const id = await queue(() => createTable(deps, body(request)));
          respondCreated(response, name, await readShaped(deps, shape, [parseId(table, id)]), [id]);
        },
      },
    },
    member: { [name]: { PATCH: null, DELETE: null } },
  };
}
