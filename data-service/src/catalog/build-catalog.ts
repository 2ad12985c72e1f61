// Table definitions -> catalog: adds what every table has and both ends of every relation.
import { getOrMake } from "../get-or-make.js";
import type {
  Catalog,
  Column,
  Counter,
  LatestChange,
  LinkField,
  OwnCreate,
  Relation,
  Rules,
  Table,
} from "./catalog.js";
import { COLUMN_TYPES, type ColumnType } from "./column-types.js";
import type { ColumnDefinition, RelationDefinition, RulesDefinition, TableDefinition } from "./definition.js";
import { fieldOf } from "./fields.js";
import { OWN_FIELDS } from "./own-fields.js";
import { DELETED_AT, DELETED_FIELD } from "./soft-delete.js";

/** A definition of one of Portico's own tables, with what owners' tables can't have. */
export interface SystemTableDefinition extends TableDefinition {
  /** Names of columns that nobody can read. */
  readonly secrets: readonly string[];
  /** See Table. */
  readonly journal?: boolean;
  /** See Table. */
  readonly ownCreate?: OwnCreate | undefined;
  /** See Table. */
  readonly changesOnlyLink?: boolean;
  readonly uniquesWithNull?: readonly (readonly string[])[];
  /** Names of relations that only the service writes. */
  readonly readOnlyRelations?: readonly string[];
  /** What null means of relations that a new record must name, by their names. */
  readonly nullMeans?: Readonly<Record<string, string>>;
  /** Names of columns that the service fills in. */
  readonly filled?: readonly string[];
  /** Names of columns with the addresses that users sign in by. */
  readonly addresses?: readonly string[];
}

/**
 * Builds the frozen catalog.
 * @param version the number of the schema change that it shows
 * @param changing ids of the tables whose records nobody writes at this moment
 * @param change the latest change of tables that already existed
 */
export function buildCatalog(
  version: number,
  definitions: readonly TableDefinition[],
  systemDefinitions: readonly SystemTableDefinition[],
  changing: readonly string[] = [],
  change?: LatestChange,
): Catalog {
  const tables = new Map<string, Table>();
  const all = [...systemDefinitions, ...definitions];
  for (const definition of systemDefinitions) tables.set(definition.name, buildSystemTable(definition, all));
  for (const definition of definitions) tables.set(definition.name, buildTable(definition, all));
  const inverses = inversesByTable(all);
  for (const [name, table] of tables) tables.set(name, addInverses(table, inverses.get(name) ?? []));
  return Object.freeze({ version, tables, changing: new Set(changing), change });
}

function buildSystemTable(definition: SystemTableDefinition, all: readonly TableDefinition[]): Table {
  const table = buildTable(definition, all, definition.secrets);
  const { journal = false, ownCreate, changesOnlyLink = false, uniquesWithNull = [] } = definition;
  const { readOnlyRelations = [], nullMeans = {}, filled = [], addresses = [] } = definition;
  const columns = [...table.columns].map(([name, column]): [string, Column] => {
    if (filled.includes(name)) return [name, { ...column, filled: true }];
    return [name, addresses.includes(name) ? { ...column, isAddress: true } : column];
  });
  const relations = [...table.relations].map(([name, relation]): [string, Relation] => [
    name,
    {
      ...relation,
      ...(readOnlyRelations.includes(name) && { readOnly: true }),
      ...(nullMeans[name] !== undefined && { nullMeans: nullMeans[name] }),
    },
  ]);
  const members = { columns: new Map(columns), relations: new Map(relations) };
  return { ...table, journal, ownCreate, changesOnlyLink, uniquesWithNull, ...members };
}

function buildTable(
  definition: TableDefinition,
  all: readonly TableDefinition[],
  secrets?: readonly string[],
): Table {
  const { fields } = definition.storage;
  const idColumn = generatedColumn("id", "_id", definition.idType);
  const time = (name: string): Column => ({
    ...generatedColumn(name, fields[name] ?? name, "datetime"),
    ...adoptedBy(definition),
  });
  const [createdAt, updatedAt] = [time("createdAt"), time("updatedAt")];
  const deletedAt: Column | undefined =
    definition.softDelete === true
      ? { ...generatedColumn(DELETED_AT, DELETED_FIELD, "datetime"), required: false }
      : undefined;
  const columns = [
    idColumn,
    ...definition.columns.map((column) => buildColumn(definition, column, secrets ?? [])),
    createdAt,
    updatedAt,
    ...(deletedAt === undefined ? [] : [deletedAt]),
  ];
  return {
    id: definition.id,
    name: definition.name,
    collection: definition.storage.collection,
    ...adoptedBy(definition),
    description: definition.description,
    singleton: definition.singleton,
    changes: definition.changes === true,
    history: definition.history === true,
    journalEpoch: definition.storage.journalEpoch ?? 0,
    idType: definition.idType,
    isSharded: definition.shardKey === "id",
    system: secrets !== undefined,
    idColumn,
    createdAt,
    updatedAt,
    ...(deletedAt === undefined ? {} : { deletedAt }),
    columns: new Map(columns.map((column) => [column.name, column])),
    relations: new Map(
      definition.relations.map((relation) => [relation.name, ownRelation(definition, relation, all)]),
    ),
    uniques: definition.uniques,
    indexes: definition.indexes,
  };
}

function generatedColumn(name: string, field: string, type: ColumnType): Column {
  return {
    id: name,
    name,
    field,
    type,
    required: true,
    default: undefined,
    unique: name === "id",
    values: [],
    rules: {},
    hidden: false,
    readOnly: false,
    encrypted: false,
    searchable: false,
    secret: false,
    indexed: true,
    description: null,
    generated: true,
  };
}

/** @param secrets names of columns that nobody sees */
export function buildColumn(
  table: TableDefinition,
  column: ColumnDefinition,
  secrets: readonly string[] = [],
): Column {
  const { options, rules, default: defaultValue, ...plain } = column;
  return {
    ...plain,
    field: fieldOf(table, column.id),
    default: defaultValue,
    values: options?.values ?? [],
    rules: buildRules(column.type, rules ?? {}),
    generated: false,
    secret: secrets.includes(column.name),
    ...adoptedBy(table),
    indexed:
      column.unique || table.indexes.some(([first]) => first === column.name || first === `-${column.name}`),
  };
}

/** Rules in stored form: bounds become values of the column's type. */
export function buildRules(type: ColumnType, { min, max, ...plain }: RulesDefinition): Rules {
  const parse = COLUMN_TYPES[type].parse;
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : parse(bound, [])));
  return {
    ...plain,
    ...(least === undefined ? {} : { min: least }),
    ...(most === undefined ? {} : { max: most }),
  };
}

function ownRelation(
  table: TableDefinition,
  relation: RelationDefinition,
  all: readonly TableDefinition[],
): Relation {
  const link = linkFieldOf(table, relation);
  return {
    id: relation.id,
    name: relation.name,
    target: relation.table,
    inverse: relation.inverse,
    many: link.list,
    link: { on: "self", ...link },
    required: relation.required,
    exclusive: relation.type === "one-to-one",
    onDelete: relation.onDelete,
    counter: relation.counted ? counterOf(table, relation, all) : undefined,
    description: relation.description,
  };
}

function counterOf(
  table: TableDefinition,
  relation: RelationDefinition,
  all: readonly TableDefinition[],
): Counter | undefined {
  const parents = all.find(({ name }) => name === relation.table)?.storage.collection;
  if (parents === undefined) return undefined;
  const field = OWN_FIELDS.counter.prefix + relation.id;
  return {
    id: relation.id,
    column: { ...generatedColumn(field, field, "int"), required: false },
    version: OWN_FIELDS.counterVersion.prefix + relation.id,
    ready: table.storage.building?.includes(relation.id) !== true,
    parents,
    children: { collection: table.storage.collection, ...linkFieldOf(table, relation) },
  };
}

function linkFieldOf(table: TableDefinition, { id, type }: RelationDefinition): LinkField {
  const list = type === "many-to-many";
  return { field: fieldOf(table, id), list, ...adoptedBy(table) };
}

function adoptedBy({ storage }: TableDefinition): { readonly isAdopted?: true } {
  return storage.adopted === true ? { isAdopted: true } : {};
}

/** The other ends of the relations that other tables (or the table itself) declare with an `inverse`, by the table's name. */
function inversesByTable(all: readonly TableDefinition[]): ReadonlyMap<string, readonly Relation[]> {
  const inverses = new Map<string, Relation[]>();
  for (const owner of all)
    for (const relation of owner.relations)
      getOrMake(inverses, relation.table, () => []).push(...inverseOf(owner, relation, all));
  return inverses;
}

function addInverses(table: Table, inverses: readonly Relation[]): Table {
  const relations = [...table.relations, ...inverses.map((relation) => [relation.name, relation] as const)];
  return Object.freeze({ ...table, relations: new Map(relations) });
}

function inverseOf(
  owner: TableDefinition,
  relation: RelationDefinition,
  all: readonly TableDefinition[],
): Relation[] {
  if (relation.inverse === null) return [];
  return [
    {
      id: `${relation.id}:inverse`,
      name: relation.inverse,
      target: owner.name,
      inverse: relation.name,
      many: relation.type !== "one-to-one",
      link: { on: "target", ...linkFieldOf(owner, relation) },
      required: false,
      exclusive: relation.type === "one-to-one",
      onDelete: relation.onDelete,
      counter: relation.counted ? counterOf(owner, relation, all) : undefined,
      description: relation.description,
    },
  ];
}
