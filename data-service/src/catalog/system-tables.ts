// The tables Portico brings along, in the same form as anybody's tables.
import type { SystemTableDefinition } from "./build-catalog.js";
import type { ColumnType } from "./column-types.js";
import type { ColumnDefinition, RelationDefinition } from "./definition.js";

type Extras = Partial<Omit<ColumnDefinition, "id" | "name" | "type">>;

function column(name: string, type: ColumnType, extras: Extras = {}): ColumnDefinition {
  return {
    ...{ id: name, name, type, required: false, unique: false, hidden: false, readOnly: false },
    ...{ encrypted: false, searchable: false, description: null },
    ...extras,
  };
}

function toOne(name: string, table: string): RelationDefinition {
  return {
    ...{ id: name, name, type: "many-to-one", table, inverse: null, required: false },
    ...{ onDelete: "SET NULL", counted: false, description: null },
  };
}

function systemTable(
  name: string,
  parts: {
    columns: ColumnDefinition[];
    relations?: RelationDefinition[];
    fields?: Record<string, string>;
    secrets?: string[];
  },
): SystemTableDefinition {
  const { columns, relations = [], fields = {}, secrets = [] } = parts;
  const columnFields = columns.map((each): [string, string] => [each.id, each.name]);
  const relationFields = relations.map((each): [string, string] => [each.id, `${each.name}Id`]);
  return {
    ...{ id: name, name, description: null, singleton: false, idType: "objectId", uniques: [], indexes: [] },
    ...{ columns, relations, secrets },
    storage: {
      collection: name,
      fields: { ...Object.fromEntries([...columnFields, ...relationFields]), ...fields },
    },
  };
}

/** The definitions of the system tables. @param prefix `svc_` unless configured otherwise */
export function systemTables(prefix: string): SystemTableDefinition[] {
  return [
    systemTable(`${prefix}table`, {
      columns: [
        column("name", "string", { required: true, unique: true }),
        column("description", "text"),
        column("singleton", "boolean"),
        column("idType", "enum", { options: { values: ["objectId", "uuid", "int"] } }),
        column("columns", "json"),
        column("relations", "json"),
        column("uniques", "json"),
        column("indexes", "json"),
        column("change", "json", { readOnly: true }),
      ],
    }),
    systemTable(`${prefix}role`, {
      columns: [column("name", "string", { required: true, unique: true }), column("description", "text")],
    }),
    systemTable(`${prefix}user`, {
      columns: [
        column("email", "string", {
          required: true,
          unique: true,
          rules: { format: "email", maxLength: 254 },
        }),
        column("password", "string", { rules: { minLength: 8, maxLength: 1024 } }),
        column("name", "string"),
        column("isActive", "boolean", { required: true, default: true }),
        column("isRootAdmin", "boolean", { required: true, default: false }),
      ],
      relations: [toOne("role", `${prefix}role`)],
      fields: { password: "passwordHash" },
      secrets: ["password"],
    }),
  ];
}
