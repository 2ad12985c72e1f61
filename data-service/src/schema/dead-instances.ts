// Tells whether something that an instance has begun is left for others to end.
import type { Clock } from "@portico/shared/clock";
import type { InstanceStore } from "../mongo/instance-store.js";

/** An instance may be slow; only one that is not announced and has been silent for this long counts as dead. */
const DEAD_AFTER_MS = 10_000;
/** For what this very process has begun and, because the database was away, neither ended nor taken back. */
const FAILED_AFTER_MS = 60_000;

/** A command is not under way for longer than this, not even one whose process has died or whose answer was lost. */
export const WRITTEN_WITHIN_MS = 120_000;

/**
 * Nothing is noted further ahead: what is to be looked at again (see unfinished), by a clock that is as far ahead as one may be.
 * A time beyond it is of a clock that was wrong, and tells nothing about age.
 */
export const NEVER_YET_MS = WRITTEN_WITHIN_MS + DEAD_AFTER_MS;

/** Something that an instance noted before it did it. */
export interface Noted {
  readonly instance: string;
  readonly at: Date;
}

export interface Onlooker {
  readonly clock: Clock;
  readonly instances: Pick<InstanceStore, "lives">;
  /** The instance that asks. */
  readonly own: string;
  /** No other process uses the database, so everything that others have noted was left by a dead one. */
  readonly alone: boolean;
}

/** Will the instance that noted this do nothing more about it? */
export async function isDead(
  { clock, instances, own, alone }: Onlooker,
  { instance, at }: Noted,
): Promise<boolean> {
  const age = clock.now().getTime() - at.getTime();
  // One's own that are ahead are left alone: a change of what was changed in a time to come is noted for then as well.
  if (instance === own) return age > FAILED_AFTER_MS;
  const isSilent = age > DEAD_AFTER_MS || age < -NEVER_YET_MS;
  return alone || (isSilent && !(await instances.lives(instance)));
}
