// Who writes are made for: the journal of changes names them.
import type { Actor } from "../journal/entry.js";
import type { Principal } from "../principal.js";
import type { CountedWrites } from "./derived/counted-writes.js";

/** Where all writes of records pass that may change links or be followed. */
export interface Writes {
  readonly writes: CountedWrites;
  /** The same for requests that write more than once under a note, whose last write waits for the disk. */
  readonly writesUnderNote: CountedWrites;
}

export type WritesOf = (actor: Actor) => Writes;

/** The service itself: repairs, and what is taken back. */
export const NOBODY: Actor = { userId: null };

/** The same dependencies, whose writes are the caller's. Once at the start of each request that writes. */
export function actingFor<Deps extends { readonly writesOf: WritesOf }>(
  deps: Deps,
  principal: Principal,
): Deps & Writes {
  const actor = principal.kind === "user" ? { userId: principal.userId } : NOBODY;
  return { ...deps, ...deps.writesOf(actor) };
}
