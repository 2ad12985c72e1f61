// Notes that processes have left: when their turn has come, and in which order they are taken back. Pure; unfinished does it.
import type { Note } from "../../mongo/unfinished-store.js";
import type { NotedStep, Step } from "./steps.js";

/** A note of another request that is to be taken back here. */
export interface Taken {
  readonly note: Note;
  /** Nothing of it can still be done: there is no second look. */
  readonly isOver: boolean;
}

/**
 * The steps of all of them, from the last that was noted to the first: whole requests have no order, for each of two may have
 * written after the other. Within a second, those of different processes have none either.
 */
export function lastFirst(taken: readonly Taken[]): readonly { readonly of: Taken; readonly step: Step }[] {
  const placeOf = ({ note }: Taken, { noted = note.id }: NotedStep): string => noted.toHexString();
  return taken
    .flatMap((of) => of.note.steps.map((step) => ({ of, step, place: placeOf(of, step) })))
    .toReversed()
    .sort((one, other) => (one.place < other.place ? 1 : one.place > other.place ? -1 : 0));
}

/**
 * Since when each counts as left alone. All that one process has left is taken back together, for any of it may lie under the
 * rest: what others have left, once they have been silent since the last of it; what failed here, which nothing is added to,
 * with the first.
 * @param own the instance that asks
 */
export function leftSince(notes: readonly Note[], own: string): (note: Note) => Date {
  const isOpen = ({ again, done }: Note): boolean => again !== true && done !== true;
  return (note) => {
    if (!isOpen(note)) return note.at;
    const { instance } = note;
    const ofSame = notes.filter((each) => each.instance === instance && isOpen(each));
    const times = ofSame.map(({ at }) => at.getTime());
    return new Date(instance === own ? Math.min(...times) : Math.max(...times));
  };
}
