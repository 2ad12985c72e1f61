// Who writes are made for: the journal of changes names them.
import type { Actor } from "../journal/entry.js";
import type { Principal } from "../principal.js";
import type { CountedWrites } from "./derived/counted-writes.js";

/** All writes of records that may change links, or that others may follow, go through these. */
export interface Writes {
  readonly writes: CountedWrites;
  /** The same for requests that write more than once under a note, whose last write waits for the disk. */
  readonly writesUnderNote: CountedWrites;
}

export type WritesOf = (actor: Actor) => Writes;

/** The service itself: repairs, and what is taken back. */
export const NOBODY: Actor = { userId: null };

/** The same dependencies with writes that are the caller's. Called once, at the start of each request that writes. */
export function actingFor<Deps extends { readonly writesOf: WritesOf }>(
  deps: Deps,
  principal: Principal,
): Deps & Writes {
  const actor = principal.kind === "user" ? { userId: principal.userId } : NOBODY;
  return { ...deps, ...deps.writesOf(actor) };
}
