// Which records of a batch have unique values that are taken: by existing records, or by others in the file. It only finds
// the lines; when the batch is written, the unique index decides.
import { type Column, memberIn, type Relation, type Table } from "../catalog/catalog.js";
import { SINGLETON_FIELD } from "../catalog/indexes.js";
import { DELETED_FIELD } from "../catalog/soft-delete.js";
import type { Stored } from "../catalog/stored.js";
import { broughtId, type WritePlan } from "../records/body/write-plan.js";
import { stateCondition } from "../records/delete/kept.js";
import type { RecordDeps } from "../records/record-deps.js";
import { uniqueKey } from "../records/unique-key.js";
import { havingAny, uniqueFields } from "../records/unique-values.js";
import { takenByText, takenText } from "../store-refusals.js";

/** The unique values seen so far, each with the line that has it. */
export type SeenValues = Map<string, number>;

/** Keeps a dry run of a large file from growing without end; the import itself still finds what this forgets. */
export const MOST_SEEN = 200_000;

/** Does an earlier record of the file have this id? It may, if ids have been forgotten. */
export function mayHaveSeen(seen: SeenValues, id: Stored): boolean {
  return seen.size >= MOST_SEEN || seen.has(idKey(id));
}

/** The same text for the same id. */
export function idKey(id: Stored): string {
  return uniqueKey(ID, [id]);
}

const ID = ["_id"];

interface Candidate {
  readonly at: number;
  readonly values: readonly Stored[];
  readonly key: string;
}

/**
 * @param lines of the records, in their order
 * @param mayName whether the caller may know a member
 * @param seen of earlier batches; grows
 * @returns messages by position
 */
export async function findTaken(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  plans: readonly WritePlan[],
  lines: readonly number[],
  seen: SeenValues,
  mayName: (member: Column | Relation) => boolean,
): Promise<Map<number, string>> {
  const taken = new Map<number, string>();
  for (const fields of [ID, ...uniqueFields(table)]) {
    const members = fields.map((field) => memberIn(table, field)).filter((member) => member !== undefined);
    const names = members.filter(mayName).map(({ name }) => name);
    const candidates = candidatesOf(fields, plans);
    const there = await storedKeys(store, table, fields, candidates);
    for (const { at, key } of candidates) {
      const earlier = seen.get(key);
      if (there.has(key)) taken.set(at, takenText(table, names));
      else if (earlier !== undefined) taken.set(at, earlierText(fields, names, earlier));
      else if (seen.size < MOST_SEEN) seen.set(key, lines[at] ?? 0);
    }
  }
  return taken;
}

/** Null is not a value and collides with nothing; of deleted records only the ids do. */
function candidatesOf(fields: readonly string[], plans: readonly WritePlan[]): Candidate[] {
  return plans.flatMap((plan, at) => {
    if (fields !== ID && plan.own.set.has(DELETED_FIELD)) return [];
    const values = fields.map((field) => valueIn(plan, field)).filter((value) => value !== undefined);
    return values.length < fields.length ? [] : [{ at, values, key: uniqueKey(fields, values) }];
  });
}

function valueIn(plan: WritePlan, field: string): Stored | undefined {
  if (field === "_id") return broughtId(plan);
  // The mark of a singleton's only record is in no plan: every record gets it when it is written.
  return field === SINGLETON_FIELD ? 1 : plan.own.set.get(field);
}

async function storedKeys(
  store: RecordDeps["store"],
  table: Table,
  fields: readonly string[],
  candidates: readonly Candidate[],
): Promise<ReadonlySet<string>> {
  if (candidates.length === 0) return new Set();
  const match = havingAny(
    fields,
    candidates.map(({ values }) => values),
  );
  const shown = Object.fromEntries(fields.map((field) => [field, 1]));
  // A deleted record keeps its id; any other value is free again.
  const living = fields.includes("_id") ? {} : stateCondition(table, "living");
  const found = await store.read(table, [
    { $match: { ...match, ...living } },
    { $project: { _id: 0, ...shown } },
  ]);
  return new Set(
    found.map((document) =>
      uniqueKey(
        fields,
        fields.map((field) => document[field]),
      ),
    ),
  );
}

function earlierText([first]: readonly string[], names: readonly string[], line: number): string {
  if (first === SINGLETON_FIELD) return `line ${line} is already the only record that the table can hold`;
  return takenByText(`line ${line}`, names);
}
