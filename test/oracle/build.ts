// Makes the tables and records of a blueprint over HTTP, and says what the oracle must know of them.
import type { Api } from "../support/api.js";
import { type Blueprint, type RowBlueprint, resolve, type TableBlueprint } from "./blueprint.js";
import type { Parameters } from "./evaluate.js";
import { inParallel } from "./in-parallel.js";
import type { Id, Json, Row, World } from "./model.js";

export interface Built {
  readonly world: World;
  /** The name in the database of a blueprint's table. */
  readonly nameOf: (table: string) => string;
  /** Parameters with ids and timestamps in place of the marks; undefined when a marked row is not there. */
  parametersOf(parameters: Parameters): Parameters | undefined;
}

const NO_ID = {
  objectId: "ffffffffffffffffffffffff",
  uuid: "0190163d-0000-7000-8000-000000000000",
  int: 1_000_000,
} as const;

export async function build(api: Api, blueprint: Blueprint, prefix: string): Promise<Built> {
  const nameOf = (table: string) => prefix + table;
  const ids = new Map<string, readonly Id[]>();
  for (const table of blueprint.tables) {
    await makeTable(api, table, nameOf);
    ids.set(table.name, await makeRows(api, table, nameOf, ids));
  }
  for (const table of blueprint.tables) await changeRows(api, table, nameOf, ids);
  const all: Record<string, readonly Row[]> = {};
  for (const table of blueprint.tables) all[table.name] = await rowsOf(api, table, nameOf, ids);
  const rows: Record<string, readonly Row[]> = {};
  for (const table of blueprint.tables)
    rows[table.name] = await deleteRows(api, table, nameOf, all[table.name] ?? []);
  const { tables } = blueprint;
  return {
    world: { tables, rows },
    nameOf,
    parametersOf: (parameters) => withoutMarks({ tables, rows: all }, parameters),
  };
}

/** Deletes what is to be deleted, unless living records must link to it. @returns the others */
async function deleteRows(
  api: Api,
  table: TableBlueprint,
  nameOf: (table: string) => string,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  if (table.softDelete !== true) return rows;
  const gone = new Set<Id>();
  await inParallel([...rows.entries()], async ([at, { id }]) => {
    if (table.rows[at]?.deleted !== true) return;
    const answer = await api.delete(`/${nameOf(table.name)}/${id}`);
    if (answer.status !== 409) expectStatus(200, answer, id);
    if (answer.status === 200) gone.add(id);
  });
  return rows.filter(({ id }) => !gone.has(id));
}

async function makeTable(
  api: Api,
  { name, idType, columns, relations, indexes = [], softDelete = false }: TableBlueprint,
  nameOf: (table: string) => string,
): Promise<void> {
  const definition = {
    name: nameOf(name),
    idType,
    indexes,
    softDelete,
    columns: columns.map(({ values, ...column }) => ({
      ...column,
      ...(values ? { options: { values } } : {}),
    })),
    relations: relations.map(({ written: _, table, ...relation }) => ({ ...relation, table: nameOf(table) })),
  };
  expectStatus(201, await api.post("/svc_table", definition), definition);
}

async function makeRows(
  api: Api,
  table: TableBlueprint,
  nameOf: (table: string) => string,
  ids: ReadonlyMap<string, readonly Id[]>,
): Promise<readonly Id[]> {
  if (table.rows.length === 0) return [];
  const bodies = table.rows.map(({ values, erased, links }) => {
    const body: Record<string, Json> = { ...values, ...erased };
    for (const relation of table.relations) {
      const targets = idsAt(ids, relation.table, links[relation.name]);
      if (relation.written !== "create" || targets.length === 0) continue;
      body[relation.name] = relation.type === "many-to-many" ? targets : (targets[0] ?? null);
    }
    return body;
  });
  const answer = await api.post(`/${nameOf(table.name)}`, bodies, { fields: "id" });
  expectStatus(201, answer, bodies);
  return answer.body.data.map((one: { id: Id }) => one.id);
}

/** What is written after the records are there: links in other ways, and values that become null. */
async function changeRows(
  api: Api,
  table: TableBlueprint,
  nameOf: (table: string) => string,
  ids: ReadonlyMap<string, readonly Id[]>,
): Promise<void> {
  await inParallel([...table.rows.entries()], async ([at, { links, erased }]) => {
    const change: Record<string, Json> = {};
    for (const name of Object.keys(erased)) change[name] = null;
    for (const relation of table.relations) {
      const targets = idsAt(ids, relation.table, links[relation.name]);
      if (relation.written !== "patch" || targets.length === 0) continue;
      change[relation.name] = relation.type === "many-to-many" ? targets : (targets[0] ?? null);
    }
    await patch(api, nameOf(table.name), ids.get(table.name)?.[at], change);
  });
  for (const relation of table.relations) {
    const { inverse } = relation;
    if (relation.written !== "inverse") continue;
    await inParallel([...(ids.get(relation.table) ?? []).entries()], async ([at, target]) => {
      const owners = table.rows.flatMap(({ links }, row) =>
        links[relation.name]?.includes(at) ? [row] : [],
      );
      const members = idsAt(ids, table.name, owners);
      if (members.length === 0 || inverse === undefined) return;
      const change = { [inverse]: relation.type === "one-to-one" ? (members[0] ?? null) : members };
      await patch(api, nameOf(relation.table), target, change);
    });
  }
}

async function patch(
  api: Api,
  table: string,
  id: Id | undefined,
  change: Readonly<Record<string, Json>>,
): Promise<void> {
  if (Object.keys(change).length === 0) return;
  expectStatus(200, await api.patch(`/${table}/${id}`, change, { fields: "id" }), change);
}

async function rowsOf(
  api: Api,
  table: TableBlueprint,
  nameOf: (table: string) => string,
  ids: ReadonlyMap<string, readonly Id[]>,
): Promise<readonly Row[]> {
  const answer = await api.get(`/${nameOf(table.name)}`, { fields: "id,createdAt,updatedAt", limit: "0" });
  expectStatus(200, answer, table.name);
  const stamps = new Map<Id, Pick<Row, "id" | "createdAt" | "updatedAt">>(
    answer.body.data.map((one: Row) => [one.id, one]),
  );
  return table.rows.map(({ values, links }: RowBlueprint, at) => {
    const found = stamps.get(ids.get(table.name)?.[at] ?? "");
    if (found === undefined) throw new Error(`a record of ${table.name} is gone`);
    const ownLinks = table.relations.map(
      ({ name, table: target }) => [name, idsAt(ids, target, links[name])] as const,
    );
    return { ...found, values, links: Object.fromEntries(ownLinks) };
  });
}

function idsAt(
  ids: ReadonlyMap<string, readonly Id[]>,
  table: string,
  positions: readonly number[] = [],
): readonly Id[] {
  return positions.flatMap((at) => ids.get(table)?.[at] ?? []);
}

class MissingRow extends Error {}

function withoutMarks(world: World, parameters: Parameters): Parameters | undefined {
  try {
    return resolve(parameters as Json, (mark, [table, at, column]) => {
      const { idType } = world.tables.find(({ name }) => name === table) ?? {};
      if (idType === undefined) throw new MissingRow();
      if (at === -1) return mark === "$id" ? NO_ID[idType] : "2020-01-01T00:00:00.000Z";
      const row = world.rows[String(table)]?.[Number(at)];
      if (row === undefined) throw new MissingRow();
      return mark === "$id" ? row.id : column === "createdAt" ? row.createdAt : row.updatedAt;
    }) as Parameters;
  } catch (error) {
    if (error instanceof MissingRow) return undefined;
    throw error;
  }
}

function expectStatus(
  status: number,
  answer: { status: number; body: { message: unknown } },
  sent: unknown,
): void {
  if (answer.status === status) return;
  const reason = JSON.stringify(answer.body.message);
  throw new BuildRefused(`answered ${answer.status} ${reason} to ${JSON.stringify(sent)}`);
}

/** The service did not take a table or a record that the contract allows. */
export class BuildRefused extends Error {}
