// Portico's own tables, defined like anybody's tables.
import { ACTIONS } from "../permission/rule.js";
import type { SystemTableDefinition } from "./build-catalog.js";
import { ID_TYPES } from "./catalog.js";
import { plainColumn as column, SHARD_KEYS, plainRelation as toOne } from "./definition.js";

type Settings = Omit<SystemTableDefinition, "id" | "name" | "columns" | "storage">;

interface Parts extends Partial<Settings>, Pick<SystemTableDefinition, "columns"> {
  readonly fields?: Record<string, string>;
}

function systemTable(name: string, { fields, ...parts }: Parts): SystemTableDefinition {
  const { columns, relations = [] } = parts;
  const columnFields = columns.map((each): [string, string] => [each.id, each.name]);
  const relationFields = relations.map((each): [string, string] => [each.id, `${each.name}Id`]);
  return {
    id: name,
    name,
    description: null,
    singleton: false,
    idType: "objectId",
    relations,
    uniques: [],
    indexes: [],
    secrets: [],
    ...parts,
    storage: {
      collection: name,
      fields: { ...Object.fromEntries([...columnFields, ...relationFields]), ...fields },
    },
  };
}

/** What the system tables are called. */
export interface SystemTableNames {
  /** The table of tables. */
  readonly tables: string;
  readonly roles: string;
  readonly users: string;
  readonly permissions: string;
  readonly audit: string;
  readonly routeHandlers: string;
  readonly folders: string;
  readonly files: string;
}

/** @param prefix `svc_` unless configured otherwise */
export function systemTableNames(prefix: string): SystemTableNames {
  return {
    tables: `${prefix}table`,
    roles: `${prefix}role`,
    users: `${prefix}user`,
    permissions: `${prefix}permission`,
    audit: `${prefix}audit`,
    routeHandlers: `${prefix}route_handler`,
    folders: `${prefix}folder`,
    files: `${prefix}file`,
  };
}

/** Columns of users: only root admins decide what a user is and may do. */
export const FOR_ROOT: readonly string[] = ["email", "isActive", "isRootAdmin"];

/** The definitions of the system tables. @param prefix `svc_` unless configured otherwise */
export function systemTables(prefix: string): SystemTableDefinition[] {
  const names = systemTableNames(prefix);
  return [
    systemTable(names.tables, {
      columns: [
        column("name", "string", { required: true, unique: true }),
        column("description", "text"),
        column("singleton", "boolean"),
        column("changes", "boolean"),
        column("history", "boolean"),
        column("softDelete", "boolean"),
        column("shardKey", "enum", { options: { values: [...SHARD_KEYS] } }),
        column("idType", "enum", { options: { values: [...ID_TYPES] } }),
        column("columns", "json"),
        column("relations", "json"),
        column("uniques", "json"),
        column("indexes", "json"),
        column("change", "json", { readOnly: true }),
      ],
      ownCreate: "json",
    }),
    systemTable(names.roles, {
      columns: [column("name", "string", { required: true, unique: true }), column("description", "text")],
    }),
    systemTable(names.users, {
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
      relations: [toOne("role", names.roles)],
      fields: { password: "passwordHash" },
      secrets: ["password"],
      addresses: ["email"],
    }),
    systemTable(names.permissions, {
      columns: [
        column("table", "string", { required: true }),
        column("action", "enum", { required: true, options: { values: [...ACTIONS] } }),
        column("filter", "json"),
        column("fields", "text"),
        column("presets", "json"),
        column("check", "json"),
        column("isEnabled", "boolean", { required: true, default: true }),
        column("description", "text"),
      ],
      // A rule without a role applies to everybody: so a role's rules must be deleted with it, and never turn into such
      // rules.
      relations: [toOne("role", names.roles, { onDelete: "CASCADE" })],
      // Were it left out, as an id is that was not found, the rule would open the table to everybody.
      nullMeans: { role: "everyone, visitors too" },
      // A change that makes records as well may be taken back much later, by another process. Who has changed the rule
      // meanwhile, and seen whose it was then, would find it applied to others.
      changesOnlyLink: true,
    }),
    systemTable(names.audit, {
      columns: [
        column("event", "string"),
        // Not a relation: the log must still say who it was when the user is gone.
        column("userId", "objectId"),
        column("address", "string"),
        column("origin", "string"),
        column("userAgent", "string"),
        column("correlationId", "string"),
        column("details", "json"),
      ],
      indexes: [
        ["event", "-createdAt"],
        ["userId", "-createdAt"],
      ],
      journal: true,
    }),
    routeHandlerTable(names),
    ...fileTables(names),
  ];
}

const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];

/** Kept for programs that run handlers of their own; nothing in this service runs them. */
function routeHandlerTable(names: SystemTableNames): SystemTableDefinition {
  return systemTable(names.routeHandlers, {
    description:
      "Source and compiled code of handlers, by route and method: stored and served, never executed.",
    columns: [
      column("route", "string", { required: true, rules: { minLength: 1, maxLength: 1_000 } }),
      column("method", "enum", { required: true, default: "GET", options: { values: HTTP_METHODS } }),
      column("sourceCode", "text"),
      column("compiledCode", "text"),
      column("timeout", "int", { rules: { min: 1 }, description: "In milliseconds." }),
      column("isEnabled", "boolean", { required: true, default: true }),
    ],
    uniques: [["route", "method"]],
  });
}

/** Files and folders. The bytes of a file are stored elsewhere (files/contents), under a key that its record names. */
function fileTables(names: SystemTableNames): SystemTableDefinition[] {
  const readOnly = { readOnly: true };
  return [
    systemTable(names.folders, {
      columns: [
        column("name", "string", { required: true, rules: { minLength: 1, maxLength: 255 } }),
        column("slug", "string", {
          required: true,
          rules: { minLength: 1, maxLength: 100, pattern: "^[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}._-]*$" },
        }),
        column("order", "int", { required: true, default: 0 }),
      ],
      relations: [toOne("parent", names.folders, { onDelete: "RESTRICT" })],
      filled: ["slug"],
      uniquesWithNull: [
        ["parent", "name"],
        ["parent", "slug"],
      ],
    }),
    systemTable(names.files, {
      columns: [
        column("filename", "string", { required: true, rules: { minLength: 1, maxLength: 255 } }),
        column("title", "string", { rules: { maxLength: 1_000 } }),
        column("description", "text", { rules: { maxLength: 10_000 } }),
        column("mimetype", "string", { required: true, ...readOnly }),
        column("filesize", "int", { required: true, ...readOnly }),
        column("width", "int", readOnly),
        column("height", "int", readOnly),
        column("isPublic", "boolean", { required: true, default: false }),
      ],
      relations: [
        toOne("folder", names.folders, { onDelete: "RESTRICT", inverse: "files" }),
        toOne("uploadedBy", names.users),
      ],
      readOnlyRelations: ["uploadedBy"],
      ownCreate: "upload",
    }),
  ];
}
