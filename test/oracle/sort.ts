// Contract 4.3 and 4.4: the order of rows, and one page of them.
import {
  type Column,
  columnOf,
  endOf,
  type Json,
  Refused,
  type Row,
  type Table,
  valueIn,
  type World,
} from "./model.js";
import { order } from "./values.js";

interface Key {
  readonly descending: boolean;
  readonly type: Column["type"];
  /** Rows without a value come last both ways, as `_max` and `_min` want it. */
  readonly emptyLast: boolean;
  value(row: Row): Json;
}

export function sorted(
  world: World,
  table: Table,
  rows: readonly Row[],
  sort: Json | undefined,
): readonly Row[] {
  const texts = sort === undefined ? [] : String(sort).split(",");
  if (texts.length > 8) throw new Refused("sort: too many keys");
  const keys = [...texts, "id"].map((text) => keyOf(world, table, text.trim()));
  return [...rows].sort((a, b) => {
    for (const key of keys) {
      const difference = compareBy(key, key.value(a), key.value(b));
      if (difference !== 0) return difference;
    }
    return 0;
  });
}

function compareBy({ descending, type, emptyLast }: Key, a: Json, b: Json): number {
  const direction = descending ? -1 : 1;
  if (a === null && b === null) return 0;
  if (a === null) return emptyLast ? 1 : -direction;
  if (b === null) return emptyLast ? -1 : direction;
  return direction * order(type, a, b);
}

function keyOf(world: World, table: Table, text: string): Key {
  const descending = text.startsWith("-");
  const expression = descending ? text.slice(1) : text;
  const call = /^_(count|max|min)\((\w+)(?:\.(\w+))?\)$/.exec(expression);
  if (call === null) return { descending, emptyLast: false, ...chain(world, table, expression.split(".")) };
  const [, operation, relation = "", field] = call;
  const end = endOf(world, table, relation);
  if (end?.kind !== "many" || (operation === "count") !== (field === undefined)) {
    throw new Refused(`sort: ${text}`);
  }
  if (field === undefined) {
    return { descending, type: "int", emptyLast: false, value: (row) => end.related(row).length };
  }
  const { type } = sortable(end.table, field);
  const value = (row: Row): Json => {
    const values = end
      .related(row)
      .map((one) => valueIn(one, field))
      .filter((one) => one !== null)
      .sort((a, b) => order(type, a, b));
    return values.at(operation === "max" ? -1 : 0) ?? null;
  };
  return { descending, type, emptyLast: true, value };
}

function chain(
  world: World,
  table: Table,
  path: readonly string[],
): { type: Column["type"]; value(row: Row): Json } {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    return { type: sortable(table, name).type, value: (row) => valueIn(row, name) };
  }
  const end = endOf(world, table, name);
  if (end?.kind !== "one") throw new Refused(`sort: ${path.join(".")}`);
  const inner = chain(world, end.table, rest);
  return {
    type: inner.type,
    value: (row) => {
      const [related] = end.related(row);
      return related === undefined ? null : inner.value(related);
    },
  };
}

function sortable(table: Table, name: string): Column {
  const column = columnOf(table, name);
  if (column === undefined || column.type === "json" || column.type === "enumList") {
    throw new Refused(`sort: ${name}`);
  }
  return column;
}

export function pageOf<Item>(
  items: readonly Item[],
  limit: Json | undefined,
  page: Json | undefined,
): readonly Item[] {
  const size = limit === undefined ? 10 : limit;
  const number = page === undefined ? 1 : page;
  if (!isWhole(size, 0) || !isWhole(number, 1)) throw new Refused("limit or page");
  if (size === 0) return number === 1 ? items : [];
  return items.slice((number - 1) * size, number * size);
}

function isWhole(value: Json, least: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least;
}
