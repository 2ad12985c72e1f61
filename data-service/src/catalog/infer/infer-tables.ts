// Profiles of collections -> the tables of a schema file that show them as they are, and what a person should know. Pure. A
// column or relation claims only what every document that was looked at satisfies.
import type { JsonObject } from "@portico/shared/json";
import type { IdType } from "../catalog.js";
import { linkField } from "../check-storage.js";
import { canBeUnique } from "../column-types.js";
import type { RelationType } from "../definition.js";
import { MAX_INDEXES, MAX_INDEXES_OF_COLLECTION } from "../indexes.js";
import { collectionNameProblem, GENERATED_NAMES } from "../names.js";
import { chooseFields, type Times } from "./choose-fields.js";
import { type ColumnGuess, guessColumn } from "./infer-columns.js";
import { type Link, type LinkAnswer, linkOf } from "./infer-links.js";
import { hintsAt, memberNameFor, relationNameFor, tableNameFor } from "./infer-names.js";
import { type CollectionProfile, type FieldProfile, filled, kindOfSeen, type Seen } from "./profile.js";

export interface Inferred {
  /** For the `tables` of a schema file. */
  readonly tables: readonly JsonObject[];
  /** What was recognised and what was not, one line each. */
  readonly notes: readonly string[];
}

/** With fewer documents it means nothing that all of them have a field. */
const ENOUGH = 10;

/** A table that is there already, for instance from an earlier adoption. */
export interface ServedTable {
  readonly name: string;
  readonly collection: string;
  /** Names of its columns and relations, and of those that lead to it. */
  readonly members: readonly string[];
}

export interface InferContext {
  readonly systemPrefix: string;
  readonly served: readonly ServedTable[];
}

/** Makes tables of collections. @param answers to `linkQuestions` of the same profiles */
export function inferTables(
  profiles: readonly CollectionProfile[],
  answers: readonly LinkAnswer[],
  { systemPrefix, served }: InferContext,
): Inferred {
  const usable = profiles.filter(({ name }) => collectionNameProblem(name, systemPrefix) === undefined);
  const names = tableNames(usable, systemPrefix, served);
  const drafts = usable.map((profile) => draftTable(profile, names, answers));
  const tables = withInverses(drafts, served);
  return {
    tables: tables.map(tableJson),
    notes: tables.flatMap(({ profile, name, columns, relations, idType, notes }) => [
      `${profile.name} → ${name}: ${sizeOf(profile)}, ids ${idType}, ${some(columns, "column")}, ${some(relations, "relation")}`,
      ...notes.map((note) => `  ${note}`),
    ]),
  };
}

function sizeOf({ documents, complete }: CollectionProfile): string {
  if (!complete) return `a sample of ${documents} documents`;
  return documents === 1 ? "1 document" : `${documents} documents`;
}

function some(list: readonly unknown[], word: string): string {
  return `${list.length} ${word}${list.length === 1 ? "" : "s"}`;
}

function tableNames(
  profiles: readonly CollectionProfile[],
  systemPrefix: string,
  served: readonly ServedTable[],
): ReadonlyMap<string, string> {
  const used = new Set(served.map(({ name }) => name));
  const names = new Map(served.map(({ collection, name }) => [collection, name]));
  for (const { name } of profiles) {
    const table = tableNameFor(name, systemPrefix, used);
    used.add(table);
    names.set(name, table);
  }
  return names;
}

interface ColumnDraft extends ColumnGuess {
  readonly name: string;
  readonly field: string;
  readonly required: boolean;
  readonly unique: boolean;
}

interface RelationDraft {
  readonly name: string;
  readonly field: string;
  readonly type: RelationType;
  readonly table: string;
  readonly inverse: string | null;
  readonly required: boolean;
}

interface TableDraft {
  readonly profile: CollectionProfile;
  readonly name: string;
  readonly idType: IdType;
  readonly times: Times;
  readonly columns: readonly ColumnDraft[];
  readonly relations: readonly RelationDraft[];
  readonly uniques: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

function draftTable(
  profile: CollectionProfile,
  names: ReadonlyMap<string, string>,
  answers: readonly LinkAnswer[],
): TableDraft {
  const { times, served, left, rare } = chooseFields(profile.fields);
  const all = served.length + rare;
  const links = new Map(served.map((field) => [field, linkOf(profile.name, field, answers)]));
  const { kept, out, room } = withinIndexes(profile, served, links);
  const members = draftMembers(profile, kept, names, links);
  const joint = jointUniques(profile, members);
  const name = names.get(profile.name) ?? "";
  return {
    profile,
    name,
    times,
    idType: idTypeOf(profile.ids),
    columns: members.columns,
    relations: members.relations,
    uniques: joint.slice(0, room),
    notes: [
      ...left.map((each) => `${each}: left as it is, not served`),
      ...(rare === 0 ? [] : [`${rare} of its ${all} fields are rare, and not served`]),
      ...(out.length === 0 ? [] : [`${out.map((field) => field.name).join(", ")}: ${NO_INDEX}`]),
      ...(joint.length > room ? [`${joint.length - room} ${LEFT_UNIQUE}`] : []),
      ...members.notes,
    ],
  };
}

/** The kind of id that a new record gets, and in which the existing ones can be written. */
export function idTypeOf(ids: readonly Seen[]): IdType {
  const isWhole = ({ type, fractions = 0, least, greatest }: Seen): boolean =>
    kindOfSeen({ type, count: 0, least, greatest }) === "whole" ||
    (type === "double" && fractions === 0 && [least, greatest].every(Number.isSafeInteger));
  if (ids.length > 0 && ids.every(isWhole)) return "int";
  const kinds = new Set(ids.map(kindOfSeen));
  if (kinds.size > 1) return "mixed";
  const [kind = "objectId"] = kinds;
  if (kind === "text") return "string";
  return kind === "objectId" || kind === "uuid" ? kind : "mixed";
}

const NO_INDEX =
  `not served, since a table has ${MAX_INDEXES} indexes at most, and with those that are there ${MAX_INDEXES_OF_COLLECTION}, and ` +
  "dates, links and what is unique need them";
const LEFT_UNIQUE = "of its unique indexes on several fields are left to the database alone";

type Links = ReadonlyMap<FieldProfile, Link | "several" | undefined>;

/**
 * Leaves out the rarest of the fields that need an index, where they need more than a table may have.
 * @returns also how many indexes are left for what is unique together
 */
function withinIndexes(
  profile: CollectionProfile,
  fields: readonly FieldProfile[],
  links: Links,
): { kept: readonly FieldProfile[]; out: readonly FieldProfile[]; room: number } {
  // Its two times have one each.
  let room = MAX_INDEXES - 2;
  let free = MAX_INDEXES_OF_COLLECTION - profile.indexes - 2;
  const out = new Set<FieldProfile>();
  for (const field of fields.toSorted((a, b) => filled(b) - filled(a))) {
    const { needed, made } = indexesFor(profile, field, links.get(field));
    if (needed > room || made > Math.max(free, 0)) out.add(field);
    else [room, free] = [room - needed, free - made];
  }
  return {
    kept: fields.filter((field) => !out.has(field)),
    out: fields.filter((field) => out.has(field)),
    room,
  };
}

/** As `indexesOf` the table that is drafted here has them. What makes a field unique is there already, and is used. */
function indexesFor(
  profile: CollectionProfile,
  field: FieldProfile,
  link: Link | "several" | undefined,
): { needed: number; made: number } {
  const { type } = guessColumn(field, profile.complete);
  const canBeOne = isLink(link) ? !link.isList : canBeUnique(type);
  if (canBeOne && isUnique(profile, field)) return { needed: 1, made: 0 };
  const needed = isLink(link) ? 2 : Number(type === "datetime");
  return { needed, made: needed };
}

interface Members {
  readonly columns: readonly ColumnDraft[];
  readonly relations: readonly RelationDraft[];
  readonly notes: readonly string[];
}

function draftMembers(
  profile: CollectionProfile,
  fields: readonly FieldProfile[],
  names: ReadonlyMap<string, string>,
  links: Links,
): Members {
  const taken = new Set<string>(GENERATED_NAMES);
  const columns: ColumnDraft[] = [];
  const relations: RelationDraft[] = [];
  const notes: string[] = [];
  // Columns first: they keep their own names, and relations get theirs from what is left.
  for (const field of fields.filter((each) => !isLink(links.get(each)))) {
    const column = draftColumn(profile, field, taken);
    taken.add(column.name);
    columns.push(column);
    if (column.note !== undefined) notes.push(`${column.name}: ${column.note}`);
    if (links.get(field) === "several")
      notes.push(`${column.name}: holds ids of several collections, no relation`);
  }
  for (const field of fields) {
    const link = links.get(field);
    if (!isLink(link)) continue;
    const relation = draftRelation(profile, field, link, names.get(link.target) ?? "", taken);
    taken.add(relation.name);
    relations.push(relation);
    const lost = link.lost === 0 ? "" : `; ${link.lost} of ${link.asked} ids looked up are not there`;
    notes.push(`${relation.name}: ${relation.type} to ${relation.table}, from ${field.name}${lost}`);
  }
  return { columns, relations, notes };
}

function isLink(link: Link | "several" | undefined): link is Link {
  return link !== undefined && link !== "several";
}

function draftColumn(
  profile: CollectionProfile,
  field: FieldProfile,
  taken: ReadonlySet<string>,
): ColumnDraft {
  const guess = guessColumn(field, profile.complete);
  return {
    ...guess,
    name: memberNameFor(field.name, taken),
    field: field.name,
    required: guess.readOnly !== true && isRequired(profile, field),
    unique: canBeUnique(guess.type) && isUnique(profile, field),
  };
}

function draftRelation(
  profile: CollectionProfile,
  field: FieldProfile,
  link: Link,
  table: string,
  taken: ReadonlySet<string>,
): RelationDraft {
  const toOne = isUnique(profile, field) ? "one-to-one" : "many-to-one";
  return {
    name: relationNameFor(field.name, isNamedAfter(profile, field, link), taken),
    field: field.name,
    table,
    inverse: null,
    type: link.isList ? "many-to-many" : toOne,
    required: !link.isList && isRequired(profile, field),
  };
}

/** A list of ids named after what the ids are of: `tagIds` of `tags`. */
function isNamedAfter(profile: CollectionProfile, field: FieldProfile, { isList, target }: Link): boolean {
  return isList && hintsAt(field.name, target, profile.name === target);
}

function isRequired({ documents, complete }: CollectionProfile, field: FieldProfile): boolean {
  return complete && documents >= ENOUGH && filled(field) === documents;
}

function isUnique({ uniques }: CollectionProfile, { name }: FieldProfile): boolean {
  return uniques.some((fields) => fields.length === 1 && fields[0] === name);
}

/** Unique indexes on several fields, if all of these can be members. */
function jointUniques({ uniques }: CollectionProfile, { columns, relations }: Members): string[][] {
  const members = [
    ...columns.filter(({ type }) => canBeUnique(type)),
    ...relations.filter(({ type }) => type !== "many-to-many"),
  ];
  const nameOf = (field: string): string[] =>
    members.filter((member) => member.field === field).map(({ name }) => name);
  return uniques.flatMap((fields) => {
    const names = fields.flatMap(nameOf);
    return fields.length > 1 && names.length === fields.length ? [names] : [];
  });
}

/** Gives every relation a name at its other end: that of the table it comes from, if it is free there. */
function withInverses(drafts: readonly TableDraft[], served: readonly ServedTable[]): TableDraft[] {
  const membersOf = ({ columns, relations }: TableDraft): string[] =>
    [...columns, ...relations].map((member) => member.name);
  const tables = [...served, ...drafts.map((draft) => ({ name: draft.name, members: membersOf(draft) }))];
  const taken = new Map(tables.map(({ name, members }) => [name, new Set([...GENERATED_NAMES, ...members])]));
  return drafts.map((draft) => ({
    ...draft,
    relations: draft.relations.map((relation) => {
      const used = taken.get(relation.table) ?? new Set<string>();
      const isOnly = draft.relations.filter(({ table }) => table === relation.table).length === 1;
      const isOwn = relation.table === draft.name;
      const short = isOnly && !isOwn && !used.has(draft.name);
      const inverse = memberNameFor(short ? draft.name : `${draft.name}_by_${relation.name}`, used);
      used.add(inverse);
      return { ...relation, inverse };
    }),
  }));
}

function tableJson({ profile, name, idType, times, columns, relations, uniques }: TableDraft): JsonObject {
  const moved = Object.entries(times).filter(([time, field]) => time !== field);
  return {
    name,
    storage: { collection: profile.name, ...Object.fromEntries(moved) },
    ...(idType === "objectId" ? {} : { idType }),
    columns: columns.map(columnJson),
    ...(relations.length === 0 ? {} : { relations: relations.map(relationJson) }),
    ...(uniques.length === 0 ? {} : { uniques }),
  };
}

function columnJson({ name, field, type, values, required, unique, readOnly }: ColumnDraft): JsonObject {
  return {
    name,
    ...(field === name ? {} : { field }),
    type,
    ...(required ? { required } : {}),
    ...(unique ? { unique } : {}),
    ...(readOnly ? { readOnly } : {}),
    ...(values === undefined ? {} : { options: { values } }),
  };
}

function relationJson(relation: RelationDraft): JsonObject {
  const { name, field, type, table, inverse, required } = relation;
  return {
    name,
    ...(field === linkField(relation) ? {} : { field }),
    type,
    table,
    inverse,
    ...(required ? { required } : {}),
  };
}
