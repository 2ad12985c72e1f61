// The routes of every table (records/routes), described for one table and one caller. Pure.
import type { Json } from "@portico/shared/json";
import {
  answer,
  dataAnswer,
  FLAG,
  FORWARDED,
  inPath,
  inQuery,
  type Operation,
  object,
  type Part,
  TEXT,
  TEXT_OR_NULL,
  WHOLE_NUMBER,
} from "@portico/shared/operation";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import type { VisibleTable } from "../../permission/visible-tables.js";
import { LIMITS } from "../../query/limits.js";
import { givenSchema } from "../column-schema.js";
import { jsonParameter, parameter, ref } from "../common-parts.js";
import { sortWords } from "../filter-schema.js";
import { bodyExample, idExample } from "../record-schema.js";

const REFUSALS = [...FORWARDED, 403, 404] as const;
const WRITE_REFUSALS = [...REFUSALS, 409] as const;
const CHANGE_REFUSALS = [...WRITE_REFUSALS, 412] as const;

/** Which forms of the query language a table has. */
export interface TableSyntax {
  readonly hasDeep: boolean;
  /** Includes what is for root admins alone: explain=true, permanent=true. */
  readonly forRoot: boolean;
  /** PATCH and DELETE by filter, and import. */
  readonly hasMany: boolean;
}

/** What the caller may do with the records of one table. */
export function recordOperations(visible: VisibleTable, syntax: TableSyntax): readonly Operation[] {
  const { read, create, update, delete: remove } = visible.actions;
  return [
    ...(read ? [listOperation(visible, syntax)] : []),
    ...(create ? [createOperation(visible, syntax)] : read ? [queryOperation(visible, syntax)] : []),
    ...(read ? [readOperation(visible, syntax)] : []),
    ...(update ? [updateOperation(visible, syntax)] : []),
    ...(remove ? [deleteOperation(visible, syntax)] : []),
    ...(remove && isKept(visible) ? [restoreOperation(visible, syntax)] : []),
    ...(read && visible.table.changes ? [changesOperation(visible, syntax)] : []),
    ...(read && visible.table.history ? [historyOperation(visible)] : []),
    ...(syntax.hasMany && read && update ? [updateManyOperation(visible)] : []),
    ...(syntax.hasMany && read && remove ? [deleteManyOperation(visible, syntax)] : []),
    ...(syntax.hasMany && create && !visible.table.system ? [importOperation(visible)] : []),
  ];
}

/** QUERY as an operation of its own; OpenAPI 3.1 has no place for the method in `paths`. */
export function queryMethod(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { parameters: _none, ...operation } = queryOperation(visible, syntax);
  return { ...operation, id: `search_${visible.table.name}`, description: "The method QUERY (RFC 10008)." };
}

/**
 * No verb is the beginning of another one, or of the id of a fixed call: generators drop `_` and change case, and `update`
 * of a table `many_posts` would meet an `updateMany` of `posts`.
 */
function common(
  visible: VisibleTable,
  path: "" | "/{id}",
  verb: string,
): Pick<Operation, "path" | "id" | "tag" | "for"> {
  const { name } = visible.table;
  return { path: `/${name}${path}`, id: `${verb}_${name}`, tag: name, for: "anyone" };
}

function some(rows: "all" | "some" | undefined, verb: string): { description?: string } {
  return rows === "some" ? { description: `Only the records that one may ${verb}.` } : {};
}

function listOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { name } = visible.table;
  return {
    method: "get",
    ...common(visible, "", "list"),
    summary: `List ${name}`,
    ...some(visible.actions.read, "read"),
    parameters: [
      parameter("fields"),
      jsonParameter(
        "filter",
        ref(`${name}.filter`),
        `Which records: JSON of \`${name}.filter\`, which says what each column takes.`,
      ),
      { name: "sort", in: "query", schema: { type: "string" }, description: sortText(visible) },
      ...["limit", "page", "meta"].map(parameter),
      ...deepParameter(visible, syntax),
      jsonParameter(
        "aggregate",
        ref(`${name}.aggregate`),
        `What to compute over the records that match: JSON of \`${name}.aggregate\`.`,
      ),
      parameter("format"),
      ...(syntax.forRoot ? [parameter("explain")] : []),
      ...deletedParameter(visible),
    ],
    answers: {
      200: records(
        200,
        visible,
        "The records that match, one page of them, or with `format` a file of all.",
        ref("Meta"),
      ),
    },
    refusals: REFUSALS,
  };
}

function sortText(visible: VisibleTable): string {
  return `Keys separated by commas, \`-\` for descending; also through to-one relations, as in \`author.name\`. Here: ${sortWords(visible)}.`;
}

function queryOperation(visible: VisibleTable, { hasDeep }: TableSyntax): Operation {
  const { name } = visible.table;
  return {
    method: "post",
    ...common(visible, "", "query"),
    summary: `List ${name}, the query in the body`,
    isSafe: true,
    description: "For queries too long for an address: QUERY, or POST with this header.",
    parameters: [{ ...OVERRIDE, required: true }],
    body: {
      schema: ref(`${name}.query`),
      example: { filter: {}, page: 1, ...(hasDeep ? { deep: {} } : {}) },
    },
    answers: { 200: records(200, visible, "As for GET.", ref("Meta")) },
    refusals: REFUSALS,
  };
}

const OVERRIDE: Part = {
  name: "X-HTTP-Method-Override",
  in: "header",
  schema: { type: "string", enum: ["QUERY"] },
  description: "Makes this POST a QUERY.",
};

/** Not among the body's schemas: a typed create would take a query, too. */
export function queryInstead({ table }: VisibleTable): string {
  return `With \`X-HTTP-Method-Override: QUERY\` it lists instead (200); the body is then \`${table.name}.query\`, for which a typed client needs a cast.`;
}

function createOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { table, actions } = visible;
  const one = ref(`${table.name}.create`);
  // An upload is not JSON; and what makes a table or takes a file keeps no answers to repeat.
  const isList = actions.read !== undefined && table.ownCreate !== "upload";
  const onceKey = table.ownCreate === undefined ? [parameter("IdempotencyKey")] : [];
  return {
    method: "post",
    ...common(visible, "", "create"),
    summary: `Create ${table.name}`,
    description: [
      `One record, or a list of ${LIMITS.bulk} at most: all or none.`,
      ...(isList ? [queryInstead(visible)] : []),
    ].join(" "),
    parameters: [...shape(visible, syntax), ...onceKey, ...(isList ? [OVERRIDE] : [])],
    body: {
      schema: { anyOf: [one, { type: "array", items: one, minItems: 1, maxItems: LIMITS.bulk }] },
      ...exampleOfBody(visible, "creatable"),
    },
    answers: {
      201: {
        ...records(201, visible, "Created: what may be read of them, else the ids."),
        headers: { ...ETAG, Location: { schema: { type: "string" }, description: "Of one record." } },
      },
      ...(isList ? { 200: records(200, visible, "The answer of a QUERY.", ref("Meta")) } : {}),
    },
    refusals: WRITE_REFUSALS,
  };
}

function readOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  return {
    method: "get",
    ...common(visible, "/{id}", "read"),
    summary: `Read one of ${visible.table.name}`,
    ...some(visible.actions.read, "read"),
    parameters: [
      idParameter(visible),
      ...shape(visible, syntax),
      ...deletedParameter(visible),
      parameter("IfNoneMatch"),
    ],
    answers: {
      200: { ...records(200, visible, "One record."), headers: ETAG },
      304: { description: "The answer would be the same as before.", headers: ETAG },
    },
    refusals: REFUSALS,
  };
}

function updateOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { name } = visible.table;
  return {
    method: "patch",
    ...common(visible, "/{id}", "update"),
    summary: `Change one of ${name}`,
    ...some(visible.actions.update, "change"),
    parameters: [idParameter(visible), ...shape(visible, syntax), IF_MATCH],
    body: { schema: ref(`${name}.update`), ...exampleOfBody(visible, "updatable") },
    answers: { 200: { ...records(200, visible, "The record as it is now."), headers: ETAG } },
    refusals: CHANGE_REFUSALS,
  };
}

/** The version of what was answered. */
export const ETAG: Part = { ETag: { schema: TEXT, description: "For If-Match and If-None-Match." } };

export const IF_MATCH: Part = parameter("IfMatch");

const MANY = object({ matched: WHOLE_NUMBER, changed: WHOLE_NUMBER }, ["matched", "changed"]);
const DRY_RUN = inQuery("dryRun", FLAG, "Count, and change nothing.");

function manyParameters({ table }: VisibleTable): readonly Part[] {
  const schema = { ...ref(`${table.name}.filter`), minProperties: 1 };
  const example = { id: { _in: [idExample(table)] } };
  const filter = jsonParameter(
    "filter",
    schema,
    `Which records: JSON of \`${table.name}.filter\`; one that compares nothing is refused.`,
    example,
  );
  return [{ ...filter, required: true }, DRY_RUN];
}

function updateManyOperation(visible: VisibleTable): Operation {
  const { name } = visible.table;
  return {
    method: "patch",
    ...common(visible, "", "changeMany"),
    summary: `Change all ${name} that match`,
    ...some(visible.actions.update, "change"),
    parameters: manyParameters(visible),
    body: { schema: ref(`${name}.update`), ...exampleOfBody(visible, "updatable") },
    answers: { 200: answer(200, "How many matched, and were changed.", { meta: MANY }) },
    refusals: WRITE_REFUSALS,
  };
}

function deleteManyOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { name } = visible.table;
  return {
    method: "delete",
    ...common(visible, "", "removeMany"),
    summary: `Delete all ${name} that match`,
    ...some(visible.actions.delete, "delete"),
    parameters: [
      ...manyParameters(visible),
      // What is deleted already can only be removed for good.
      ...(syntax.forRoot ? deletedParameter(visible) : []),
      ...permanentParameter(visible, syntax),
    ],
    answers: { 200: answer(200, "How many matched, and are gone.", { meta: MANY }) },
    refusals: WRITE_REFUSALS,
  };
}

const IMPORTED = object({ imported: WHOLE_NUMBER, checked: WHOLE_NUMBER, dryRun: FLAG }, ["imported"]);

function importOperation(visible: VisibleTable): Operation {
  const { name } = visible.table;
  return {
    method: "post",
    path: `/${name}/import`,
    id: `import_${name}`,
    tag: name,
    for: "anyone",
    summary: `Import ${name} from a file`,
    description:
      "In batches, each all or none; the first that is refused ends it. See `details` of the refusal.",
    parameters: [DRY_RUN, inQuery("from", { type: "integer", minimum: 1 }, "The line to go on from.")],
    bodies: importBodies(visible),
    answers: { 200: dataAnswer(200, "What was imported.", IMPORTED) },
    refusals: WRITE_REFUSALS,
  };
}

/** A file of one record each, as a new record's example has it. */
function importBodies(visible: VisibleTable): Readonly<Record<string, Part>> {
  const record = bodyExample(visible, "creatable") ?? blankRecord(visible);
  const json = visible.columns
    .filter(({ column }) => column.type === "json")
    .map(({ column }) => column.name);
  const cells = Object.entries(record).map(([name, value]) => csvCell(value, json.includes(name)));
  const lines = [Object.keys(record).join(","), cells.join(",")];
  return {
    "text/csv": { schema: TEXT, example: `${lines.join("\n")}\n` },
    "application/x-ndjson": { schema: TEXT, example: `${JSON.stringify(record)}\n` },
  };
}

/** The answer says what is missing where there is no example for something that a record needs. */
function blankRecord({ columns }: VisibleTable): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    columns.filter((each) => each.creatable).map(({ column }) => [column.name, null]),
  );
}

function csvCell(value: Json, isJson: boolean): string {
  if (value === null) return "";
  const text = typeof value === "string" && !isJson ? value : JSON.stringify(value);
  return /^$|^\s|\s$|[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function changesOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { name } = visible.table;
  return {
    method: "get",
    path: `/${name}/changes`,
    id: `follow_${name}`,
    tag: name,
    for: "anyone",
    summary: `Follow the changes of ${name}`,
    description: "Server-sent events: `created`, `updated`, `entered`, `left`, `deleted`.",
    parameters: [
      parameter("fields"),
      jsonParameter("filter", ref(`${name}.filter`), `Which records: JSON of \`${name}.filter\`.`),
      ...deepParameter(visible, syntax),
      inQuery("lastEventId", TEXT, "The event to go on after, where the header does not say it."),
      LAST_EVENT_ID,
    ],
    answers: { 200: { description: "The events.", content: { "text/event-stream": { schema: TEXT } } } },
    refusals: REFUSALS,
  };
}

const LAST_EVENT_ID: Part = {
  name: "Last-Event-ID",
  in: "header",
  schema: TEXT,
  description: "The event to go on after; browsers send it by themselves.",
};

const HISTORY_ENTRY: Part = object(
  {
    id: TEXT,
    event: { enum: ["created", "updated", "deleted", "restored"] },
    revision: { ...WHOLE_NUMBER, description: "Counts the changes of one record from 1." },
    at: { type: "string", format: "date-time" },
    by: { ...TEXT_OR_NULL, description: "The user's id; null for visitors and for the service itself." },
    changes: {
      type: "object",
      additionalProperties: object({ from: {}, to: {} }, []),
      description:
        "By column or relation, links as ids. `from` or `to` is missing where the value was too large to be kept.",
    },
  },
  ["id", "event", "revision", "at", "by", "changes"],
);

const HISTORY_LIMIT = inQuery(
  "limit",
  { type: "integer", minimum: 1, maximum: LIMITS.historyEntries, default: 10 },
  "How many.",
);

function historyOperation(visible: VisibleTable): Operation {
  const { name } = visible.table;
  return {
    method: "get",
    ...common(visible, "/{id}", "history"),
    path: `/${name}/{id}/history`,
    summary: `Who changed one of ${name}, what and when`,
    parameters: [idParameter(visible), HISTORY_LIMIT, ...["page", "meta"].map(parameter)],
    answers: { 200: dataAnswer(200, "The newest first.", HISTORY_ENTRY, ref("Meta")) },
    refusals: REFUSALS,
  };
}

function deleteOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  return {
    method: "delete",
    ...common(visible, "/{id}", "delete"),
    summary: `Delete one of ${visible.table.name}`,
    ...some(visible.actions.delete, "delete"),
    parameters: [idParameter(visible), ...permanentParameter(visible, syntax), IF_MATCH],
    answers: { 200: answer(200, "It is gone.") },
    refusals: CHANGE_REFUSALS,
  };
}

/** Can deleted records come back? */
function isKept({ table }: VisibleTable): boolean {
  return table.deletedAt !== undefined;
}

function deletedParameter(visible: VisibleTable): readonly Part[] {
  return visible.showsDeleted ? [parameter("deleted")] : [];
}

function permanentParameter(visible: VisibleTable, { forRoot }: TableSyntax): readonly Part[] {
  const words = "For good, deleted before or not.";
  return forRoot && isKept(visible) ? [inQuery("permanent", FLAG, words)] : [];
}

function restoreOperation(visible: VisibleTable, syntax: TableSyntax): Operation {
  const { name } = visible.table;
  return {
    method: "post",
    ...common(visible, "/{id}", "restore"),
    path: `/${name}/{id}/restore`,
    summary: `Restore a deleted one of ${name}`,
    description:
      "With all that went with it. One that is not deleted stays as it is. Takes no body: change it afterwards.",
    parameters: [idParameter(visible), ...shape(visible, syntax), IF_MATCH],
    answers: { 200: { ...records(200, visible, "The record as it is now."), headers: ETAG } },
    refusals: CHANGE_REFUSALS,
  };
}

/** `{id}` of a path. */
export function idParameter({ table }: VisibleTable): Part {
  return { ...inPath("id", givenSchema(table.idColumn), "The record's id."), example: idExample(table) };
}

function deepParameter({ table }: VisibleTable, { hasDeep }: TableSyntax): readonly Part[] {
  if (!hasDeep) return [];
  const name = `${table.name}.deep`;
  return [jsonParameter("deep", ref(name), `What to load of related records: JSON of \`${name}\`.`)];
}

/** `fields` and `deep`, where the records can be read at all. */
function shape(visible: VisibleTable, syntax: TableSyntax): readonly Part[] {
  return visible.actions.read === undefined ? [] : [parameter("fields"), ...deepParameter(visible, syntax)];
}

/** An answer with records of the table. */
export function records(status: number, visible: VisibleTable, description: string, meta?: Part): Part {
  const { table, actions } = visible;
  const id = { type: "object", properties: { id: COLUMN_TYPES[table.idColumn.type].schema } };
  return dataAnswer(status, description, actions.read === undefined ? id : ref(`${table.name}.record`), meta);
}

function exampleOfBody(visible: VisibleTable, write: "creatable" | "updatable"): Part {
  const example = bodyExample(visible, write);
  return example === undefined ? {} : { example };
}
