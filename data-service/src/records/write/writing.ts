// What stands around every request that writes records: whose writes they are, that no change of a table comes in between,
// and what the caller is told about a value that is taken.
import type { Rights } from "../../permission/rights.js";
import type { Principal } from "../../principal.js";
import { actingFor } from "../acting-for.js";
import type { RecordDeps } from "../record-deps.js";
import { tellingTaken } from "./tell-taken.js";

/** @param act gets dependencies whose writes are the caller's, and what the caller may do */
export async function writing<Result>(
  given: RecordDeps,
  principal: Principal,
  act: (deps: RecordDeps, rights: Rights) => Promise<Result>,
): Promise<Result> {
  const deps = actingFor(given, principal);
  return deps.gate.run(async () => {
    const rights = await deps.rights(principal);
    return tellingTaken(deps, rights, () => act(deps, rights));
  });
}
