// In which order the notes of several requests are taken back. Pure; unfinished does it.
import { bsonTypeOf } from "../../catalog/bson-json.js";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import type { Note } from "../../mongo/unfinished-store.js";
import type { Step } from "./steps.js";

/**
 * The request that began last comes first; but before each one come those that have written over it, whenever they began: they
 * say that they have found its name in a record, or are about a record that it has made. Where two have written over each
 * other, at different records, no order is right for both.
 */
export function takeBackOrder(notes: readonly Note[]): readonly Note[] {
  const over = new Map<string, Note[]>();
  for (const note of notes) {
    for (const name of namesFoundBy(note)) getOrMake(over, name, () => []).push(note);
  }
  const ordered: Note[] = [];
  const seen = new Set<Note>();
  const place = (note: Note): void => {
    if (seen.has(note)) return;
    seen.add(note);
    for (const name of namesGivenBy(note)) over.get(name)?.forEach(place);
    ordered.push(note);
  };
  notes.toSorted(lastBegunFirst).forEach(place);
  return ordered;
}

/** What others find where they write over it. */
export function namesGivenBy({ steps }: Note): string[] {
  return steps.flatMap(namesGiven);
}

/** What it has written over. */
export function namesFoundBy({ steps }: Note): string[] {
  return steps.flatMap(namesFound);
}

function lastBegunFirst({ id: one }: Note, { id: other }: Note): number {
  return Buffer.compare(other.id, one.id);
}

/** What the step calls itself in the records that it writes, and the records that it makes. */
function namesGiven(step: Step): string[] {
  return step.kind === "made" ? step.ids.map((id) => recordName(step.table, id)) : [String(step.by)];
}

/** What earlier writes had called themselves where it wrote, and the records that it is about, which others may have made. */
function namesFound(step: Step): string[] {
  if (step.kind === "changed")
    return [recordName(step.table, step.id), ...Object.values(step.set).flatMap(nameIn)];
  if (step.kind !== "linked") return [];
  const { table, to, gained, lost } = step;
  const moved = [...gained, ...lost].flatMap(({ id, by }) => [recordName(table, id), ...nameIn(by)]);
  return [recordName(to.table, to.id), ...moved];
}

function recordName(table: string, id: Stored): string {
  return `${table} ${String(id)}`;
}

/** (Ids of records are among them, which are nobody's name.) */
function nameIn(value: unknown): string[] {
  return bsonTypeOf(value) === "ObjectId" ? [String(value)] : [];
}
