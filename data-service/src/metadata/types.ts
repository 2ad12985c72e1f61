// What a caller may see and do -> a TypeScript module with the types of the records, bodies and filters. Pure.
import { type Column, mayBeNull, type Table } from "../catalog/catalog.js";
import { ALL_TYPE_NAMES, COLUMN_TYPES, type ColumnType } from "../catalog/column-types.js";
import {
  countable,
  isFilterable,
  isShown,
  type VisibleColumn,
  type VisibleRelation,
  type VisibleTable,
  type Writable,
} from "../permission/visible-tables.js";
import { mayOnlyRead, type Requester } from "../principal.js";
import { ON_RELATIONS } from "../query/bind-filter.js";
import { operandOf, operatorsOf } from "../query/operators.js";
import { COUNTS } from "../query/shape.js";
import { type Brought, broughtBy } from "./brought.js";

/**
 * The text of the module. The same tables always give the same caller the same text.
 * @param tables what the caller may see and do
 * @param own the tables of users and roles as `/me` shows them
 */
export function typesOf(
  tables: readonly VisibleTable[],
  caller: Requester,
  own: readonly VisibleTable[],
): string {
  const sorted = tables.toSorted((a, b) => (a.table.name < b.table.name ? -1 : 1));
  const map = ["export interface Tables {", ...sorted.flatMap((each) => tableLines(each)), "}"];
  const parts = [headFor(caller), map.join("\n"), ...ownInterfaces(own), HELPERS, testsOfTypes()];
  return parts.join("\n\n").concat("\n");
}

/** What `/me` answers: the user, and their role. */
function ownInterfaces(own: readonly VisibleTable[]): string[] {
  const names = new Map(own.map(({ table }, at) => [table.name, at === 0 ? "Me" : "MyRole"]));
  return own.map(({ table, columns, relations }) => {
    const shown = [...columns, ...relations].filter(isShown);
    const members = [...shown.map((each) => recordMember(table, each, names)), ...counts(relations)];
    const lines = members.flatMap((each) => each.split("\n")).map((line) => `  ${line}`);
    return [`export interface ${names.get(table.name)} {`, ...lines, "}"].join("\n");
  });
}

/** The first line says whose rights these are, as `npm run types` prints it; otherwise `never` would be puzzling. */
function headFor(caller: Requester): string {
  return `// ${rightsOf(caller)}
// Made by GET /api/types.ts; make it again after a change of the tables (npm run types). A required column is never null,
// but in records older than that rule. Files are uploaded, so that their \`create\` is \`never\`.`;
}

function rightsOf(caller: Requester): string {
  if (mayOnlyRead(caller))
    return "The tables of this Portico as a read-only API token may use them: `create` and `update` are `never`.";
  if (caller.kind === "anonymous")
    return "The tables of this Portico as visitors may use them: what no rule lets everyone do is `never`.";
  if (caller.isRootAdmin) return "The tables of this Portico as a root admin may use them.";
  return "The tables of this Portico as one of its users may use them: what no rule lets them do is `never`.";
}

const HELPERS = `export type TableName = keyof Tables;
export type RecordOf<Name extends TableName> = Tables[Name]["record"];
export type CreateOf<Name extends TableName> = Tables[Name]["create"];
export type UpdateOf<Name extends TableName> = Tables[Name]["update"];
export type FilterOf<Name extends TableName> = Tables[Name]["filter"];

/** A related record: its id, and whatever \`fields\` and \`deep\` asked for. */
export type Linked<Name extends TableName> = PartOf<RecordOf<Name>>;
export type PartOf<Whole extends { id: unknown }> = Pick<Whole, "id"> & Partial<Whole>;

/** How a body names a record. */
export type Link<Id> = Id | { id: Id };

/** What a filter says of a relation: the id, null for none, or what a related record must satisfy. */
export type Related<Name extends TableName> =
  | RecordOf<Name>["id"]
  | null
  | (FilterOf<Name> & LinkTests<RecordOf<Name>["id"]>);

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };`;

function tableLines({ table, columns, relations, actions }: VisibleTable): string[] {
  const isReadable = actions.read !== undefined;
  const id = { name: "id", type: plainType(table.idColumn), optional: false };
  const shown = [...columns, ...relations].filter(isShown);
  const body = (write: Writable, isAllowed: boolean): string[] | undefined =>
    isAllowed ? membersOf([...columns, ...relations], write) : undefined;
  return [
    ...comment(table.description, 2),
    `  ${key(table.name)}: {`,
    ...block(
      "record",
      isReadable
        ? [...shown.map((each) => recordMember(table, each)), ...counts(relations)]
        : [memberLine(id)],
    ),
    ...block("create", body("creatable", actions.create !== undefined && table.ownCreate !== "upload")),
    ...block("update", body("updatable", actions.update !== undefined)),
    ...block("filter", isReadable ? filterMembers(table.name, [...columns, ...relations]) : undefined),
    "  };",
  ];
}

/** A member of a table's entry; `never` for what can't be done, or not with JSON. */
function block(name: string, members: readonly string[] | undefined): string[] {
  if (members === undefined) return [`    ${name}: never;`];
  if (members.length === 0) return [`    ${name}: Record<string, never>;`];
  return [
    `    ${name}: {`,
    ...members.flatMap((each) => each.split("\n")).map((line) => `      ${line}`),
    "    };",
  ];
}

interface Member {
  readonly name: string;
  readonly type: string;
  readonly optional: boolean;
  readonly description?: string | null;
}

function memberLine({ name, type, optional, description = null }: Member): string {
  return [...comment(description, 0), `${key(name)}${optional ? "?" : ""}: ${type};`].join("\n");
}

type Visible = VisibleColumn | VisibleRelation;

/**
 * A member that is hidden, or shown only in some records, may be missing; so may to-many relations, which must be asked for.
 * @param own interfaces of what `/me` shows, by tables
 */
function recordMember(table: Table, member: Visible, own: ReadonlyMap<string, string> = new Map()): string {
  const isPartly = member.shown === "in some rows";
  if ("column" in member) {
    const { name, hidden, description } = member.column;
    const type = valueType(member.column, mayBeNull(table, member.column));
    return memberLine({ name, type, optional: hidden || isPartly, description });
  }
  const { name, many, description } = member.relation;
  const shownByMe = own.get(member.target.name);
  const linked =
    shownByMe === undefined ? `Linked<${JSON.stringify(member.target.name)}>` : `PartOf<${shownByMe}>`;
  return memberLine({
    name,
    type: many ? `${linked}[]` : `${linked} | null`,
    optional: many || isPartly,
    description,
  });
}

/** Numbers of related records, each of which must be asked for. */
function counts(relations: readonly VisibleRelation[]): string[] {
  const numbers = countable({ relations }).map(({ relation }) => `${key(relation.name)}?: number`);
  if (numbers.length === 0) return [];
  return [memberLine({ name: COUNTS, type: `{ ${numbers.join("; ")} }`, optional: true })];
}

function membersOf(members: readonly Visible[], write: Writable): string[] {
  const isOptional = ({ needed }: Visible): boolean => write === "updatable" || !needed;
  return members
    .filter((each) => each[write])
    .map((each) => memberLine({ ...writtenMember(each, write), optional: isOptional(each) }));
}

function writtenMember(member: Visible, write: Writable): Omit<Member, "optional"> {
  if ("column" in member) {
    const { name, description, required } = member.column;
    return { name, description, type: valueType(member.column, !required) };
  }
  const { name, many, required, description } = member.relation;
  const brought = broughtBy(member, write);
  const forms = [
    ...(member.linksThere ? [`Link<${plainType(member.target.idColumn)}>`] : []),
    ...(brought === undefined ? [] : [newRecord(brought)]),
  ];
  const link = forms.join(" | ");
  const list = forms.length > 1 ? `(${link})` : link;
  const isNullable = member.linksThere && !required;
  return { name, description, type: many ? `readonly ${list}[]` : link + (isNullable ? " | null" : "") };
}

/** A record inside a body; its link to the record around it is set by that record. */
function newRecord({ table, without }: Brought): string {
  const body = `CreateOf<${JSON.stringify(table)}>`;
  return without === undefined ? body : `Omit<${body}, ${JSON.stringify(without)}>`;
}

function filterMembers(table: string, members: readonly Visible[]): string[] {
  const own = `FilterOf<${JSON.stringify(table)}>`;
  const logic = [`_and?: readonly ${own}[];`, `_or?: readonly ${own}[];`, `_not?: ${own};`];
  const usable = members.filter(isFilterable);
  return [
    ...logic,
    ...usable.map((each) =>
      "column" in each
        ? memberLine({ name: each.column.name, type: columnFilter(each.column), optional: true })
        : memberLine({
            name: each.relation.name,
            type: `Related<${JSON.stringify(each.target.name)}>`,
            optional: true,
          }),
    ),
  ];
}

function columnFilter(column: Column): string {
  const { type, values } = column;
  const tests = values.length === 0 ? testsName(type) : `${testsName(type)}<${union(values)}>`;
  return operandOf(type, "_eq") === "value or null"
    ? `${plainType(column)} | null | ${tests}`
    : `null | ${tests}`;
}

/** The type of a member with a column's values. */
function valueType(column: Column, mayBeNull: boolean): string {
  const plain = plainType(column);
  if (mayBeNull) return `${plain} | null`;
  return column.type === "json" ? `NonNullable<${plain}>` : plain;
}

/** The type of a column's values in JSON. */
function plainType({ type, values }: Pick<Column, "type" | "values">): string {
  if (type === "json") return "Json";
  if (type === "enumList") return values.length > 1 ? `(${union(values)})[]` : `${union(values)}[]`;
  if (type === "enum") return union(values);
  const { type: kind } = COLUMN_TYPES[type].schema;
  return kind === "integer" ? "number" : String(kind);
}

function union(values: readonly string[]): string {
  return values.length === 0 ? "never" : values.map((each) => JSON.stringify(each)).join(" | ");
}

function testsName(type: ColumnType): string {
  return `${type[0]?.toUpperCase()}${type.slice(1)}Tests`;
}

/** One interface for each column type: the operators it takes. Those for enums are generic over the members. */
function testsOfTypes(): string {
  const ofTypes = ALL_TYPE_NAMES.map((type) => {
    const isEnum = type === "enum" || type === "enumList";
    const value = isEnum ? "Value" : plainType({ type, values: [] });
    const head = `export interface ${testsName(type)}${isEnum ? "<Value>" : ""} {`;
    return [head, ...testLines(operatorsOf({ type, encrypted: false }), type, value), "}"].join("\n");
  });
  const onLinks = [
    "export interface LinkTests<Value> {",
    ...testLines(ON_RELATIONS, "objectId", "Value"),
    "}",
  ];
  return [...ofTypes, onLinks.join("\n")].join("\n\n");
}

function testLines(operators: readonly string[], type: ColumnType, value: string): string[] {
  const types: Readonly<Record<NonNullable<ReturnType<typeof operandOf>>, string>> = {
    "value or null": `${value} | null`,
    value,
    values: `readonly ${value}[]`,

    "two values": `readonly [${value}, ${value}]`,
    text: "string",
    flag: "boolean",
    member: value,
    null: "null",
  };
  return operators.map((name) => `  ${name}?: ${types[operandOf(type, name) ?? "null"]};`);
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A description as a comment, which it must not be able to end. */
function comment(description: string | null, indent: number): string[] {
  if (description === null || description.trim() === "") return [];
  const text = description.replaceAll("*/", "*\\/").replace(/\s+/g, " ").trim();
  return [`${" ".repeat(indent)}/** ${text} */`];
}
