// Body JSON -> what to write, or every violation it has. Pure: no record is looked up here.
import { AppError } from "@portico/shared/app-error";
import { describeValue, isArray, isObject, type Json, type JsonObject, kindOf } from "@portico/shared/json";
import {
  type Catalog,
  type Column,
  memberNamed,
  type Relation,
  type Table,
  targetOf,
} from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import { emailProblem } from "../../catalog/email-address.js";
import { idProblem, suggestion } from "../../catalog/names.js";
import { brokenRules } from "../../catalog/rules.js";
import type { Stored } from "../../catalog/stored.js";
import { ALWAYS } from "../../query/ast.js";
import { LIMITS } from "../../query/limits.js";
import { inState } from "../../query/living.js";
import type { LinkSet } from "./link-set.js";
import { MOST_VIOLATIONS, NoObject } from "./violations.js";

/** Members the body may set; names outside are unknown to the caller. */
export interface WriteView {
  readonly mayWrite: (member: Column | Relation) => boolean;
  /** Other members that refusals may name, because the caller reads them; without it there are none. */
  readonly mayRead?: (member: Column | Relation) => boolean;
  /** Members that another rule lets the caller write. */
  readonly mayByAnother?: (member: Column | Relation) => boolean;
  /**
   * Root moves records: `id`, `createdAt`, `updatedAt` and `deletedAt` of the body are kept, not ignored, and read-only columns
   * not refused. All of them are what the service has said of the record.
   */
  readonly movesRecords?: boolean;
  /** The body is a line of a file. */
  readonly isImport?: boolean;
  /** Names of members that the service writes itself, so that the body need not hold them. */
  readonly stamped?: readonly string[];
  /** Values that the record has although their columns' rules refuse them: sent along unchanged, they may stay. */
  readonly tolerated?: JsonObject;
  /** For all bodies of a request together; without it, each has its own. */
  readonly guess?: Guess;
}

/** What is said of an unknown name that is like one which may be written. */
type Guess = (unknown: string) => string;

/** A body that satisfies the table's definition. What its links lead to is still to be authorized (see authorize-links). */
export interface CheckedBody {
  /** Values by column; null = make it null. Columns not named are not touched. */
  readonly values: ReadonlyMap<Column, Stored | null>;
  readonly links: readonly LinkSet[];
}

/** Unknown names that are compared with all known ones, to suggest one of them. */
const MOST_GUESSES = 20;

/** Guesses a few times, and says the same of the same name: several bodies often have one mistake. */
export function makeGuess(table: Table, mayWrite: WriteView["mayWrite"]): Guess {
  const guesses = new Map<string, string>();
  let known: readonly string[] | undefined;
  return (unknown) => {
    const before = guesses.get(unknown);
    if (before !== undefined || guesses.size >= MOST_GUESSES) return before ?? "";
    known ??= writableNames(table, mayWrite);
    const guess = suggestion(unknown, known);
    guesses.set(unknown, guess);
    return guess;
  };
}

export type WriteMode = "create" | "update";

/** Names of ours are shorter, with the place in a list behind them too. */
const LONGEST_FIELD = 100;

/** Collects violations, each beginning with the field's name. */
type Report = (field: string, problem: string) => undefined;

/**
 * Checks one body.
 * @param mode on create, what is missing is filled with defaults or reported
 * @throws AppError VALIDATION_ERROR with one message per violation; of very many with the first, and how many more there are
 */
export function checkBody(
  body: Json,
  table: Table,
  catalog: Catalog,
  view: WriteView,
  mode: WriteMode,
): CheckedBody {
  const violations: string[] = [];
  let untold = 0;
  const report: Report = (field, problem) => {
    if (violations.length < MOST_VIOLATIONS) violations.push(`${field.slice(0, LONGEST_FIELD)}: ${problem}`);
    else untold += 1;
    return undefined;
  };
  const checked = checkMembers(requireObject(body), table, catalog, view, mode, report);
  if (untold > 0) violations.push(`body: has ${untold} more problems`);
  if (violations.length > 0) throw new AppError("VALIDATION_ERROR", { message: violations });
  return checked;
}

function checkMembers(
  body: JsonObject,
  table: Table,
  catalog: Catalog,
  view: WriteView,
  mode: WriteMode,
  report: Report,
): CheckedBody {
  const values = new Map<Column, Stored | null>();
  const links: LinkSet[] = [];
  const comesDeleted = isDeletedCopy(body, table, view);
  const taking: Taking = { report, isImport: view.isImport === true, mayLack: comesDeleted };
  const guessing = { ...view, guess: view.guess ?? makeGuess(table, view.mayWrite) };
  for (const [name, json] of Object.entries(body)) {
    const column = table.columns.get(name);
    const relation = table.relations.get(name);
    if (column?.generated) {
      const kept = view.movesRecords ? checkGenerated(column, json, table, report) : undefined;
      if (kept !== undefined) values.set(column, kept);
      else if (wouldLive(column, json, table, view)) report(name, ROOT_ALONE);
    } else if (column?.readOnly && !view.movesRecords && view.mayWrite(column)) {
      report(name, READ_ONLY);
    } else if (column !== undefined && view.mayWrite(column)) {
      const value = checkValue(column, json, report, view.tolerated?.[name]);
      if (value !== undefined) values.set(column, value);
    } else if (relation !== undefined && view.mayWrite(relation)) {
      const set = checkLinks(relation, targetOf(catalog, relation), json, taking);
      if (set !== undefined) links.push(set);
    } else {
      report(name, notWritable(name, table, guessing));
    }
  }
  if (mode === "create") {
    const others = new Set([...(view.stamped ?? []), ...(comesDeleted ? table.relations.keys() : [])]);
    const isThere = (name: string): boolean => Object.hasOwn(body, name) || others.has(name);
    fillIn(table, view, isThere, values, report);
  }
  return { values, links };
}

/** Is this a deleted record that root moves here? What it had to link to may have been removed for good. */
function isDeletedCopy(body: JsonObject, { deletedAt }: Table, { movesRecords }: WriteView): boolean {
  return movesRecords === true && deletedAt !== undefined && (body[deletedAt.name] ?? null) !== null;
}

/** Whether a deleted record would come back to life by an import, because its mark is ignored. */
function wouldLive(column: Column, json: Json, { deletedAt }: Table, view: WriteView): boolean {
  return view.isImport === true && !view.movesRecords && column === deletedAt && json !== null;
}

const ROOT_ALONE = "deleted records are imported by root admins only; leave this one out";

/** @throws AppError VALIDATION_ERROR */
export function requireObject(body: Json): JsonObject {
  if (isObject(body)) return body;
  throw new NoObject(body);
}

/**
 * What is said of a member that the body may not set.
 * @param given how it is spelled, where that is not its name
 */
export function notWritable(name: string, table: Table, view: WriteView, given = name): string {
  const member = memberNamed(table, name);
  // Whoever may write it in another body knows of it, read or not.
  if (member !== undefined && view.mayByAnother?.(member) === true) return NOT_TOGETHER;
  if (member !== undefined && view.mayRead?.(member) === true) return NOT_WRITABLE;
  return UNKNOWN + (view.guess ?? makeGuess(table, view.mayWrite))(given);
}

/** The one text for members that do not exist and those the caller may neither read nor write; a guess may follow. */
const UNKNOWN = "unknown field";
const READ_ONLY = "is read-only";
const NOT_WRITABLE = "you may not write it";
const NOT_TOGETHER = "you may not write it together with the others, as no single rule allows all of them";

function writableNames(table: Table, mayWrite: WriteView["mayWrite"]): string[] {
  const columns = [...table.columns.values()].filter((column) => !column.generated && mayWrite(column));
  const relations = [...table.relations.values()].filter((relation) => mayWrite(relation));
  return [...columns, ...relations].map(({ name }) => name);
}

function checkValue(column: Column, json: Json, report: Report, tolerated?: Json): Stored | null | undefined {
  const { name, type, values } = column;
  if (json === null) return column.required ? report(name, "must not be null") : null;
  const row = COLUMN_TYPES[type];
  const stored = row.parse(json, values);
  if (stored === undefined) {
    const expected = values.length > 0 ? `${row.expects} (${values.slice(0, 20).join(", ")})` : row.expects;
    return report(name, `must be ${expected}, not ${describeFor(column, json)}`);
  }
  if (json === tolerated) return stored;
  const broken = problemsOf(column, stored);
  for (const problem of broken) report(name, problem);
  return broken.length === 0 ? stored : undefined;
}

/** What users sign in by is the same whether a body or a provider says it. */
function problemsOf({ type, rules, isAddress }: Column, stored: Stored): readonly string[] {
  if (!isAddress) return brokenRules(type, rules, stored);
  const problem = emailProblem(String(stored));
  return problem === undefined ? [] : [problem];
}

/** Of a list of values, the first that is not allowed. */
function describeFor({ type, values }: Column, json: Json): string {
  if (type !== "enumList" || !isArray(json)) return describeValue(json);
  const known = new Set<Json>(values);
  const wrong = json.find((each) => !known.has(each));
  return `one with ${describeValue(wrong ?? null)}`;
}

/**
 * A new record can be reached by its id; ids that other programs gave to theirs are what they are. Null, which an export has
 * for times that such records lack, counts as not given: the new record gets its own.
 */
function checkGenerated(column: Column, json: Json, table: Table, report: Report): Stored | null | undefined {
  if (json === null && column !== table.deletedAt) return undefined;
  const value = checkValue(column, json, report);
  if (column !== table.idColumn || value === undefined || value === null) return value;
  const problem = idProblem(String(COLUMN_TYPES[column.type].toJson(value)));
  return problem === undefined ? value : report(column.name, problem);
}

/** How the links of a body are taken. */
interface Taking {
  readonly report: Report;
  readonly isImport: boolean;
  /** A required link may be null. */
  readonly mayLack: boolean;
}

/** To-one takes an id, `{"id":…}` or null; to-many a list of these: the full new set. */
function checkLinks(relation: Relation, target: Table, json: Json, taking: Taking): LinkSet | undefined {
  const { name } = relation;
  const { report, mayLack } = taking;
  if (relation.readOnly) return report(name, READ_ONLY);
  const set = { relation, target, there: inState(target, ALWAYS, "living") };
  if (!relation.many) {
    if (json === null && relation.required && !mayLack) return report(name, "must not be null");
    if (json === null) return { ...set, ids: [] };
    const id = linkId(target, json, name, taking);
    return id === undefined ? undefined : { ...set, ids: [id] };
  }
  if (!isArray(json)) return report(name, `must be the list of all ids to link, not ${kindOf(json)}`);
  if (json.length > LIMITS.links) return report(name, `must not have more than ${LIMITS.links} members`);
  const ids = json.map((each, at) => linkId(target, each, `${name}[${at}]`, taking));
  const found = ids.filter((id) => id !== undefined);
  return found.length < ids.length ? undefined : { ...set, ids: distinct(target, found) };
}

function linkId(target: Table, json: Json, path: string, taking: Taking): Stored | undefined {
  return isObject(json) && Object.keys(json).length === 1 && json.id !== undefined
    ? plainId(target, json.id, `${path}.id`, taking)
    : plainId(target, json, path, taking);
}

function plainId(target: Table, json: Json, path: string, { report, isImport }: Taking): Stored | undefined {
  const row = COLUMN_TYPES[target.idColumn.type];
  if (isObject(json)) {
    const problem = `must be the id of a "${target.name}" record or {"id":…} and nothing more`;
    const remedy = `; an import takes links only, import records of "${target.name}" by themselves`;
    return report(path, isImport ? problem + remedy : problem);
  }
  return (
    row.parse(json, []) ??
    report(path, `must be the id of a "${target.name}" record, ${row.expects}, not ${describeValue(json)}`)
  );
}

function distinct({ idColumn }: Table, ids: readonly Stored[]): Stored[] {
  const { toJson } = COLUMN_TYPES[idColumn.type];
  return [...new Map(ids.map((id) => [String(toJson(id)), id])).values()];
}

function nullText(member: Column | Relation): string {
  return "link" in member && member.nullMeans !== undefined ? `; null means ${member.nullMeans}` : "";
}

/** Fills in defaults, and reports what is required and not given: without its name where the caller may not know it. */
function fillIn(
  table: Table,
  view: WriteView,
  isThere: (name: string) => boolean,
  values: Map<Column, Stored | null>,
  report: Report,
): void {
  const missing: (Column | Relation)[] = [];
  for (const column of table.columns.values()) {
    if (column.generated || isThere(column.name)) continue;
    const standard =
      column.default === undefined
        ? undefined
        : COLUMN_TYPES[column.type].parse(column.default, column.values);
    if (standard !== undefined) values.set(column, standard);
    else if (column.required) missing.push(column);
  }
  for (const relation of table.relations.values()) {
    const isNeeded = relation.required || relation.nullMeans !== undefined;
    if (isNeeded && !isThere(relation.name)) missing.push(relation);
  }
  const mayName = (member: Column | Relation): boolean =>
    view.mayWrite(member) || view.mayRead?.(member) === true;
  for (const member of missing.filter(mayName)) report(member.name, `is required${nullText(member)}`);
  if (!missing.every(mayName)) report("body", "a record needs values that you may not give");
}
