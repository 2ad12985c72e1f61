// What a caller may do and the tables, both of one moment: asked for again where tables were changed between the two.
import { NamesChanged } from "../permission/rights.js";
import type { Principal } from "../principal.js";
import type { RecordDeps } from "./record-deps.js";
import type { Standing } from "./request.js";

/**
 * Decides something by what a caller may do.
 * @param decide pure, or at least without effects when it throws
 * @throws AppError 503 when tables are changed twice meanwhile
 */
export async function decideAs<Result>(
  deps: Pick<RecordDeps, "rights" | "catalogs">,
  principal: Principal,
  decide: (standing: Standing) => Result,
): Promise<Result> {
  const attempt = async (): Promise<Result> => {
    const rights = await deps.rights(principal);
    return deps.catalogs.decide((catalog) => decide({ rights, catalog }));
  };
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof NamesChanged)) throw error;
    return attempt();
  }
}

/** What a caller may do, and the tables as they are at this moment. @throws AppError 503 as `decideAs` does */
export async function standingNow(
  deps: Pick<RecordDeps, "rights" | "catalogs">,
  principal: Principal,
): Promise<Standing> {
  // First, because rights go by the names that are known when they are asked for.
  await deps.catalogs.refresh();
  return decideAs(deps, principal, (standing) => {
    standing.rights.requireNamesOf(standing.catalog);
    return standing;
  });
}
