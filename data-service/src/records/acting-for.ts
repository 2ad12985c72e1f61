// Who writes are made for: the journal of changes names them.
import { AppError } from "@portico/shared/app-error";
import type { Actor } from "../journal/entry.js";
import type { Principal } from "../principal.js";
import type { CountedWrites } from "./derived/counted-writes.js";
import type { TableCall } from "./request.js";

/** All writes of records that may change links, or that others may follow, go through these. */
export interface Writes {
  readonly writes: CountedWrites;
  /** Writes of requests that write more than once under a note, whose last write waits for the disk. */
  readonly writesUnderNote: CountedWrites;
}

export type WritesOf = (actor: Actor) => Writes;

/** The service itself. */
const NOBODY: Actor = { userId: null };

/** Asks who a request comes from right before it writes, as it may have waited for others. */
export interface AskingCaller {
  /**
   * Costs nothing in a request that is short.
   * @throws AppError 401 when they have left
   * @throws CallerChanged when they have another role by now
   */
  readonly requireCaller: () => Promise<void>;
}

/** Dependencies of whoever writes: only the functions below make them, so that no write is in nobody's name by mistake. */
export type Acting<Deps> = Deps & Writes & AskingCaller;

/**
 * The same dependencies with writes that are the caller's. Called once, at the start of each request that writes.
 * @param caller whoever may leave or lose a right while the request waits; without one nobody does
 */
export function actingFor<Deps extends { readonly writesOf: WritesOf }>(
  deps: Deps,
  principal: Principal,
  caller?: TableCall["caller"],
): Acting<Deps> {
  const actor = principal.kind === "user" ? { userId: principal.userId } : NOBODY;
  const requireCaller = async (): Promise<void> => {
    const now = (await caller?.now()) ?? principal;
    if (!isAsBefore(principal, now)) throw new CallerChanged();
  };
  return { ...deps, ...deps.writesOf(actor), requireCaller };
}

/** The same for what the service does by itself: repairs, and what is taken back. */
export function actingForNobody<Deps extends { readonly writesOf: WritesOf }>(deps: Deps): Acting<Deps> {
  return { ...deps, ...deps.writesOf(NOBODY), requireCaller: async () => undefined };
}

/** The same for a request that writes more than once, under a note. */
export function underNote<Deps extends Writes>(deps: Deps): Deps {
  return { ...deps, writes: deps.writesUnderNote };
}

/** Says nothing of the records that were to be written. */
export class CallerChanged extends AppError {
  constructor() {
    super("FORBIDDEN", "What you may do has changed since this request began; send it again.");
  }
}

function isAsBefore(before: Principal, now: Principal): boolean {
  if (before.kind === "anonymous" || now.kind === "anonymous") return before.kind === now.kind;
  return before.roleId === now.roleId && before.isRootAdmin === now.isRootAdmin;
}
