// `fields` text -> a tree of scopes. Knows the grammar of 4.2, but no tables.
import type { Json } from "@portico/shared/json";
import { getOrMake } from "../../get-or-make.js";
import { LIMITS } from "../limits.js";
import { type Path, refuse } from "../refuse.js";
import { textsOf } from "./texts.js";

/** The names given for one table: the root, or one relation. */
export interface FieldScope {
  readonly names: Set<string>;
  readonly excluded: Set<string>;
  /** To-many relations for which the number of records is asked. */
  readonly counts: Set<string>;
  /** `*` was given. */
  star: boolean;
  /** Relations with dotted names of their own. */
  readonly nested: Map<string, FieldScope>;
  /** Some name without `-` was given for this scope, dotted ones included. */
  positive: boolean;
}

/** A scope about which nothing has been said yet. */
export function emptyScope(): FieldScope {
  return {
    names: new Set(),
    excluded: new Set(),
    counts: new Set(),
    star: false,
    nested: new Map(),
    positive: false,
  };
}

const NAME = /^-?[A-Za-z_]\w*(?:\.\w+)*(?:\.\*)?$/;
const COUNT = /^((?:[A-Za-z_]\w*\.)*)_count\((\w+)\)$/;
/** The name of something that is written like a function. */
const CALL = /(?:^-?|\.)(\w+)\(/;

/** How many relations lead to the place where names are given, and how many may lead to what they name. */
export interface Depth {
  readonly depth: number;
  readonly maxDepth: number;
}

const ANY_DEPTH: Depth = { depth: 0, maxDepth: Number.POSITIVE_INFINITY };

/**
 * Parses `a,b,rel.c,-rel.d,_count(rel)`. A list of names is accepted as well.
 * @throws AppError 400 for empty names and anything outside the grammar
 */
export function parseFields(given: Json, path: Path, from: Depth = ANY_DEPTH): FieldScope {
  const names = textsOf(given, "names", path);
  if (names.length === 0) throw refuse(path, "names nothing; leave it out for every column");
  if (names.length > LIMITS.fields) throw refuse(path, `names more than ${LIMITS.fields} fields`);
  const root = emptyScope();
  for (const name of names) addName(root, name.trim(), path, from);
  return root;
}

function addName(root: FieldScope, name: string, path: Path, { depth, maxDepth }: Depth): void {
  if (name === "*") {
    root.star = true;
    root.positive = true;
    return;
  }
  if (name === "-*") throw refuse(path, "-* would leave nothing");
  const count = COUNT.exec(name);
  if (count !== null) {
    addCount(root, count, path, { depth, maxDepth });
    return;
  }
  if (!NAME.test(name)) throw refuse(path, grammarProblem(name));
  const excluded = name.startsWith("-");
  const segments = (excluded ? name.slice(1) : name).split(".");
  const last = segments.pop() ?? "";
  requireDepth(segments, path, { depth, maxDepth });
  if (excluded && last === "*")
    throw refuse(path, `"${name.slice(0, 64)}" would leave nothing; name the relation itself`);
  const scope = descend(root, segments, !excluded);
  if (excluded) scope.excluded.add(last);
  else {
    scope.positive = true;
    if (last === "*") scope.star = true;
    else scope.names.add(last);
  }
}

/**
 * `rel._count(children)`: like a name, but of something that is not shown by default, so no `*` and no `-f` includes it.
 */
function addCount(
  root: FieldScope,
  [, path = "", relation = ""]: RegExpExecArray,
  at: Path,
  depth: Depth,
): void {
  const segments = path.split(".").slice(0, -1);
  requireDepth([...segments, relation], at, depth);
  const scope = descend(root, segments, true);
  scope.positive = true;
  scope.counts.add(relation);
}

function requireDepth(relations: readonly string[], path: Path, { depth, maxDepth }: Depth): void {
  const tooDeep = relations[maxDepth - depth];
  if (tooDeep !== undefined)
    throw refuse(path, `"${tooDeep.slice(0, 64)}" lies deeper than ${maxDepth} relations`);
}

function grammarProblem(name: string): string {
  if (name === "") return "has an empty name";
  const given = `"${name.slice(0, 64)}"`;
  const called = CALL.exec(name)?.[1];
  if (called === undefined) return `${given} is not a field name`;
  if (called !== "_count")
    return `${given} is not a field name; of functions only _count(relation) is taken here`;
  if (name.startsWith("-")) return `${given} can't be left out: a count is shown only where it is named`;
  return `${given} is not a count; write _count(relation) or relation._count(relation)`;
}

function descend(root: FieldScope, segments: readonly string[], positive: boolean): FieldScope {
  let scope = root;
  for (const segment of segments) {
    if (positive) scope.positive = true;
    scope = getOrMake(scope.nested, segment, emptyScope);
  }
  return scope;
}
