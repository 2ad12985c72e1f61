// Random list calls for given tables and records; operands mostly come from the data, so that filters hit.
import type fc from "fast-check";
import { aggregatesOf } from "./aggregate.js";
import type { Blueprint, Request, TableBlueprint } from "./blueprint.js";
import { type Draw, drawn } from "./draw.js";
import { operatorsOf } from "./filter.js";
import { valueOfType } from "./generate-data.js";
import { type Column, columnsOf, type Json, type JsonObject } from "./model.js";

const MOST_HOPS = 7;
const MOST_LOGIC = 10;
const MOST_COMPARISONS = 100;
/** Ids make the text longer once they are known; the limit is 8,192. */
const MOST_CHARACTERS = 4500;

export function anyRequest(blueprint: Blueprint): fc.Arbitrary<Request> {
  return drawn((draw) => new Requests(draw, blueprint).request());
}

/** One side of a relation, as far as a generator needs it. */
interface Side {
  readonly name: string;
  readonly isMany: boolean;
  readonly table: TableBlueprint;
}

/** What may still be spent on a filter. */
interface Budget {
  logic: number;
  hops: number;
  /** How wide the filter grows here. */
  width: number;
}

class Requests {
  readonly #draw: Draw;
  readonly #tables: readonly TableBlueprint[];
  #comparisons = MOST_COMPARISONS;

  constructor(draw: Draw, blueprint: Blueprint) {
    this.#draw = draw;
    this.#tables = blueprint.tables;
  }

  request(): Request {
    const draw = this.#draw;
    const table = draw.pick(this.#tables);
    return {
      table: table.name,
      transport: draw.weighted({ get: 60, brackets: 12, query: 16, override: 12 }),
      parameters: {
        ...(draw.chance(75) ? { filter: this.#wholeFilter(table) } : {}),
        ...(draw.chance(55) ? { fields: this.#fields(table) } : {}),
        ...(draw.chance(60) ? { sort: this.#sort(table) } : {}),
        ...this.#page(),
        ...(draw.chance(35)
          ? { meta: draw.pick(["*", "totalCount", "filterCount", "totalCount,filterCount"]) }
          : {}),
        ...(draw.chance(35) ? { deep: this.#deep(table, draw.int(1, 3)) } : {}),
        ...(draw.chance(20) ? { aggregate: this.#aggregate(table) } : {}),
      },
    };
  }

  #sides(table: TableBlueprint): Side[] {
    const own = table.relations.map(({ name, type, table: target }) => ({
      name,
      isMany: type === "many-to-many",
      table: this.#table(target),
    }));
    const inverse = this.#tables.flatMap((owner) =>
      owner.relations.flatMap((relation) =>
        relation.table === table.name && relation.inverse !== undefined
          ? [{ name: relation.inverse, isMany: relation.type !== "one-to-one", table: owner }]
          : [],
      ),
    );
    return [...own, ...inverse];
  }

  #table(name: string): TableBlueprint {
    const table = this.#tables.find((one) => one.name === name);
    if (table === undefined) throw new Error(`no table ${name}`);
    return table;
  }

  // Filters

  #wholeFilter(table: TableBlueprint): JsonObject {
    const kind = this.#draw.weighted({ plain: 60, opposite: 15, either: 25 });
    const first = this.#anyFilter(table);
    const filter =
      kind === "opposite"
        ? { _not: first }
        : kind === "either"
          ? { _or: [first, this.#filter(table, { logic: 0, hops: 1, width: 1 })] }
          : first;
    return JSON.stringify(filter).length > MOST_CHARACTERS ? {} : filter;
  }

  #anyFilter(table: TableBlueprint): JsonObject {
    const shape = this.#draw.weighted({ small: 50, medium: 38, tall: 6, far: 6 });
    if (shape === "small") return this.#filter(table, { logic: 2, hops: 2, width: 2 });
    if (shape === "medium") return this.#filter(table, { logic: 4, hops: 3, width: 4 });
    if (shape === "tall") return this.#tall(table, MOST_LOGIC - 1);
    return this.#far(table, MOST_HOPS);
  }

  /** Logic nested to the limit. */
  #tall(table: TableBlueprint, left: number): JsonObject {
    const draw = this.#draw;
    if (left === 0) return this.#filter(table, { logic: 0, hops: 1, width: 1 });
    const inner = this.#tall(table, left - 1);
    const beside = () => this.#filter(table, { logic: 0, hops: 1, width: 1 });
    const operator = draw.pick(["_and", "_or", "_not"]);
    if (operator === "_not") return { _not: inner };
    return { [operator]: draw.chance(30) ? [beside(), inner] : [inner] };
  }

  /** Relations followed to the limit. */
  #far(table: TableBlueprint, left: number): JsonObject {
    const sides = this.#sides(table);
    if (left === 0 || sides.length === 0) return this.#filter(table, { logic: 1, hops: 0, width: 1 });
    const { name, table: target } = this.#draw.pick(sides);
    const filter = { [name]: this.#far(target, left - 1) };
    return this.#draw.chance(8) && left > 2 ? { _not: filter } : filter;
  }

  #filter(table: TableBlueprint, budget: Budget): JsonObject {
    const draw = this.#draw;
    const filter: Record<string, Json> = {};
    for (let count = draw.pick([1, 1, 1, 1, 2, budget.width]); count > 0; count -= 1) {
      Object.assign(filter, this.#part(table, budget));
    }
    return filter;
  }

  #part(table: TableBlueprint, budget: Budget): JsonObject {
    const draw = this.#draw;
    const sides = this.#sides(table);
    const narrower = { ...budget, logic: budget.logic - 1, width: Math.max(1, budget.width - 1) };
    const kind = draw.weighted({
      column: 45,
      relation: budget.hops > 0 && sides.length > 0 ? 32 : 0,
      logic: budget.logic > 0 ? 23 : 0,
    });
    if (kind === "column" || this.#comparisons < 6) {
      const column = draw.pick(columnsOf(table));
      return { [column.name]: this.#columnFilter(table, column) };
    }
    if (kind === "relation") {
      const side = draw.pick(sides);
      return {
        [side.name]: this.#relationFilter(side, { ...narrower, logic: budget.logic, hops: budget.hops - 1 }),
      };
    }
    if (draw.chance(40)) return { _not: this.#filter(table, narrower) };
    const members = draw.chance(4) ? [] : draw.times(1, 3, () => this.#filter(table, narrower));
    return { [draw.pick(["_and", "_or", "_or"])]: members };
  }

  #relationFilter(side: Side, budget: Budget): Json {
    const draw = this.#draw;
    const kind = draw.weighted({ inside: 65, direct: 22, null: 8, empty: 2, both: 5 });
    if (kind === "inside") return this.#filter(side.table, budget);
    if (kind === "null") {
      const test = { [draw.pick(["_is_null", "_is_not_null"])]: draw.chance(50) };
      return draw.pick<Json>([null, { _eq: null }, { _neq: null }, test, test]);
    }
    if (kind === "empty") return {};
    const id = this.#id(side.table);
    if (kind === "direct" && draw.chance(25)) return id;
    const direct = this.#idOperators(side.table);
    return kind === "both" ? { ...this.#filter(side.table, budget), ...direct } : direct;
  }

  #idOperators(table: TableBlueprint): JsonObject {
    const operator = this.#draw.pick(["_eq", "_neq", "_in", "_in", "_not_in", "_nin"]);
    this.#comparisons -= 1;
    const isList = operator.includes("in");
    return { [operator]: isList ? this.#draw.times(0, 3, () => this.#id(table)) : this.#id(table) };
  }

  #id(table: TableBlueprint): Json {
    const isUnknown = table.rows.length === 0 || this.#draw.chance(8);
    return { $id: [table.name, isUnknown ? -1 : this.#draw.int(0, table.rows.length - 1)] };
  }

  #columnFilter(table: TableBlueprint, column: Column): Json {
    const draw = this.#draw;
    const operators = operatorsOf(column);
    if (draw.chance(14) || operators.length === 0) {
      this.#comparisons -= 1;
      const test = { [draw.pick(["_is_null", "_is_not_null"])]: draw.chance(50) };
      return draw.pick<Json>([null, { _eq: null }, { _neq: null }, test, test]);
    }
    if (draw.chance(12) && operators.includes("_eq")) {
      this.#comparisons -= 1;
      return this.#operand(table, column);
    }
    const filter: Record<string, Json> = {};
    for (const operator of draw.some(operators, 1, draw.pick([1, 1, 1, 1, 2, 3]))) {
      this.#comparisons -= 1;
      filter[operator] = this.#operandOf(table, column, operator);
    }
    return filter;
  }

  #operandOf(table: TableBlueprint, column: Column, operator: string): Json {
    const draw = this.#draw;
    if (operator === "_in" || operator === "_not_in" || operator === "_nin") {
      return draw.times(draw.chance(90) ? 1 : 0, 4, () => this.#operand(table, column));
    }
    if (operator === "_between") return [this.#operand(table, column), this.#operand(table, column)];
    const value = this.#operand(table, column);
    const isText = column.type === "string" || column.type === "text";
    return isText && typeof value === "string" && /contains|with/.test(operator) ? this.#piece(value) : value;
  }

  /** A piece of the text, sometimes in the other case. */
  #piece(text: string): string {
    const draw = this.#draw;
    const characters = [...text];
    const from = draw.chance(50) ? 0 : draw.int(0, characters.length);
    const to = draw.chance(50) ? characters.length : draw.int(from, characters.length);
    const piece = characters.slice(from, to).map((one) => {
      const other = draw.chance(50) ? one.toUpperCase() : one.toLowerCase();
      return draw.chance(40) && [...other].length === 1 ? other : one;
    });
    return piece.join("");
  }

  #operand(table: TableBlueprint, column: Column): Json {
    const draw = this.#draw;
    if (column.name === "id") return this.#id(table);
    if (column.name === "createdAt" || column.name === "updatedAt") {
      const row = table.rows.length === 0 ? -1 : draw.int(0, table.rows.length - 1);
      return { $stamp: [table.name, row, column.name] };
    }
    const known = draw.chance(80) ? this.#known(table, column) : undefined;
    const value = known ?? valueOfType(draw, column);
    if (column.type === "enumList") return draw.pick(column.values ?? []);
    return draw.chance(10) ? otherSpelling(draw, column, value) : value;
  }

  #known(table: TableBlueprint, { name }: Column): Json | undefined {
    if (table.rows.length === 0) return undefined;
    return this.#draw.pick(table.rows).values[name] ?? undefined;
  }

  // Fields

  #fields(table: TableBlueprint): string {
    const draw = this.#draw;
    const excluding = draw.weighted({ never: 65, sometimes: 20, always: 15 });
    const items = draw.times(1, draw.pick([1, 3, 6]), () => {
      const excludes = excluding === "always" || (excluding === "sometimes" && draw.chance(40));
      return (excludes ? "-" : "") + this.#path(table, draw.pick([0, 0, 0, 1, 1, 2, 3]), excludes);
    });
    if (draw.chance(12)) items.unshift("*");
    return items.join(draw.chance(15) ? " , " : ",");
  }

  #path(table: TableBlueprint, hops: number, excludes: boolean): string {
    const draw = this.#draw;
    const sides = this.#sides(table);
    if (hops > 0 && sides.length > 0) {
      const { name, table: target } = draw.pick(sides);
      return `${name}.${this.#path(target, hops - 1, excludes)}`;
    }
    const columns = columnsOf(table).filter(({ hidden }) => !(excludes && hidden));
    if (sides.length > 0 && draw.chance(25)) return draw.pick(sides).name;
    const toMany = sides.filter(({ isMany }) => isMany);
    if (!excludes && toMany.length > 0 && draw.chance(20)) return `_count(${draw.pick(toMany).name})`;
    if (!excludes && draw.chance(12)) return "*";
    return draw.pick(columns).name;
  }

  // Sort and page

  #sort(table: TableBlueprint): string {
    const draw = this.#draw;
    const most = draw.pick([1, 1, 2, 3, 8]);
    return draw
      .times(1, most, () => (draw.chance(50) ? "-" : "") + this.#sortKey(table, 3))
      .join(draw.chance(10) ? ", " : ",");
  }

  #sortKey(table: TableBlueprint, hops: number): string {
    const draw = this.#draw;
    const sides = this.#sides(table);
    const toOne = sides.filter(({ isMany }) => !isMany);
    const toMany = sides.filter(({ isMany }) => isMany);
    const kind = draw.weighted({
      column: 50,
      chain: hops > 0 && toOne.length > 0 ? 22 : 0,
      grouped: hops === 3 && toMany.length > 0 ? 28 : 0,
    });
    if (kind === "chain") {
      const { name, table: target } = draw.pick(toOne);
      return `${name}.${this.#sortKey(target, hops - 1)}`;
    }
    if (kind === "grouped") {
      const { name, table: target } = draw.pick(toMany);
      if (draw.chance(35)) return `_count(${name})`;
      return `${draw.pick(["_max", "_min"])}(${name}.${this.#sortable(target)})`;
    }
    return this.#sortable(table);
  }

  #sortable(table: TableBlueprint): string {
    const columns = columnsOf(table).filter(({ type }) => type !== "json" && type !== "enumList");
    return this.#draw.pick(columns).name;
  }

  #page(): { limit?: number; page?: number } {
    const draw = this.#draw;
    return {
      ...(draw.chance(65) ? { limit: draw.pick([0, 0, 1, 2, 3, 5, 10, 1000]) } : {}),
      ...(draw.chance(25) ? { page: draw.pick([1, 2, 2, 2, 3]) } : {}),
    };
  }

  // Deep and aggregate

  #deep(table: TableBlueprint, levels: number): JsonObject {
    const draw = this.#draw;
    const entries = draw.some(this.#sides(table), 1, 2).map(({ name, isMany, table: target }) => {
      const entry: JsonObject = {
        ...(draw.chance(60) ? { fields: this.#fields(target) } : {}),
        ...(draw.chance(40) ? { filter: this.#filter(target, { logic: 2, hops: 2, width: 2 }) } : {}),
        ...(isMany && draw.chance(50) ? { sort: this.#sort(target) } : {}),
        ...(isMany ? this.#page() : {}),
        ...(levels > 1 && draw.chance(75) ? { deep: this.#deep(target, levels - 1) } : {}),
      };
      return [name, entry] as const;
    });
    return Object.fromEntries(entries);
  }

  #aggregate(table: TableBlueprint): JsonObject {
    const draw = this.#draw;
    const relations = this.#sides(table).filter(({ isMany }) => isMany);
    const counted = draw.some(relations, 0, 1).map(({ name }) => [name, { count: true }] as const);
    const columns = draw.some(columnsOf(table), 1, 3).map((column) => {
      const isNumberId = column.name === "id" && column.type === "int";
      const possible = isNumberId ? ["count", "min", "max"] : aggregatesOf(column);
      const operations = draw.some(possible, 1, possible.length);
      return [column.name, Object.fromEntries(operations.map((one) => [one, true]))] as const;
    });
    return Object.fromEntries([...columns, ...counted]);
  }
}

/** As many as a decimal may have. */
const DECIMAL_DIGITS = 34;

/** The same value, written another way, where there is one. */
function otherSpelling(draw: Draw, { type }: Column, value: Json): Json {
  if (type === "decimal" && typeof value === "string") {
    const longer = value.includes(".") ? `${value}0` : `${value}.0`;
    return longer.replaceAll(/\D/g, "").length > DECIMAL_DIGITS ? value : longer;
  }
  if (type === "uuid" || type === "objectId") return String(value).toUpperCase();
  if (type !== "datetime") return value;
  const local = new Date(Date.parse(String(value)) + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
  return draw.pick([String(value).slice(0, 10), local]);
}
