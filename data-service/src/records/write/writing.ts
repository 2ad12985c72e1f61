// What stands around every request that writes records: whose writes they are, that no change of a table comes in between,
// and what the caller is told about a value that is taken.
import type { Rights } from "../../permission/rights.js";
import { actingFor } from "../acting-for.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import type { TableCall } from "../request.js";
import { tellingTaken } from "./tell-taken.js";

/** @param act gets dependencies whose writes are the caller's, and what the caller may do */
export async function writing<Result>(
  given: RecordDeps,
  { principal: first, caller }: Pick<TableCall, "principal" | "caller">,
  act: (deps: ActingDeps, rights: Rights) => Promise<Result>,
): Promise<Result> {
  return given.gate.run(async () => {
    // It may have waited for the gate, and does so again each time that it begins anew.
    const principal = (await caller?.now()) ?? first;
    const deps = actingFor(given, principal, caller);
    const rights = await deps.rights(principal);
    return tellingTaken(deps, rights, () => act(deps, rights));
  });
}
