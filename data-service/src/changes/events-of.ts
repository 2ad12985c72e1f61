// Entries of the journal -> which events they are to a caller, by rules and filter.
import type { Table } from "../catalog/catalog.js";
import { type Entry, isCut } from "../journal/entry.js";
import { possibly, surely } from "../query/bounds.js";
import { fieldsOf, type Leaf } from "../query/leaves.js";
import type { Document } from "../query/lower/document.js";
import type { RecordDeps } from "../records/record-deps.js";
import { type Asked, type Former, judgeDoubtful, type Satisfied } from "./judge-doubtful.js";
import { matchedImages } from "./matched-images.js";

/** `reset`: nobody knows whether the caller is to be told of it. */
export type JudgedEvent = "created" | "updated" | "deleted" | "entered" | "left" | "reset";

/** By their entries; nothing is told of those that are not among them. */
type Events = ReadonlyMap<Entry, JudgedEvent>;

type Deps = Pick<RecordDeps, "store">;

export async function eventsOf(deps: Deps, asked: Asked, entries: readonly Entry[]): Promise<Events> {
  const isWhole = (entry: Entry): boolean => cutFields(entry).size === 0;
  const events = new Map(await eventsBy(deps, asked, entries.filter(isWhole)));
  for (const entry of entries.filter((each) => !isWhole(each))) {
    const event = await eventOfCut(deps, asked, entry);
    if (event !== undefined) events.set(entry, event);
  }
  return events;
}

/** It is judged by the values that the journal had room for; where these decide nothing, the caller has to load anew. */
async function eventOfCut(deps: Deps, asked: Asked, entry: Entry): Promise<JudgedEvent | undefined> {
  const cut = cutFields(entry);
  const isUnknown = (leaf: Leaf): boolean =>
    !asksForNull(leaf) && fieldsOf(leaf).some((field) => cut.has(field));
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
function asksForNull(leaf: Leaf): boolean {
  return leaf.kind === "test" && leaf.test.op === "isNull";
}

async function eventsBy(deps: Deps, asked: Asked, entries: readonly Entry[]): Promise<Events> {
  const { table, node } = asked;
  // Before anything is matched: what is back by now is found then.
  const restored = await judgeDoubtful(
    deps,
    asked,
    entries.flatMap((entry) => restoredIn(table, entry) ?? []),
  );
  const images = entries.flatMap(({ before, after }) => [before ?? [], after ?? []].flat());
  const matched = await matchedImages(deps, table, images, [node.rule, node.filter]);
  const formers = entries.flatMap((entry) => formerOf(table, entry, matched) ?? []);
  const doubtful = new Map([...restored, ...(await judgeDoubtful(deps, asked, formers))]);
  const judged = { matched, doubtful };
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
  /** Those of which this can't be said by related records as they are now. */
  readonly doubtful: ReadonlyMap<Document, Satisfied>;
}

function eventOf(table: Table, entry: Entry, { matched, doubtful }: Judged): JudgedEvent | undefined {
  const { kind, before, after } = entry;
  const knownOf = (image: Document | undefined): Satisfied =>
    (image && doubtful.get(image)) ?? (image !== undefined && matched.has(image) ? "yes" : "no");
  const [was, is] = [knownOf(before), knownOf(after)];
  if (is === "yes") return was === "yes" ? "updated" : kind === "created" ? "created" : "entered";
  if (is === "unknown" || was === "unknown") return "reset";
  if (was === "no") return undefined;
  return isDeletion(table, entry) ? "deleted" : "left";
}

/** The record as it is after it was brought back. */
function restoredIn(table: Table, entry: Entry): Former | undefined {
  const { before, after } = entry;
  const isRestored = isDeleted(table, before) && after !== undefined && !isDeleted(table, after);
  return isRestored ? { record: after, later: undefined, isBack: true } : undefined;
}

/** The record as it was before a change after which it does not match. */
function formerOf(table: Table, entry: Entry, matched: ReadonlySet<Document>): Former | undefined {
  const { before, after } = entry;
  if (before === undefined || (after !== undefined && matched.has(after))) return undefined;
  return { record: before, later: isDeletion(table, entry) ? undefined : after };
}

function isDeletion(table: Table, { kind, after }: Entry): boolean {
  return kind === "deleted" || isDeleted(table, after);
}

function isDeleted({ deletedAt }: Table, record: Document | undefined): boolean {
  return deletedAt !== undefined && record?.[deletedAt.field] !== undefined;
}
