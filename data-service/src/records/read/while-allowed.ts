// An answer that takes long is given only while its caller may read what it began with: sessions end, rules and roles change.
import { unavailable } from "@portico/shared/app-error";
import type { Catalog } from "../../catalog/catalog.js";
import type { LastingCaller } from "../../lasting-caller.js";
import type { Rights } from "../../permission/rights.js";
import type { Action } from "../../permission/rule.js";
import type { Principal } from "../../principal.js";
import type { CurrentCatalog } from "../../schema/current-catalog.js";
import { isStillOpen, type Shown, tablesOf } from "./still-open.js";

/** What an answer began with: the rights of its caller, and what it shows of which tables. */
interface Begun {
  readonly rights: Rights;
  /** Those whose rules decide what it shows. */
  readonly actions: readonly Action[];
  readonly shown: Shown;
}

interface Present {
  readonly rights: (principal: Principal) => Promise<Rights>;
  readonly catalogs: Pick<CurrentCatalog, "get" | "refresh">;
}

/**
 * Checked now and then, and when all is read: an answer must not look complete if something changed just before its end. The
 * session is looked at now and then alone, so that a short answer costs no look.
 * @throws AppError 401, 503 within a few seconds after something has changed
 */
export async function* whileAllowed<Some>(
  deps: Present,
  caller: Pick<LastingCaller, "now" | "dueAt">,
  began: Begun,
  source: AsyncIterable<Some>,
): AsyncGenerator<Some> {
  let dueAt = caller.dueAt();
  for await (const some of source) {
    if (performance.now() >= dueAt) {
      requireAsBegun(began, await deps.rights(await caller.now(0)), await deps.catalogs.get());
      dueAt = caller.dueAt();
    }
    yield some;
  }
  requireAsBegun(began, await deps.rights(await caller.now()), await deps.catalogs.refresh());
}

/**
 * What has changed need not be a refusal: the caller may read more now, or a column has gone that they never asked for. Whoever
 * asks again learns which.
 * @throws AppError 503
 */
function requireAsBegun(began: Begun, now: Rights, catalog: Catalog): void {
  if (isAsBegun(began, now, catalog)) return;
  throw unavailable(
    "What you may read, or a table of it, has changed since this answer began; ask again.",
    1,
  );
}

/** May the caller still read what something began with? Pure. */
export function isAsBegun({ rights, actions, shown }: Begun, now: Rights, catalog: Catalog): boolean {
  return now.readsAs(rights, actions, tablesOf(shown)) && isStillOpen(shown, catalog);
}
