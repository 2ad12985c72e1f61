// Parameters -> Query: every name resolved through the caller's view, every rule of contract 4 checked.
import { isObject, type Json, kindOf } from "@portico/shared/json";
import type { Column, Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { Purpose, ReadView } from "../permission/read-view.js";
import {
  ALWAYS,
  type BoundChild,
  type BoundNode,
  type CountNode,
  type Predicate,
  type Query,
  type SortKey,
  type Step,
} from "./ast.js";
import { bindAggregate } from "./bind-aggregate.js";
import { bindFilter } from "./bind-filter.js";
import { conjunction } from "./logic.js";
import type { Parameters } from "./parameters.js";
import { notComparable, type Path, refuse, unknownField } from "./refuse.js";
import { emptyScope, type FieldScope, parseFields } from "./syntax/fields.js";
import { parseFormat } from "./syntax/format.js";
import { parseMeta, parsePaging } from "./syntax/paging.js";
import { parseSort, type SortSyntax } from "./syntax/sort.js";

export interface QueryLimits {
  /** QUERY_MAX_DEPTH: how many relations a name may go through. */
  readonly maxDepth: number;
  /** QUERY_MAX_LIMIT; undefined = none. */
  readonly maxLimit: number | undefined;
}

interface Scope {
  readonly view: ReadView;
  readonly limits: QueryLimits;
  readonly table: Table;
  /** How many relations lead here. */
  readonly depth: number;
  /**
   * For a file. It is complete: a relation without a limit of its own shows all its records, not only the first few. And what
   * it shows unasked can be imported.
   */
  readonly inFile: boolean;
}

/**
 * Binds the parameters of a list request.
 * @throws AppError 400 naming parameter and path
 */
export function bindQuery(parameters: Parameters, table: Table, view: ReadView, limits: QueryLimits): Query {
  const inFile = parseFormat(parameters.format) !== undefined;
  const scope: Scope = { view, limits, table, depth: 0, inFile };
  const how = { view, maxDepth: limits.maxDepth, fromText: parameters.filterFromText };
  const filter =
    parameters.filter === undefined ? ALWAYS : bindFilter(parameters.filter, table, how, "filter");
  return {
    root: {
      ...bindShape(parameters, scope),
      filter: parameters.named === true ? conjunction([filter, isNamed(table)]) : filter,
      sort: bindSort(parameters.sort, scope, "sort"),
      ...parsePaging(parameters, (name) => name, limits.maxLimit),
    },
    meta: parseMeta(parameters.meta),
    aggregate: bindAggregate(parameters.aggregate, table, view),
  };
}

/** Our own tables have no other ids. */
function isNamed({ isAdopted, idColumn }: Table): Predicate {
  return isAdopted === true ? { kind: "test", column: idColumn, test: { op: "named" } } : ALWAYS;
}

/** Binds only `fields` and `deep`: the shape of one record. */
export function bindRecordShape(
  parameters: Parameters,
  table: Table,
  view: ReadView,
  limits: QueryLimits,
): BoundNode {
  const scope: Scope = { view, limits, table, depth: 0, inFile: false };
  return { ...bindShape(parameters, scope), filter: ALWAYS, sort: [], limit: 1, skip: 0 };
}

type Selection = Pick<BoundNode, "table" | "columns" | "children" | "counts">;

function bindShape(parameters: Pick<Parameters, "fields" | "deep">, scope: Scope): Selection {
  const fields = parameters.fields === undefined ? undefined : fieldsOf(parameters.fields, "fields", scope);
  return bindSelection(fields, parameters.deep, scope, { fields: "fields", deep: "deep" });
}

function fieldsOf(given: Json, path: Path, { depth, limits }: Scope): FieldScope {
  return parseFields(given, path, { depth, maxDepth: limits.maxDepth });
}

interface Places {
  readonly fields: Path;
  readonly deep: Path;
}

function bindSelection(
  fields: FieldScope | undefined,
  deep: Json | undefined,
  scope: Scope,
  at: Places,
): Selection {
  const { table } = scope;
  const settings = deepSettings(deep, scope, at.deep);
  const columns = selectColumns(fields, scope, at.fields);
  const children = selectRelations(fields, settings, scope, at).map((selected) =>
    bindChild(selected, settings.get(selected.relation.name), scope, at),
  );
  return { table, columns, children, counts: selectCounts(fields, scope, at.fields) };
}

/** True for `*`, if nothing was said, and for "all but". */
function takesAll(fields: FieldScope | undefined): boolean {
  return fields === undefined || fields.star || fields.excluded.size > 0 || !fields.positive;
}

function selectColumns(fields: FieldScope | undefined, scope: Scope, path: Path): Column[] {
  const { view, table } = scope;
  for (const name of fields?.excluded ?? []) checkName(name, scope, path);
  for (const name of fields?.names ?? []) if (!isToldAnyway(name, scope)) checkName(name, scope, path);
  const named = [...table.columns.values()].filter(
    (column) => fields?.names.has(column.name) && view.column(table, column.name, "show") !== undefined,
  );
  if (!takesAll(fields)) return withIdInside(named, scope);
  const excludes = fields !== undefined && fields.excluded.size > 0;
  const all = view.visibleColumns(table).filter((column) => !fields?.excluded.has(column.name));
  // `*,secretNote` adds a hidden column; in an "all but" scope positive names are ignored.
  const extra = excludes ? [] : named.filter((column) => !all.includes(column));
  return withIdInside([...all, ...extra], scope);
}

/** Inside a relation `id` is always present. */
function withIdInside(columns: readonly Column[], { depth, table }: Scope): Column[] {
  const others = columns.filter((column) => column !== table.idColumn);
  return depth > 0 || columns.includes(table.idColumn) ? [table.idColumn, ...others] : others;
}

function checkName(name: string, { view, table }: Scope, path: Path): void {
  if (view.column(table, name, "show") ?? view.relation(table, name, "show")) return;
  throw unknownField(path, name, table.name, view.names(table, "show"));
}

/** A write answers with the id whoever may read nothing, so that may be named. */
function isToldAnyway(name: string, { view, table, depth }: Scope): boolean {
  return depth === 0 && name === table.idColumn.name && !view.mayRead(table);
}

/** Only counts that were named, even in an "all but" scope: `*` never includes a count. */
function selectCounts(fields: FieldScope | undefined, scope: Scope, path: Path): CountNode[] {
  return [...(fields?.counts ?? [])].map((name) => ({
    kind: "counted",
    step: requireCountable(name, scope, path, "show"),
  }));
}

interface SelectedRelation extends Step {
  /**
   * The scope of its own names; "id" = only the id object, "implied" = the same for a relation that nobody named; undefined
   * = everything.
   */
  readonly inner: FieldScope | "id" | "implied" | undefined;
}

function selectRelations(
  fields: FieldScope | undefined,
  deep: ReadonlyMap<string, unknown>,
  scope: Scope,
  at: Places,
): SelectedRelation[] {
  const { view, table } = scope;
  const path = at.fields;
  for (const name of fields?.nested.keys() ?? []) requireRelation(name, scope, path, "show");
  const excludes = fields !== undefined && fields.excluded.size > 0;
  const wanted = new Map<string, SelectedRelation["inner"]>();
  if (takesAll(fields)) for (const { name } of impliedRelations(scope)) wanted.set(name, "implied");
  if (!excludes)
    for (const name of fields?.names ?? []) if (view.relation(table, name, "show")) wanted.set(name, "id");
  for (const [name, inner] of fields?.nested ?? []) wanted.set(name, inner);
  for (const name of fields?.excluded ?? []) {
    const dropped = deep.has(name) ? undefined : fields?.nested.get(name);
    if (dropped !== undefined) checkDropped(dropped, requireRelation(name, scope, path, "show"), scope, at);
    wanted.delete(name);
  }
  // deep loads a relation whatever `fields` says.
  for (const name of deep.keys()) {
    const onlyId = !excludes && fields?.names.has(name) && !fields.nested.has(name);
    wanted.set(name, onlyId ? "id" : fields?.nested.get(name));
  }
  return [...wanted].map(([name, inner]) => ({ ...requireRelation(name, scope, path, "show"), inner }));
}

/**
 * The relations that `*` stands for. In a file only those whose links the records hold themselves: of two files in which each
 * link stood twice, neither could be imported before the other.
 */
function impliedRelations({ view, table, inFile }: Scope): Relation[] {
  const found = view.visibleToOne(table).map(({ relation }) => relation);
  return inFile ? found.filter(({ link }) => link.on === "self") : found;
}

function requireRelation(name: string, { view, table }: Scope, path: Path, purpose: Purpose): Step {
  const found = view.relation(table, name, purpose);
  if (found !== undefined) return found;
  if (view.column(table, name, purpose) !== undefined)
    throw refuse(path, `"${name}" of "${table.name}" is a column, not a relation`);
  const relations = view.names(table, purpose).filter((each) => view.relation(table, each, purpose));
  throw purpose === "show"
    ? unknownField(path, name, table.name, relations)
    : notComparable(path, name, table, view, relations);
}

/**
 * The relation of `_count(name)`, `_max(name.…)` and `_min(name.…)`.
 * @param asked the whole expression, and what it asks of the relation's records
 */
function requireCountable(
  name: string,
  scope: Scope,
  path: Path,
  purpose: Purpose,
  { text, field }: { readonly text: string; readonly field?: string } = { text: `_count(${name})` },
): Step {
  const step = requireRelation(name, scope, path, purpose);
  if (step.relation.many) return step;
  const instead = field === undefined ? ", so there is nothing to count" : `; write ${name}.${field} instead`;
  throw refuse(path, `${text}: "${name}" is to-one${instead}`);
}

interface DeepSetting {
  readonly fields?: Json;
  readonly filter?: Json;
  readonly sort?: Json;
  readonly limit?: Json;
  readonly page?: Json;
  readonly deep?: Json;
}

const DEEP_KEYS = ["fields", "filter", "sort", "limit", "page", "deep"];

function deepSettings(deep: Json | undefined, scope: Scope, path: Path): ReadonlyMap<string, DeepSetting> {
  if (deep === undefined) return new Map();
  if (!isObject(deep)) throw refuse(path, `must be an object keyed by relation, not ${kindOf(deep)}`);
  return new Map(
    Object.entries(deep).map(([name, setting]) => {
      const at = `${path}.${name}`;
      const { relation } = requireRelation(name, scope, at, "show");
      return [name, checkDeepSetting(setting, relation, at)];
    }),
  );
}

function checkDeepSetting(setting: Json, relation: Relation, path: Path): DeepSetting {
  if (!isObject(setting)) throw refuse(path, `must be an object such as {"limit":3}, not ${kindOf(setting)}`);
  for (const key of Object.keys(setting)) {
    if (!DEEP_KEYS.includes(key)) throw refuse(`${path}.${key}`, `is not known; use ${DEEP_KEYS.join(", ")}`);
    if (!relation.many && (key === "limit" || key === "page" || key === "sort")) {
      throw refuse(`${path}.${key}`, `does not apply: "${relation.name}" has at most one record`);
    }
  }
  return setting;
}

function bindChild(
  { relation, target, inner }: SelectedRelation,
  given: DeepSetting | undefined,
  scope: Scope,
  at: Places,
): BoundChild {
  const places = { fields: at.fields, deep: `${at.deep}.${relation.name}.deep` };
  const here = `${at.deep}.${relation.name}`;
  const below: Scope = { ...scope, table: target, depth: scope.depth + 1 };
  // A relation that was not named does not count as depth: its id is part of what the record itself shows.
  if (inner !== "implied") requireDepth(relation, below, given === undefined ? at.fields : here);
  const setting = given ?? {};
  const replaced = setting.fields !== undefined && typeof inner === "object" ? inner : undefined;
  if (replaced !== undefined) checkDropped(replaced, { relation, target }, scope, at);
  const own = setting.fields === undefined ? inner : fieldsOf(setting.fields, `${here}.fields`, below);
  const ownPlaces = setting.fields === undefined ? places : { ...places, fields: `${here}.fields` };
  const shape =
    own === "id" || own === "implied"
      ? idOnly(setting.deep, below, ownPlaces)
      : bindSelection(own, setting.deep, below, ownPlaces);
  const filter = { view: scope.view, maxDepth: scope.limits.maxDepth - below.depth, fromText: false };
  const paging = relation.many
    ? parsePaging(
        scope.inFile ? { limit: 0, ...setting } : setting,
        (name) => `${here}.${name}`,
        scope.limits.maxLimit,
      )
    : { limit: 1, skip: 0 };
  return {
    relation,
    node: {
      ...shape,
      filter:
        setting.filter === undefined ? ALWAYS : bindFilter(setting.filter, target, filter, `${here}.filter`),
      sort: relation.many ? bindSort(setting.sort, below, `${here}.sort`) : [],
      ...paging,
    },
  };
}

function requireDepth({ name }: Relation, { depth, limits }: Scope, path: Path): void {
  if (depth > limits.maxDepth) throw refuse(path, `"${name}" lies deeper than ${limits.maxDepth} relations`);
}

/** Names without effect, because something else replaces them, must be valid all the same. */
function checkDropped(fields: FieldScope, { relation, target }: Step, scope: Scope, at: Places): void {
  const below: Scope = { ...scope, table: target, depth: scope.depth + 1 };
  requireDepth(relation, below, at.fields);
  bindSelection(fields, undefined, below, at);
}

/** `{"id":…}`, with whatever deep loads below it. */
function idOnly(deep: Json | undefined, scope: Scope, at: Places): Selection {
  const names: FieldScope = { ...emptyScope(), names: new Set(["id"]), positive: true };
  return bindSelection(names, deep, scope, at);
}

function bindSort(given: Json | undefined, scope: Scope, path: Path): SortKey[] {
  const keys = given === undefined ? [] : parseSort(given, path).map((key) => bindSortKey(key, scope, path));
  const closing: SortKey = { kind: "column", path: [], column: scope.table.idColumn, descending: false };
  // An earlier key decides; a repeated one could never matter.
  const seen = new Set<string>();
  return [...keys, closing].filter((key) => {
    const name = sortKeyName(key);
    const repeated = seen.has(name);
    seen.add(name);
    return !repeated;
  });
}

function sortKeyName(key: SortKey): string {
  const steps = key.kind === "column" ? key.path : [key.step];
  const path = steps.map((step) => step.relation.name).join(".");
  return `${key.kind}(${path}.${key.kind === "count" ? "" : key.column.name})`;
}

function bindSortKey(key: SortSyntax, scope: Scope, path: Path): SortKey {
  const { descending } = key;
  if (key.kind === "path") return bindSortPath(key.segments, descending, scope, path);
  requireHops(scope.depth + 1, scope, path);
  const step = requireCountable(key.relation, scope, path, "use", key);
  if (key.kind === "count") return { kind: "count", step, descending };
  const column = requireSortable(key.field, { ...scope, table: step.target }, path, () => {
    return `"${key.field}" is a relation; _${key.kind} takes a column of "${step.target.name}"`;
  });
  return { kind: key.kind, step, column, descending };
}

function bindSortPath(segments: readonly string[], descending: boolean, scope: Scope, path: Path): SortKey {
  const steps: Step[] = [];
  let here = scope;
  for (const segment of segments.slice(0, -1)) {
    const step = requireRelation(segment, here, path, "use");
    if (step.relation.many) {
      const through = `goes through the to-many relation "${segment}"`;
      const instead = insteadOfMany(segments, steps.length, here.table);
      throw refuse(path, `"${segments.join(".").slice(0, 64)}" ${through}${instead}`);
    }
    steps.push(step);
    here = { ...here, table: step.target, depth: here.depth + 1 };
    requireHops(here.depth, scope, path);
  }
  const column = requireSortable(segments.at(-1) ?? "", here, path, ({ many }) => {
    const name = segments.join(".");
    if (many) return `"${name}" is a to-many relation${insteadOfMany(segments, steps.length, here.table)}`;
    return `"${name}" is a relation; sort by ${name}.id or another of its columns`;
  });
  return { kind: "column", path: steps, column, descending };
}

/** What a sort key can be in place of one with a to-many relation. @param at where that stands @param table whose it is */
function insteadOfMany(segments: readonly string[], at: number, { name }: Table): string {
  const [relation, ...rest] = segments.slice(at);
  if (at > 0) return `, by which only "${name}" can be sorted`;
  const extreme = rest.length === 1 ? [`_max(${relation}.${rest[0]})`] : [];
  const keys = [...extreme, `_count(${relation})`].join(" or ");
  return rest.length === 0 ? `; sort by ${keys}` : `; use ${keys}`;
}

function requireHops(depth: number, { limits: { maxDepth } }: Scope, path: Path): void {
  if (depth > maxDepth) throw refuse(path, `goes through more than ${maxDepth} relations`);
}

/** @param ofRelation the refusal of a relation */
function requireSortable(
  name: string,
  { view, table }: Scope,
  path: Path,
  ofRelation: (relation: Relation) => string,
): Column {
  const column = view.column(table, name);
  if (column === undefined) {
    const relation = view.relation(table, name)?.relation;
    throw relation === undefined
      ? notComparable(path, name, table, view)
      : refuse(path, ofRelation(relation));
  }
  if (column.encrypted || !COLUMN_TYPES[column.type].sortable) {
    const why = column.encrypted ? "is encrypted" : `has the type ${column.type}`;
    throw refuse(path, `"${name}" ${why} and can't be sorted by`);
  }
  return column;
}
