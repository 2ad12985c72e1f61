// Where a table's data is stored: what a schema file says about it, and the fields that members get.
import { isArray, isObject } from "@portico/shared/json";
import type { Members } from "./check-member.js";
import { isList, type RelationDefinition, type TableDefinition } from "./definition.js";
import type { DefinitionContext } from "./definition-context.js";
import type { DefinitionReader } from "./definition-reader.js";
import { freeField } from "./fields.js";
import { collectionNameProblem, fieldProblem, isOfEveryObject } from "./names.js";

/** Where an adopted table's data is already stored. */
export interface GivenStorage {
  readonly collection?: string;
  /** Member id, or the name of a generated column, -> field. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * What a schema file says about documents that existed before the table: their collection, and the fields of members. It
 * decides for what is new. An existing table or member keeps its place, and anything else said about it is a problem.
 */
export function checkStorage(
  definition: DefinitionReader,
  members: Members,
  { ownIds, existing, systemPrefix }: DefinitionContext,
): GivenStorage | undefined {
  const given = ownIds ? definition.raw("storage") : undefined;
  if (given === undefined) {
    if (ownIds && givenFields(definition, members).some(([, field]) => field !== undefined))
      definition.problem("storage", 'is needed where members have a "field": {"collection": …}');
    return undefined;
  }
  const reader = definition.object("storage");
  if (reader === undefined) return undefined;
  reader.knows(["collection", ...GENERATED_TIMES]);
  const collection = reader.text("collection");
  const problem = collectionNameProblem(collection ?? "", systemPrefix);
  if (problem !== undefined) reader.problem("collection", problem);
  else if (existing !== undefined && existing.storage.collection !== collection)
    reader.problem("collection", `the data lies in "${existing.storage.collection}", and stays there`);
  const times = GENERATED_TIMES.map((name) => [name, reader.text(name)] as const);
  const entries = [...times, ...givenFields(definition, members)];
  const said = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
  const fields = Object.fromEntries(said);
  if (existing !== undefined) checkPlaces(definition, members, existing, fields);
  for (const [id, field] of said) {
    // Earlier versions have let such names in.
    const isThere = isOfEveryObject(field) && existing?.storage.fields[id] === field;
    const wrong = isThere ? undefined : fieldProblem(field);
    if (wrong !== undefined) definition.problem("storage", `the field "${field}" ${wrong}`);
  }
  const names = fieldsOfAll(members, existing, fields);
  for (const twice of new Set(names.filter((name, at) => names.indexOf(name) !== at)))
    definition.problem("storage", `the field "${twice}" is used twice`);
  return { ...(collection === undefined ? {} : { collection }), fields };
}

const GENERATED_TIMES = ["createdAt", "updatedAt"] as const;

/** What has data already stays where it is, and only adopted documents have data for what is new. */
function checkPlaces(
  definition: DefinitionReader,
  { columns, relations }: Members,
  { name: table, storage }: TableDefinition,
  given: GivenStorage["fields"],
): void {
  const times = GENERATED_TIMES.map((time) => [time, time, storage.fields[time] ?? time] as const);
  const own = [...columns, ...relations].map(({ id, name }) => [id, name, storage.fields[id]] as const);
  for (const [id, name, former] of [...times, ...own]) {
    const wish = given[id];
    if (wish === undefined || wish === former) continue;
    if (former !== undefined)
      definition.problem(
        "storage",
        `the data of "${name}" lies in the field "${former}", not "${wish}", and stays there`,
      );
    else if (storage.adopted !== true)
      definition.problem("storage", `"${table}" is no adopted table; leave out the "field" of "${name}"`);
  }
}

/** The field that each member, and each generated time, has, is given, or would have of itself. */
function fieldsOfAll(
  { columns, relations }: Members,
  existing: TableDefinition | undefined,
  given: GivenStorage["fields"],
): string[] {
  const usual: (readonly [string, string])[] = [
    ...GENERATED_TIMES.map((time) => [time, time] as const),
    ...columns.map(({ id, name }) => [id, name] as const),
    ...relations.map((each) => [each.id, linkField(each)] as const),
  ];
  return usual.map(([id, field]) => existing?.storage.fields[id] ?? given[id] ?? field);
}

/** The definition lists its members in the order of the body. */
function givenFields(
  definition: DefinitionReader,
  { columns, relations }: Members,
): (readonly [string, string | undefined])[] {
  const lists = ["columns", "relations"].map((key) => definition.raw(key));
  const given = lists.flatMap((list) => (isArray(list) ? list : []));
  return [...columns, ...relations].map(({ id }, at) => {
    const member = given[at];
    return [id, isObject(member) && typeof member.field === "string" ? member.field : undefined];
  });
}

/**
 * Column data is stored under the column's name, ids of linked records under the relation's name with Id or Ids, unless a
 * schema file says where it already is. Existing members keep their fields, and a field that held other values before is not
 * used again; except in an adopted collection, whose documents may still have it.
 */
export function storageOf(
  name: string,
  { columns, relations }: Members,
  existing: TableDefinition | undefined,
  given: GivenStorage | undefined,
): TableDefinition["storage"] {
  const kept = existing?.storage;
  const { collection = given?.collection ?? name, fields: former = {}, retired, journalEpoch } = kept ?? {};
  const adopted = existing === undefined ? given !== undefined : existing.storage.adopted === true;
  const known = { ...(adopted ? given?.fields : {}), ...former };
  const times = GENERATED_TIMES.map((time) => [time, known[time] ?? time] as const);
  const taken = new Set<string>([
    "_id",
    ...times.map(([, field]) => field),
    ...Object.values(known),
    ...(adopted ? [] : (retired ?? [])),
  ]);
  const allocate = (id: string, wish: string): [string, string] => {
    const field = known[id] ?? freeField(wish, taken);
    taken.add(field);
    return [id, field];
  };
  const fields = Object.fromEntries([
    ...times.filter(([time, field]) => time !== field),
    ...columns.map((each) => allocate(each.id, each.name)),
    ...relations.map((each) => allocate(each.id, linkField(each))),
  ]);
  return {
    collection,
    fields,
    ...(adopted ? { adopted } : {}),
    ...(retired === undefined ? {} : { retired }),
    ...(journalEpoch === undefined ? {} : { journalEpoch }),
  };
}

/** Where a relation's ids are stored, unless something else is said. */
export function linkField(relation: Pick<RelationDefinition, "name" | "type">): string {
  return `${relation.name}${isList(relation) ? "Ids" : "Id"}`;
}
