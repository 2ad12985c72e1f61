// Makes a difference smaller: first the request alone, then columns, records and tables, then the request again.
import type { Api } from "../support/api.js";
import type { Blueprint, Request, RowBlueprint, TableBlueprint } from "./blueprint.js";
import { BuildRefused, type Built, build } from "./build.js";
import { type Difference, differenceOf } from "./difference.js";
import { type Column, isObject, type Json, type JsonObject } from "./model.js";

export interface Shrunk {
  readonly blueprint: Blueprint;
  readonly request: Request;
  readonly difference: Difference;
}

const MOST_REQUESTS = 1500;
const MOST_BUILDS = 120;
const MOST_MILLISECONDS = 90_000;
let builds = 0;

/** Names a set of tables that nobody made before. */
export function freshPrefix(): string {
  builds += 1;
  return `o${builds}`;
}

export async function shrink(api: Api, built: Built, found: Shrunk): Promise<Shrunk> {
  const deadline = performance.now() + MOST_MILLISECONDS;
  const first = await shrinkRequest(api, built, found, deadline);
  const second = await shrinkData(api, first, deadline);
  const rebuilt = await build(api, second.blueprint, freshPrefix());
  return shrinkRequest(api, rebuilt, second, deadline);
}

/** The same kind of difference: the same status, so that a wrong row does not turn into a refusal. */
function isLike(before: Difference, now: Difference | undefined): now is Difference {
  return now !== undefined && now.status === before.status;
}

async function shrinkRequest(api: Api, built: Built, found: Shrunk, deadline: number): Promise<Shrunk> {
  let best = found;
  let left = MOST_REQUESTS;
  for (let isSmaller = true; isSmaller && left > 0; ) {
    isSmaller = false;
    for (const request of smallerRequests(best.request)) {
      left -= 1;
      if (left < 0 || performance.now() > deadline) return best;
      const difference = await differenceOf(api, built, request);
      if (!isLike(best.difference, difference)) continue;
      best = { ...best, request, difference };
      isSmaller = true;
      break;
    }
  }
  return best;
}

function* smallerRequests(request: Request): Generator<Request> {
  if (request.transport !== "get") yield { ...request, transport: "get" };
  for (const parameters of smaller(request.parameters as Json)) {
    if (isObject(parameters)) yield { ...request, parameters };
  }
}

/** One step smaller: without a member, a member in place of the whole, or with a member made smaller. */
function* smaller(value: Json): Generator<Json> {
  if (typeof value === "string") yield* smallerText(value);
  if (typeof value === "number" && Number.isInteger(value) && value > 1) yield value - 1;
  if (Array.isArray(value)) {
    for (const at of value.keys()) yield value.toSpliced(at, 1);
    for (const [at, one] of value.entries()) {
      for (const less of smaller(one)) yield value.with(at, less);
    }
    return;
  }
  if (!isObject(value) || "$id" in value || "$stamp" in value) return;
  for (const key of Object.keys(value)) {
    const { [key]: _, ...rest } = value;
    yield rest;
  }
  for (const inner of Object.values(value)) {
    if (isObject(inner)) yield inner;
    if (Array.isArray(inner)) yield* inner.filter(isObject);
  }
  for (const [key, inner] of Object.entries(value)) {
    for (const less of smaller(inner)) yield { ...value, [key]: less };
  }
}

function* smallerText(text: string): Generator<string> {
  const items = text.split(",");
  for (const at of items.length > 1 ? items.keys() : []) yield items.toSpliced(at, 1).join(",");
  for (const [at, item] of items.entries()) {
    if (item.trim().startsWith("-")) yield items.with(at, item.trim().slice(1)).join(",");
  }
  const characters = [...text];
  if (characters.length <= 12) {
    for (const at of characters.keys()) yield characters.toSpliced(at, 1).join("");
  }
}

async function shrinkData(api: Api, found: Shrunk, deadline: number): Promise<Shrunk> {
  let best = found;
  let left = MOST_BUILDS;
  for (let isSmaller = true; isSmaller && left > 0; ) {
    isSmaller = false;
    for (const candidate of smallerData(best)) {
      left -= 1;
      if (left < 0 || performance.now() > deadline) return best;
      const difference = await differenceOfData(api, candidate.blueprint, candidate.request);
      if (!isLike(best.difference, difference)) continue;
      best = { ...candidate, difference };
      isSmaller = true;
      break;
    }
  }
  return best;
}

async function differenceOfData(
  api: Api,
  blueprint: Blueprint,
  request: Request,
): Promise<Difference | undefined> {
  try {
    return await differenceOf(api, await build(api, blueprint, freshPrefix()), request);
  } catch (error) {
    if (error instanceof BuildRefused) return undefined;
    throw error;
  }
}

interface Candidate {
  readonly blueprint: Blueprint;
  readonly request: Request;
}

function* smallerData(found: Candidate): Generator<Candidate> {
  const { blueprint, request } = found;
  const text = JSON.stringify(request);
  const withTable = (table: TableBlueprint, change: Partial<TableBlueprint>): Candidate => ({
    request,
    blueprint: { tables: blueprint.tables.map((one) => (one === table ? { ...table, ...change } : one)) },
  });
  for (const { name } of blueprint.tables) {
    const isUsed = blueprint.tables.some((one) => one.relations.some(({ table }) => table === name));
    if (isUsed || request.table === name) continue;
    yield { request, blueprint: { tables: blueprint.tables.filter((one) => one.name !== name) } };
  }
  for (const share of [1, 2, 4, 8, Number.POSITIVE_INFINITY]) {
    for (const table of blueprint.tables) {
      const size = Math.max(1, Math.ceil(table.rows.length / share));
      for (let from = 0; from < table.rows.length; from += size) {
        const less = withoutRows(found, table.name, (at) => at >= from && at < from + size);
        if (less !== undefined) yield less;
      }
    }
  }
  for (const table of blueprint.tables) {
    if ((table.indexes ?? []).length > 0) yield withTable(table, { indexes: [] });
    const columns = table.columns.filter(({ name }) => text.includes(name));
    if (columns.length < table.columns.length)
      yield withTable(table, { columns, rows: rowsWith(table, columns), indexes: [] });
    for (const relation of table.relations) {
      if (text.includes(relation.name)) continue;
      yield withTable(table, { relations: table.relations.filter((one) => one !== relation) });
    }
    for (const [at, row] of table.rows.entries()) {
      for (const name of [...Object.keys(row.values), ...Object.keys(row.erased)]) {
        const { [name]: _, ...values } = row.values;
        const { [name]: __, ...erased } = row.erased;
        yield withTable(table, { rows: table.rows.with(at, { ...row, values, erased }) });
      }
    }
  }
}

function rowsWith({ rows }: TableBlueprint, columns: readonly Column[]): readonly RowBlueprint[] {
  const kept = (values: JsonObject) =>
    Object.fromEntries(
      Object.entries(values).filter(([name]) => columns.some((column) => column.name === name)),
    );
  return rows.map((row) => ({ ...row, values: kept(row.values), erased: kept(row.erased) }));
}

/**
 * Takes rows out, and those that can't be without them, and moves all positions behind them; undefined when the request
 * points at one of them.
 */
function withoutRows(
  { blueprint, request }: Candidate,
  tableName: string,
  isGone: (at: number) => boolean,
): Candidate | undefined {
  const places = new Map<string, (number | undefined)[]>();
  for (const { name, rows, relations } of blueprint.tables) {
    let next = 0;
    const moved = rows.map(({ links }, at) => {
      const isLost = relations.some(
        (relation) =>
          relation.required === true &&
          links[relation.name]?.some((target) => places.get(relation.table)?.[target] === undefined),
      );
      if (isLost || (name === tableName && isGone(at))) return undefined;
      next += 1;
      return next - 1;
    });
    places.set(name, moved);
  }
  const tables = blueprint.tables.map((table) => ({
    ...table,
    rows: table.rows
      .filter((_, at) => places.get(table.name)?.[at] !== undefined)
      .map((row) => {
        const links = table.relations.map(({ name, table: target }) => {
          const positions = (row.links[name] ?? []).flatMap((at) => places.get(target)?.[at] ?? []);
          return [name, positions] as const;
        });
        return { ...row, links: Object.fromEntries(links) };
      }),
  }));
  const parameters = moveMarks(request.parameters as Json, places);
  if (!isObject(parameters)) return undefined;
  return { blueprint: { tables }, request: { ...request, parameters } };
}

function moveMarks(
  value: Json,
  places: ReadonlyMap<string, readonly (number | undefined)[]>,
): Json | undefined {
  if (Array.isArray(value)) {
    const members = value.map((one: Json) => moveMarks(one, places));
    return members.every((one) => one !== undefined) ? members : undefined;
  }
  if (!isObject(value)) return value;
  const entries: [string, Json][] = [];
  for (const [key, one] of Object.entries(value)) {
    const isMark = (key === "$id" || key === "$stamp") && Array.isArray(one);
    const at = isMark ? Number(one[1]) : -1;
    const place = at === -1 ? -1 : places.get(String(isMark ? one[0] : ""))?.[at];
    if (place === undefined) return undefined;
    const inner = isMark ? one.with(1, place) : moveMarks(one, places);
    if (inner === undefined) return undefined;
    entries.push([key, inner]);
  }
  return Object.fromEntries(entries);
}
