// The routes of the table of tables (schema/routes, schema/advice-route), described. Pure.
import {
  answer,
  dataAnswer,
  FLAG,
  FORWARDED,
  inQuery,
  LIST_OF_TEXT,
  type Operation,
  object,
  type Part,
  TEXT,
  TEXT_OR_NULL,
  WHOLE_NUMBER,
} from "@portico/shared/operation";
import { ON_DELETE } from "../../catalog/catalog.js";
import { COLUMN_TYPE_NAMES } from "../../catalog/column-types.js";
import { RELATION_TYPES } from "../../catalog/definition.js";
import { MEMBER_NAME } from "../../catalog/names.js";
import type { VisibleTable } from "../../permission/visible-tables.js";
import { nullable } from "../column-schema.js";
import { parameter, ref } from "../common-parts.js";
import type { Members } from "../metadata.js";
import type { Overrides } from "../record-schema.js";
import { ETAG, IF_MATCH, idParameter, queryInstead, recordOperations, records } from "./records.js";

const NAME: Part = { type: "string", pattern: MEMBER_NAME.source };

/** What identifies a column. */
const COLUMN: Members = { name: NAME, type: { type: "string", enum: [...COLUMN_TYPE_NAMES] } };
const COLUMN_SETTINGS: Members = {
  required: FLAG,
  unique: FLAG,
  hidden: FLAG,
  readOnly: FLAG,
  encrypted: FLAG,
  searchable: FLAG,
  default: {},
  description: TEXT_OR_NULL,
  options: object({ values: LIST_OF_TEXT }, ["values"]),
  rules: { anyOf: [ref("ColumnRules"), { type: "null" }] },
};

/** What identifies a relation. */
const RELATION: Members = { name: NAME, type: { type: "string", enum: [...RELATION_TYPES] }, table: TEXT };
const RELATION_SETTINGS: Members = {
  inverse: TEXT_OR_NULL,
  required: FLAG,
  onDelete: { type: "string", enum: [...ON_DELETE] },
  counted: FLAG,
  description: TEXT_OR_NULL,
};

/** A member as answers show it. */
function shownMember(named: Members, settings: Members): Part {
  return object({ id: TEXT, ...named, ...settings }, ["id", ...Object.keys(named)]);
}

function newMember(named: Members, settings: Members): Part {
  return object({ ...named, ...orNull(settings) }, Object.keys(named));
}

/** A member that is there: what is not named stays as it is. */
function changedMember(named: Members, settings: Members): Part {
  const id = { ...TEXT, description: "Of the member that it is." };
  return object({ id, ...named, ...orNull(settings) }, ["id"]);
}

/** Null is what a setting is where none is given. */
function orNull(settings: Members): Members {
  return Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, nullable(schema)]));
}

/** The shapes of the JSON columns of the table of tables. */
export const DEFINITION_SCHEMAS: Readonly<Record<string, Part>> = {
  ColumnDefinition: shownMember(COLUMN, COLUMN_SETTINGS),
  NewColumn: newMember(COLUMN, COLUMN_SETTINGS),
  ColumnChange: changedMember(COLUMN, COLUMN_SETTINGS),
  RelationDefinition: shownMember(RELATION, RELATION_SETTINGS),
  NewRelation: newMember(RELATION, RELATION_SETTINGS),
  RelationChange: changedMember(RELATION, RELATION_SETTINGS),
};

/** The JSON columns of the table of tables. @param column in its list of columns, and so on */
function definitionMembers(column: Part, relation: Part): Overrides {
  const listOf = (items: Part): Part => ({ type: ["array", "null"], items });
  return {
    columns: listOf(column),
    relations: listOf(relation),
    uniques: listOf(LIST_OF_TEXT),
    indexes: listOf(LIST_OF_TEXT),
  };
}

/** As answers show them, and as bodies take them. */
export const DEFINITION_MEMBERS = {
  shown: definitionMembers(ref("ColumnDefinition"), ref("RelationDefinition")),
  creatable: definitionMembers(ref("NewColumn"), ref("NewRelation")),
  updatable: definitionMembers(
    { anyOf: [ref("ColumnChange"), ref("NewColumn")] },
    { anyOf: [ref("RelationChange"), ref("NewRelation")] },
  ),
};

const BODY_EXAMPLE = {
  name: "books",
  columns: [
    { name: "title", type: "string", required: true },
    { name: "format", type: "enum", options: { values: ["paper", "ebook"] }, default: "paper" },
  ],
  relations: [],
};

const CONFIRM = inQuery("confirm", TEXT, "The `confirmHash` of a refusal: go on although data is lost.");
const FIELDS: Part = parameter("fields");
const CHANGED = "The table, changed on every instance.";
const GOES_ON = "It takes longer and goes on; `change` in the record says how far it is.";
const CHANGE_REFUSALS = [...FORWARDED, 403, 404, 409, 422] as const;

const ADVICE = object({
  shape: { type: "object" },
  seen: WHOLE_NUMBER,
  timedOut: WHOLE_NUMBER,
  examined: { type: ["integer", "null"] },
  returned: { type: ["integer", "null"] },
  ratio: { type: ["number", "null"] },
  advice: { type: ["object", "null"] },
  sentence: TEXT,
});

/** The operations of the table of tables: reading as everywhere, making and changing in its own way. */
export function tableOperations(tables: VisibleTable, isRoot: boolean): readonly Operation[] {
  const own = recordOperations(tables, {
    hasDeep: false,
    forRoot: isRoot,
    hasMany: false,
  }).map((operation) => changed(tables, operation));
  return isRoot ? [...own, undoOperation(tables), adviceOperation(tables)] : own;
}

function changed(tables: VisibleTable, operation: Operation): Operation {
  if (operation.method === "post" && tables.actions.create !== undefined) return creating(tables, operation);
  if (operation.method === "patch") return changing(tables, operation);
  return operation.method === "delete" ? removing(operation) : operation;
}

function creating(tables: VisibleTable, operation: Operation): Operation {
  return {
    ...operation,
    summary: "Make a table",
    description: `Usable in the next request. ${queryInstead(tables)}`,
    body: { schema: ref(`${tables.table.name}.create`), example: BODY_EXAMPLE },
    refusals: CHANGE_REFUSALS,
  };
}

function changing(tables: VisibleTable, operation: Operation): Operation {
  return {
    ...operation,
    summary: "Change a table",
    description:
      "Keys that are not named stay; lists are full sets. What would lose data is a 409 to be confirmed.",
    parameters: [idParameter(tables), FIELDS, CONFIRM, IF_MATCH],
    body: {
      schema: ref(`${tables.table.name}.update`),
      example: { description: "All that was ever written." },
    },
    answers: changeAnswers(tables),
    refusals: [...CHANGE_REFUSALS, 412],
  };
}

function removing(operation: Operation): Operation {
  return {
    ...operation,
    summary: "Delete a table",
    parameters: [...(operation.parameters ?? []), CONFIRM],
    answers: { 200: answer(200, "It is gone; `undo` brings it back."), 202: answer(202, GOES_ON) },
    refusals: [...CHANGE_REFUSALS, 412],
  };
}

function undoOperation(tables: VisibleTable): Operation {
  const { name } = tables.table;
  return {
    method: "post",
    path: `/${name}/{id}/undo`,
    id: `undo_${name}`,
    tag: name,
    for: "root",
    summary: "Undo the last change that took something away",
    parameters: [idParameter(tables), FIELDS, IF_MATCH],
    answers: changeAnswers(tables),
    refusals: [...CHANGE_REFUSALS, 412],
  };
}

function changeAnswers(tables: VisibleTable): Operation["answers"] {
  return {
    200: { ...records(200, tables, CHANGED), headers: ETAG },
    202: { ...records(202, tables, GOES_ON), headers: ETAG },
  };
}

function adviceOperation(tables: VisibleTable): Operation {
  const { name } = tables.table;
  return {
    method: "get",
    path: `/${name}/{id}/advice`,
    id: `advise_${name}`,
    tag: name,
    for: "root",
    summary: "Queries that read far more than they answer, and what would help",
    parameters: [idParameter(tables)],
    answers: { 200: dataAnswer(200, "The greatest waste first.", ADVICE) },
    refusals: [...FORWARDED, 403, 404],
  };
}
