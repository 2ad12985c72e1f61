// In which order the notes of several requests are taken back. Pure; unfinished does it.
import { bsonTypeOf } from "../../catalog/bson-json.js";
import { getOrMake } from "../../get-or-make.js";
import type { Note } from "../../mongo/unfinished-store.js";
import type { Step } from "./steps.js";

/**
 * The request that began last comes first; but before each one come those that have written over it, whenever they began: they
 * say that they have found its name in a record. Where two have written over each other, at different records, no order is
 * right for both.
 */
export function takeBackOrder(notes: readonly Note[]): readonly Note[] {
  const over = new Map<string, Note[]>();
  for (const note of notes) {
    for (const name of note.steps.flatMap(namesFound)) getOrMake(over, name, () => []).push(note);
  }
  const ordered: Note[] = [];
  const seen = new Set<Note>();
  const place = (note: Note): void => {
    if (seen.has(note)) return;
    seen.add(note);
    for (const name of note.steps.flatMap(nameGiven)) over.get(name)?.forEach(place);
    ordered.push(note);
  };
  notes.toSorted(lastBegunFirst).forEach(place);
  return ordered;
}

function lastBegunFirst({ id: one }: Note, { id: other }: Note): number {
  return Buffer.compare(other.id, one.id);
}

/** What the step calls itself in the records that it writes. */
function nameGiven(step: Step): string[] {
  return step.kind === "made" ? [] : [step.by.toHexString()];
}

/** What earlier writes had called themselves there. (Ids of records, which are among them, are nobody's name.) */
function namesFound(step: Step): string[] {
  if (step.kind === "made") return [];
  const found =
    step.kind === "changed" ? Object.values(step.set) : [...step.gained, ...step.lost].map(({ by }) => by);
  return found.flatMap((value) => (bsonTypeOf(value) === "ObjectId" ? [String(value)] : []));
}
