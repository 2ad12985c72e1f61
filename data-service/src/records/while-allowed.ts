// An answer that lasts is given as long as its caller may read what it began with: sessions end, rules and roles change.
import { AppError } from "@portico/shared/app-error";
import { type LastingCaller, LOOK_AT_CALLER_MS } from "../http/lasting-caller.js";
import type { Rights } from "../permission/rights.js";
import type { RecordDeps } from "./deps.js";

/**
 * @param began the rights that the answer began with
 * @throws AppError 401, 403 as soon as a few seconds after they have changed
 */
export async function* whileAllowed<Some>(
  deps: Pick<RecordDeps, "rights">,
  caller: Pick<LastingCaller, "now">,
  began: Rights,
  source: AsyncIterable<Some>,
): AsyncGenerator<Some> {
  let lookedAt = performance.now();
  for await (const some of source) {
    if (performance.now() - lookedAt > LOOK_AT_CALLER_MS) {
      lookedAt = performance.now();
      const rights = await deps.rights(await caller.now(0));
      if (!rights.readsAs(began))
        throw new AppError("FORBIDDEN", "What you may read has changed since this answer began; ask again.");
    }
    yield some;
  }
}
