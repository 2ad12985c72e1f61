// Parameters -> Query: every name resolved through the caller's view, every rule of contract 4 checked.
import { isObject, type Json, kindOf } from "@portico/shared/json";
import type { Column, Relation, Table } from "../catalog/catalog.js";
import type { ReadView } from "../permission/read-view.js";
import {
  ALWAYS,
  type BoundChild,
  type BoundNode,
  type CountNode,
  type Predicate,
  type Query,
  type Step,
} from "./ast.js";
import { bindAggregate } from "./bind-aggregate.js";
import { bindFilter } from "./bind-filter.js";
import { bindSort } from "./bind-sort.js";
import { conjunction } from "./logic.js";
import type { Parameters } from "./parameters.js";
import { type Path, refuse, unknownField } from "./refuse.js";
import { type QueryLimits, requireCountable, requireRelation, type Scope } from "./scope.js";
import { emptyScope, type FieldScope, parseFields } from "./syntax/fields.js";
import { parseFormat } from "./syntax/format.js";
import { parseMeta, parsePaging } from "./syntax/paging.js";

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
  selected: SelectedRelation,
  given: DeepSetting | undefined,
  scope: Scope,
  at: Places,
): BoundChild {
  const { relation, target, inner } = selected;
  const here = `${at.deep}.${relation.name}`;
  const below = belowScope(selected, scope);
  // A relation that was not named does not count as depth: its id is part of what the record itself shows.
  if (inner !== "implied") requireDepth(relation, below, given === undefined ? at.fields : here);
  const setting = given ?? {};
  const { filter, sort } = setting;
  const shape = childShape(selected, setting, scope, below, at);
  const paging = childPaging(relation, setting, below, here);
  const how = { view: below.view, maxDepth: scope.limits.maxDepth - below.depth, fromText: false };
  return {
    relation,
    node: {
      ...shape,
      filter: filter === undefined ? ALWAYS : bindFilter(filter, target, how, `${here}.filter`),
      sort: relation.many ? bindSort(sort, below, `${here}.sort`) : [],
      ...paging,
    },
  };
}

/** What of a relation's records is shown: what its own setting says, else what is said of it further out. */
function childShape(
  { relation, target, inner }: SelectedRelation,
  { fields, deep }: DeepSetting,
  scope: Scope,
  below: Scope,
  at: Places,
): Selection {
  const here = `${at.deep}.${relation.name}`;
  const places = { fields: at.fields, deep: `${here}.deep` };
  if (fields !== undefined) {
    if (typeof inner === "object") checkDropped(inner, { relation, target }, scope, at);
    const own = fieldsOf(fields, `${here}.fields`, below);
    return bindSelection(own, deep, below, { ...places, fields: `${here}.fields` });
  }
  return inner === "id" || inner === "implied"
    ? idOnly(deep, below, places)
    : bindSelection(inner, deep, below, places);
}

function childPaging(
  { many }: Relation,
  setting: DeepSetting,
  { inFile, limits }: Scope,
  here: Path,
): Pick<BoundNode, "limit" | "skip"> {
  if (!many) return { limit: 1, skip: 0 };
  const given = inFile ? { limit: 0, ...setting } : setting;
  return parsePaging(given, (name) => `${here}.${name}`, limits.maxLimit);
}

/** The scope of a relation's records. */
function belowScope({ relation, target }: Step, scope: Scope): Scope {
  return { ...scope, view: scope.view.through(relation), table: target, depth: scope.depth + 1 };
}

function requireDepth({ name }: Relation, { depth, limits }: Scope, path: Path): void {
  if (depth > limits.maxDepth) throw refuse(path, `"${name}" lies deeper than ${limits.maxDepth} relations`);
}

/** Names without effect, because something else replaces them, must be valid all the same. */
function checkDropped(fields: FieldScope, step: Step, scope: Scope, at: Places): void {
  const below = belowScope(step, scope);
  requireDepth(step.relation, below, at.fields);
  bindSelection(fields, undefined, below, at);
}

/** `{"id":…}`, with whatever deep loads below it. */
function idOnly(deep: Json | undefined, scope: Scope, at: Places): Selection {
  const names: FieldScope = { ...emptyScope(), names: new Set(["id"]), positive: true };
  return bindSelection(names, deep, scope, at);
}
