// What a rule sets on write: its values, or why the table does not accept them. Pure.
import { isObject, type Json, type JsonObject, kindOf } from "@portico/shared/json";
import {
  type Catalog,
  type Column,
  isGenerated,
  memberNamed,
  type Relation,
  type Table,
  targetOf,
} from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { suggestion } from "../catalog/names.js";
import { brokenRules } from "../catalog/rules.js";
import { type Variables, variablesIn } from "./variables.js";

export interface Presets {
  /** By member, with variables filled in. */
  readonly values: JsonObject;
  /** Each begins with `presets`. */
  readonly problems: readonly string[];
}

interface Context {
  readonly catalog: Catalog;
  readonly variables: Variables;
}

/** @param presets as they are stored, or as somebody wants to store them */
export function readPresets(presets: Json, table: Table, context: Context): Presets {
  if (!isObject(presets)) {
    const problem = `presets: must be an object such as {"status":"draft"}, not ${kindOf(presets)}`;
    return { values: {}, problems: [problem] };
  }
  const read = Object.entries(presets).map(([name, json]) => ({
    name,
    ...readPreset(`presets.${name}`, name, json, table, context),
  }));
  return {
    values: Object.fromEntries(read.map(({ name, value }) => [name, value])),
    problems: read.flatMap(({ problem }) => problem ?? []),
  };
}

interface Preset {
  readonly value: Json;
  readonly problem?: string;
}

function readPreset(path: string, name: string, json: Json, table: Table, context: Context): Preset {
  const refused = (problem: string): Preset => ({ value: json, problem: `${path}: ${problem}` });
  const member = memberNamed(table, name);
  if (member !== undefined && isGenerated(member)) return refused("is made by the service");
  const column = member && valueColumn(member, context.catalog);
  if (member === undefined || column === undefined) {
    if (member !== undefined && "link" in member)
      return refused(
        "a list of links can't be set; let the body name it, and say in check what must be in it",
      );
    const toOne = [...table.relations.values()].filter(({ many }) => !many);
    const settable = [...table.columns.values(), ...toOne].filter((each) => !isGenerated(each));
    const known = settable.map((each) => each.name);
    return refused(`"${table.name}" has no such column or to-one relation${suggestion(name, known)}`);
  }
  if (member.readOnly) return refused("is read-only");
  const [variable] = variablesIn(json);
  if (variable === undefined) {
    const problem = fixedProblem(member, column, json);
    return problem === undefined ? { value: json } : refused(problem);
  }
  const value = context.variables.value(variable, column);
  if (value === undefined) return refused(context.variables.about(variable));
  if (variable !== json)
    return refused(`"${variable}" must be all of the value; inside JSON it would be plain text`);
  const problem = typeProblem(column, value);
  return problem === undefined ? { value } : refused(`${problem}; ${context.variables.about(variable)}`);
}

/** The column whose values a preset may have: the member itself, or the id column of a to-one relation's table. */
function valueColumn(member: Column | Relation, catalog: Catalog): Column | undefined {
  if ("link" in member) return member.many ? undefined : targetOf(catalog, member).idColumn;
  return member;
}

/** A variable has a different value for each caller, and none for some. */
function typeProblem(column: Column, value: Json): string | undefined {
  const row = COLUMN_TYPES[column.type];
  return value === null || row.parse(value, column.values) !== undefined
    ? undefined
    : `must be ${row.expects}`;
}

/** A value that is always the same must be one that the member accepts, or no write by this rule would succeed. */
function fixedProblem(member: Column | Relation, column: Column, value: Json): string | undefined {
  if (value === null) return member.required ? "must not be null" : undefined;
  const row = COLUMN_TYPES[column.type];
  const stored = row.parse(value, column.values);
  return stored === undefined ? `must be ${row.expects}` : brokenRules(column.type, column.rules, stored)[0];
}
