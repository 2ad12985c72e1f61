// Contract 4.2 and 4.5: what of a row is shown, and how deep relations are loaded.
import { checkFilter, isTrue } from "./filter.js";
import {
  columnOf,
  columnsOf,
  type End,
  endOf,
  endsOf,
  isObject,
  type Json,
  type JsonObject,
  Refused,
  type Row,
  type Table,
  valueIn,
  type World,
} from "./model.js";
import { pageOf, sorted } from "./sort.js";

/** What `fields` says of one table on the way; a relation that is only named has an empty scope. */
export interface Scope {
  star: boolean;
  readonly names: Set<string>;
  readonly minus: Set<string>;
  /** Relations of which the number of records is asked for. */
  readonly counts: Set<string>;
  readonly inner: Map<string, Scope>;
  /** A positive path goes on into a relation here. */
  hasPositivePath: boolean;
}

function emptyScope(): Scope {
  const [names, minus, counts] = [new Set<string>(), new Set<string>(), new Set<string>()];
  return { star: false, names, minus, counts, inner: new Map(), hasPositivePath: false };
}

function everything(): Scope {
  return { ...emptyScope(), star: true };
}

export function parseFields(text: string | undefined): Scope {
  if (text === undefined) return everything();
  const root = emptyScope();
  for (const item of text.split(",").map((one) => one.trim())) {
    const excludes = item.startsWith("-");
    const path = (excludes ? item.slice(1) : item).split(".");
    const last = path.pop() ?? "";
    const counted = /^_count\((\w+)\)$/.exec(last)?.[1];
    if (last === "" || (excludes && (last === "*" || counted !== undefined)))
      throw new Refused(`fields: ${item}`);
    let scope = root;
    for (const name of path) {
      if (!excludes) scope.hasPositivePath = true;
      const inner = scope.inner.get(name) ?? emptyScope();
      scope.inner.set(name, inner);
      scope = inner;
    }
    if (counted !== undefined) scope.counts.add(counted);
    else if (last === "*") scope.star = true;
    else (excludes ? scope.minus : scope.names).add(last);
  }
  return root;
}

export function shape(
  world: World,
  table: Table,
  row: Row,
  scope: Scope,
  deep: JsonObject,
  isRelated = false,
): JsonObject {
  const shown: Record<string, Json> = {};
  for (const name of columnsShown(table, scope, isRelated)) shown[name] = valueIn(row, name);
  for (const [name, inner] of relationsShown(world, table, scope)) {
    if (!Object.hasOwn(deep, name)) shown[name] = load(world, endFor(world, table, name), row, inner, {});
  }
  const numbers = [...scope.counts].map((name) => [name, countedEnd(world, table, name).related(row).length]);
  if (numbers.length > 0) shown._count = Object.fromEntries(numbers);
  for (const [name, entry] of Object.entries(deep)) {
    if (!isObject(entry)) throw new Refused(`deep.${name} takes an object`);
    const said = scope.inner.get(name) ?? (isNamed(scope, name) ? emptyScope() : everything());
    const inner = fieldsOf(entry) ?? said;
    shown[name] = load(world, endFor(world, table, name), row, inner, entry);
  }
  return shown;
}

/** Refuses what no row would bring to light. */
export function checkShape(world: World, table: Table, scope: Scope, deep: JsonObject): void {
  for (const name of [...scope.names, ...scope.minus]) {
    if (columnOf(table, name) === undefined) endFor(world, table, name);
  }
  for (const name of scope.counts) countedEnd(world, table, name);
  for (const [name, inner] of scope.inner) checkShape(world, endFor(world, table, name).table, inner, {});
  for (const [name, entry] of Object.entries(deep)) {
    const end = endFor(world, table, name);
    if (!isObject(entry)) throw new Refused(`deep.${name} takes an object`);
    const options = optionsOf(entry);
    checkFilter(world, end.table, options.filter);
    checkShape(world, end.table, fieldsOf(entry) ?? everything(), options.deep);
    pageOf(sorted(world, end.table, [], options.sort), options.limit, options.page);
    const isPaged = ["sort", "limit", "page"].some((option) => Object.hasOwn(entry, option));
    if (end.kind === "one" && isPaged) throw new Refused(`deep.${name} is to-one`);
  }
}

function fieldsOf({ fields }: JsonObject): Scope | undefined {
  return fields === undefined ? undefined : parseFields(String(fields));
}

interface Options {
  readonly filter: JsonObject;
  readonly deep: JsonObject;
  readonly sort?: Json | undefined;
  readonly limit?: Json | undefined;
  readonly page?: Json | undefined;
}

function optionsOf(entry: JsonObject): Options {
  const { filter = {}, deep = {}, sort, limit, page, fields: _, ...others } = entry;
  if (Object.keys(others).length > 0) throw new Refused(`deep: ${Object.keys(others)}`);
  if (!isObject(filter) || !isObject(deep)) throw new Refused("deep: filter and deep take objects");
  return { filter, deep, sort, limit, page };
}

function isNamed(scope: Scope, name: string): boolean {
  return scope.names.has(name) && scope.minus.size === 0;
}

/** Exclusions show all but them; else `*`, or the lack of any positive name, shows everything. */
function showsEverything(scope: Scope): boolean {
  const hasPositive = scope.names.size + scope.counts.size > 0 || scope.hasPositivePath;
  return scope.minus.size > 0 || scope.star || !hasPositive;
}

function isEmpty(scope: Scope): boolean {
  const { star, names, minus, counts, inner } = scope;
  return !star && names.size + minus.size + counts.size + inner.size === 0;
}

function columnsShown(table: Table, scope: Scope, isRelated: boolean): Set<string> {
  const shown = new Set<string>();
  if (isRelated) shown.add("id");
  if (isRelated && isEmpty(scope)) return shown;
  for (const { name, hidden } of columnsOf(table)) {
    if (isNamed(scope, name)) shown.add(name);
    if (showsEverything(scope) && !scope.minus.has(name) && hidden !== true) shown.add(name);
  }
  return shown;
}

function relationsShown(world: World, table: Table, scope: Scope): Map<string, Scope> {
  const shown = new Map<string, Scope>();
  for (const { kind, name } of isEmpty(scope) ? [] : endsOf(world, table)) {
    const isShown =
      scope.inner.has(name) || isNamed(scope, name) || (kind === "one" && showsEverything(scope));
    if (isShown && !scope.minus.has(name)) shown.set(name, scope.inner.get(name) ?? emptyScope());
  }
  return shown;
}

function endFor(world: World, table: Table, name: string): End {
  const end = endOf(world, table, name);
  if (end === undefined) throw new Refused(`unknown field ${name}`);
  return end;
}

function countedEnd(world: World, table: Table, name: string): End {
  const end = endFor(world, table, name);
  if (end.kind === "one") throw new Refused(`fields: ${name} has at most one`);
  return end;
}

/** The related records of a row as they are shown; `entry` is what `deep` says of them. */
function load(world: World, end: End, row: Row, scope: Scope, entry: JsonObject): Json {
  const { filter, deep, sort, limit, page } = optionsOf(entry);
  const found = end.related(row).filter((one) => isTrue(world, end.table, filter, one));
  const show = (one: Row) => shape(world, end.table, one, scope, deep, true);
  if (end.kind === "one") return found[0] === undefined ? null : show(found[0]);
  return pageOf(sorted(world, end.table, found, sort), limit, page).map(show);
}
