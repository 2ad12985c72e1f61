// An answer that takes long is given only while its caller may read what it began with: sessions end, rules and roles change.
import { AppError } from "@portico/shared/app-error";
import { type LastingCaller, LOOK_AT_CALLER_MS } from "../../http/lasting-caller.js";
import type { Rights } from "../../permission/rights.js";
import type { AuthorizedNode } from "../../query/ast.js";
import type { RecordDeps } from "../record-deps.js";
import { isStillOpen } from "./still-open.js";

/** What an answer began with: the rights of its caller, and what it shows of which tables. */
interface Begun {
  readonly rights: Rights;
  readonly root: AuthorizedNode;
}

/**
 * Checked now and then, and when all is read: an answer must not look complete if something changed just before its end.
 * @throws AppError 401, 403 within a few seconds after they have changed
 */
export async function* whileAllowed<Some>(
  deps: Pick<RecordDeps, "rights" | "catalogs">,
  caller: Pick<LastingCaller, "now">,
  began: Begun,
  source: AsyncIterable<Some>,
): AsyncGenerator<Some> {
  let lookedAt = performance.now();
  for await (const some of source) {
    if (performance.now() - lookedAt > LOOK_AT_CALLER_MS) {
      lookedAt = performance.now();
      const rights = await deps.rights(await caller.now(0));
      if (!rights.readsAs(began.rights) || !isStillOpen(began.root, await deps.catalogs.get()))
        throw changed();
    }
    yield some;
  }
  if (!isStillOpen(began.root, await deps.catalogs.refresh())) throw changed();
}

function changed(): AppError {
  return new AppError("FORBIDDEN", "What you may read has changed since this answer began; ask again.");
}
