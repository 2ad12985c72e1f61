// A client's relation -> a complete one; problems go to the reader.
import { ON_DELETE, type OnDelete } from "./catalog.js";
import { checkMemberName, memberId, memberKeys } from "./check-member.js";
import { plainRelation, RELATION_TYPES, type RelationDefinition, type RelationType } from "./definition.js";
import type { DefinitionContext } from "./definition-context.js";
import type { DefinitionReader } from "./definition-reader.js";
import { memberNameProblem } from "./names.js";
import { systemTableNames } from "./system-tables.js";

/** The keys that a client may set for a relation. */
export const RELATION_KEYS: readonly string[] = [
  ...["name", "type", "table", "inverse", "required", "onDelete", "counted", "description"],
];

/**
 * @param reader undefined if the client did not send an object
 * @param ownName of the table to which the relation belongs
 */
export function checkRelation(
  reader: DefinitionReader | undefined,
  ownName: string,
  context: DefinitionContext,
): RelationDefinition {
  if (reader === undefined) return unreadableRelation("", null);
  reader.knows(memberKeys(RELATION_KEYS, context));
  const name = checkMemberName(reader);
  const type = reader.choice("type", RELATION_TYPES);
  const table = checkTarget(reader, ownName, context);
  const inverse = reader.text("inverse") ?? null;
  const inverseProblem = inverse === null ? undefined : memberNameProblem(inverse);
  if (inverseProblem !== undefined) reader.problem("inverse", inverseProblem);
  const required = reader.flag("required");
  if (type === undefined) return unreadableRelation(name, inverse);
  if (required && type === "many-to-many")
    reader.problem("required", "a many-to-many relation can't be required");
  const onDelete = checkOnDelete(reader, type === "many-to-many", required);
  return {
    id: memberId(reader, "relations", context),
    name,
    type,
    table,
    inverse,
    required,
    onDelete,
    counted: checkCounted(reader, type, inverse),
    description: reader.text("description") ?? null,
  };
}

function checkCounted(reader: DefinitionReader, type: RelationType, inverse: string | null): boolean {
  const counted = reader.flag("counted");
  const problem = counted ? countProblem(type, inverse) : undefined;
  if (problem !== undefined) reader.problem("counted", problem);
  return counted;
}

/** Why the records that link by a relation can't be counted; undefined if they can. */
export function countProblem(type: RelationType, inverse: string | null): string | undefined {
  if (type === "one-to-one") return "a one-to-one relation has nothing to count";
  if (inverse !== null) return undefined;
  return "needs an inverse: the name by which the other table counts these records";
}

/** Takes the place of a relation that was refused, so that later problems name the right position. */
function unreadableRelation(name: string, inverse: string | null): RelationDefinition {
  return plainRelation(name, "", { id: "", inverse });
}

function checkOnDelete(reader: DefinitionReader, list: boolean, required: boolean): OnDelete {
  const given = reader.raw("onDelete");
  // A definition without it says this when it is read, so it may be sent back.
  if (list && given !== undefined && given !== "SET NULL")
    reader.problem("onDelete", "does not apply to many-to-many: the link goes, both records stay");
  const fallback = required ? "RESTRICT" : "SET NULL";
  const onDelete = reader.choice<OnDelete>("onDelete", ON_DELETE, fallback) ?? fallback;
  if (required && onDelete === "SET NULL")
    reader.problem("onDelete", "a required relation can't become null; use CASCADE or RESTRICT");
  return onDelete;
}

function checkTarget(
  reader: DefinitionReader,
  ownName: string,
  { catalog, systemPrefix, existing }: DefinitionContext,
): string {
  const table = reader.text("table") ?? "";
  const id = reader.raw("id");
  // Earlier versions let relations lead there, and those that the table has already stay.
  const isThere = existing?.relations.some((each) => each.id === id && each.table === table) === true;
  // A record of the table of tables is a definition, and only the making and changing of a table may write it.
  const isClosed =
    table === systemTableNames(systemPrefix).tables || catalog.tables.get(table)?.journal === true;
  if (isClosed && !isThere) reader.problem("table", `nothing can link to "${table}"`);
  if (table === "") reader.problem("table", "is required: the name of the table that it leads to");
  else if (table !== ownName && !catalog.tables.has(table)) {
    reader.problem(
      "table",
      `there is no table "${table}"${reader.suggestion(table, [...catalog.tables.keys(), ownName])}`,
    );
  }
  return table;
}
