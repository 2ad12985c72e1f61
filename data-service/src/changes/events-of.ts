// Entries of the journal -> which events they are to a caller, by rules and filter.
import type { Table } from "../catalog/catalog.js";
import { type Entry, isCut } from "../journal/entry.js";
import { type Condition, possibly, surely } from "../query/bounds.js";
import type { Document } from "../query/lower/document.js";
import { fieldsOf } from "../records/body/authorize-write.js";
import type { RecordDeps } from "../records/record-deps.js";
import { type Asked, type Doubtful, judgeDoubtful } from "./judge-doubtful.js";
import { matchedImages } from "./matched-images.js";

/** `reset`: nobody knows whether the caller is to be told of it. */
export type JudgedEvent = "created" | "updated" | "deleted" | "entered" | "left" | "reset";

/** By their entries; nothing is told of those that are not among them. */
type Events = ReadonlyMap<Entry, JudgedEvent>;

type Deps = Pick<RecordDeps, "store">;

export async function eventsOf(deps: Deps, asked: Asked, entries: readonly Entry[]): Promise<Events> {
  const whole = entries.filter((entry) => cutFields(entry).size === 0);
  const events = new Map(await eventsBy(deps, asked, whole));
  for (const entry of entries.filter((each) => !whole.includes(each))) {
    const event = await eventOfCut(deps, asked, entry);
    if (event !== undefined) events.set(entry, event);
  }
  return events;
}

/** It is judged by the values that the journal had room for; where these decide nothing, the caller has to load anew. */
async function eventOfCut(deps: Deps, asked: Asked, entry: Entry): Promise<JudgedEvent | undefined> {
  const cut = cutFields(entry);
  const isUnknown = (condition: Condition): boolean =>
    !asksForNull(condition) && fieldsOf(condition).some((field) => cut.has(field));
  const eventBy = async (bound: typeof surely): Promise<JudgedEvent | undefined> => {
    const { rule, filter } = asked.node;
    const node = { rule: bound(rule, isUnknown), filter: bound(filter, isUnknown) };
    return (await eventsBy(deps, { ...asked, node }, [entry])).get(entry);
  };
  const [sure, possible] = [await eventBy(surely), await eventBy(possibly)];
  return sure === possible ? sure : "reset";
}

function cutFields({ before = {}, after = {} }: Entry): ReadonlySet<string> {
  const images = [before, after].flatMap((image) => Object.entries(image));
  return new Set(images.filter(([, value]) => isCut(value)).map(([field]) => field));
}

/** What was cut was there, and so is what stands in its place. */
function asksForNull(condition: Condition): boolean {
  return condition.kind === "test" && condition.test.op === "isNull";
}

async function eventsBy(deps: Deps, asked: Asked, entries: readonly Entry[]): Promise<Events> {
  const { table, node } = asked;
  const images = entries.flatMap(({ before, after }) => [before ?? [], after ?? []].flat());
  const matched = await matchedImages(deps, table, images, [node.rule, node.filter]);
  const deleted = entries.flatMap((entry) => (isDeletion(table, entry) ? [entry.before ?? []].flat() : []));
  const judged = { matched, doubtful: await judgeDoubtful(deps, asked, deleted) };
  return new Map(
    entries.flatMap((entry): readonly [Entry, JudgedEvent][] => {
      const event = eventOf(table, entry, judged);
      return event === undefined ? [] : [[entry, event]];
    }),
  );
}

/** What is known of records before and after changes. */
interface Judged {
  /** Those that satisfy the caller's rules and filter. */
  readonly matched: ReadonlySet<Document>;
  /** What those that were deleted come to where related records would have to say. */
  readonly doubtful: ReadonlyMap<Document, Doubtful>;
}

function eventOf(table: Table, entry: Entry, { matched, doubtful }: Judged): JudgedEvent | undefined {
  const { kind, before, after } = entry;
  const matchedBefore = before !== undefined && matched.has(before);
  const matchesAfter = after !== undefined && matched.has(after);
  if (matchesAfter) return matchedBefore ? "updated" : kind === "created" ? "created" : "entered";
  const doubt = before && doubtful.get(before);
  if (doubt !== undefined) return doubt === "nothing" ? undefined : doubt;
  if (!matchedBefore) return undefined;
  return isDeletion(table, entry) ? "deleted" : "left";
}

function isDeletion({ deletedAt }: Table, { kind, after }: Entry): boolean {
  return kind === "deleted" || (deletedAt !== undefined && after?.[deletedAt.field] !== undefined);
}
