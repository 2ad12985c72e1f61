// What a caller may see and do -> the OpenAPI 3.1 document that says so. Pure.
//
// A family of routes is described in one file of operations/ (the gateway's own in shared/gateway-operations), and
// joined here, in `operationsFor`. See CONTRIBUTING.md.
import { GATEWAY_OPERATIONS } from "@portico/shared/gateway-operations";
import type { Audience, Operation, Part } from "@portico/shared/operation";
import { cookiePrefix } from "@portico/shared/secure-cookies";
import type { Catalog } from "../catalog/catalog.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { VisibleTable } from "../permission/visible-tables.js";
import { mayOnlyRead, type Requester, sessionOf } from "../principal.js";
import { type BodyName, bodyNames, leftOutIn } from "./brought.js";
import { COMMON_SCHEMAS, commonParameters, refusal, refusalName } from "./common-parts.js";
import {
  aggregateSchema,
  deepSchema,
  filterSchema,
  loadable,
  operatorSchemas,
  type QuerySyntax,
  querySchema,
  relatedSchema,
  relatedTables,
} from "./filter-schema.js";
import { METADATA_SCHEMAS } from "./metadata.js";
import { AUTH_OPERATIONS } from "./operations/auth.js";
import { ASSET_OPERATION, fileOperations, folderOperations } from "./operations/files.js";
import { meOperations } from "./operations/me.js";
import { METADATA_OPERATIONS } from "./operations/metadata.js";
import { permissionOperations, ruleOperations } from "./operations/permissions.js";
import { queryMethod, recordOperations, type TableSyntax } from "./operations/records.js";
import { DEFINITION_MEMBERS, DEFINITION_SCHEMAS, tableOperations } from "./operations/tables.js";
import { bodySchema, broughtSchemas, recordExample, recordSchema } from "./record-schema.js";

/** The API's version; a test keeps it equal to the package's. */
export const API_VERSION = "0.1.0";

export interface Described {
  readonly principal: Requester;
  readonly catalog: Catalog;
  /** The tables with which the principal may do anything. */
  readonly tables: readonly VisibleTable[];
  /** The tables of users and roles as `/me` shows them; none for visitors. */
  readonly own: readonly VisibleTable[];
  /** APP_URL, an origin. */
  readonly appUrl: string;
  readonly systemTablePrefix: string;
  /** QUERY_MAX_LIMIT, undefined = none. */
  readonly maxLimit: number | undefined;
}

interface Context extends Described, QuerySyntax {
  readonly leftOut: ReturnType<typeof leftOutIn>;
  readonly bodyName: BodyName;
  readonly related: ReturnType<typeof relatedTables>;
}

/** The whole document. */
export function openApiOf(described: Described): Part {
  const { tables } = described;
  const about: Context = {
    ...described,
    hasDeep: hasDeepIn(tables),
    leftOut: leftOutIn(tables),
    bodyName: bodyNames(),
    related: relatedTables(tables),
  };
  const operations = operationsFor(about);
  return {
    openapi: "3.1.1",
    info: { title: "Portico", version: API_VERSION, description: DESCRIPTION },
    servers: [{ url: `${about.appUrl}/api` }],
    tags: tagsOf(operations, about),
    paths: pathsOf(operations, about),
    components: {
      schemas: schemasOf(about),
      parameters: commonParameters(about.maxLimit),
      responses: responsesOf(operations),
      securitySchemes: securitySchemes(about.appUrl),
    },
  };
}

const DESCRIPTION = `What you may do here, as whoever you are signed in as; others see other tables and columns.

Browsers sign in with \`POST /login\` and send cookies from then on; programs with \`POST /auth/login\` or an API token, as \`Authorization: Bearer …\`.

Answers are \`{"statusCode","message","data"}\`, refusals the schema \`Error\`. A required column is never null there, but in records older than that rule, which no schema says. Every answer carries \`X-Correlation-ID\`. HEAD answers as GET does, without a body (405 where a browser is to go, and for \`/{table}/changes\`, which has no end); OPTIONS answers 204 with \`Allow\` (405, too, where a browser is to go); what is not listed is refused: 401 or 403 where it is not yours, else 405 for a method and 404 for an address (all as \`Error\`).

The method QUERY (RFC 10008) lists a table with the query in the body. OpenAPI 3.1 has no place for it in \`paths\`: it stands as \`x-query\` beside the other methods, and is sent as POST with \`X-HTTP-Method-Override: QUERY\` where it can't be sent by its name.`;

/** Everything the caller may use. */
function operationsFor(about: Context): readonly Operation[] {
  const { catalog, principal } = about;
  const names = systemTableNames(about.systemTablePrefix);
  const users = catalog.tables.get(names.users);
  const fixed = [
    ...GATEWAY_OPERATIONS,
    ...AUTH_OPERATIONS,
    ...(users === undefined ? [] : meOperations(users)),
    ...METADATA_OPERATIONS,
    ASSET_OPERATION,
    ...permissionOperations(names.permissions),
  ];
  const ofTables = about.tables.flatMap((table) => operationsOf(table, about));
  return [...fixed, ...ofTables].filter((operation) => mayUse(operation, principal));
}

function operationsOf(visible: VisibleTable, about: Context): readonly Operation[] {
  if (isTableOfTables(visible, about)) return tableOperations(visible, isRootAdmin(about.principal));
  const operations = recordOperations(visible, syntaxOf(visible, about));
  const { files, folders, permissions } = systemTableNames(about.systemTablePrefix);
  const { name } = visible.table;
  if (name === files) return fileOperations(visible, operations);
  if (name === folders) return folderOperations(visible, operations);
  return name === permissions ? ruleOperations(name, operations, sampleTable(about)) : operations;
}

/** A table for which there can be rules. */
function sampleTable({ tables, systemTablePrefix }: Described): string {
  const own = tables.find(({ table }) => !table.system);
  return own?.table.name ?? systemTableNames(systemTablePrefix).files;
}

function syntaxOf({ table: { name } }: VisibleTable, about: Context): TableSyntax {
  const isUsers = name === systemTableNames(about.systemTablePrefix).users;
  return { hasDeep: about.hasDeep(name), forRoot: isRootAdmin(about.principal), hasMany: !isUsers };
}

function isTableOfTables({ table }: VisibleTable, { systemTablePrefix }: Described): boolean {
  return table.name === systemTableNames(systemTablePrefix).tables;
}

function hasDeepIn(tables: readonly VisibleTable[]): (name: string) => boolean {
  const deep = new Set(tables.filter((each) => loadable(each).length > 0).map(({ table }) => table.name));
  return (name) => deep.has(name);
}

function isRootAdmin(principal: Requester): boolean {
  return principal.kind === "user" && principal.isRootAdmin;
}

function mayUse(operation: Operation, principal: Requester): boolean {
  if (mayOnlyRead(principal) && !isForReadOnly(operation)) return false;
  const audiences: Readonly<Record<Audience, boolean>> = {
    anyone: true,
    user: principal.kind === "user",
    root: isRootAdmin(principal),
    session: sessionOf(principal) !== undefined,
  };
  return audiences[operation.for];
}

function isForReadOnly({ method, isSafe, ignoresCredentials, takesReadOnly }: Operation): boolean {
  return method === "get" || [isSafe, ignoresCredentials, takesReadOnly].includes(true);
}

/** Headings in the order in which they are shown: what everybody has, the user's own tables, the system's. */
function tagsOf(operations: readonly Operation[], { tables }: Described): readonly Part[] {
  const ofTables = new Map(tables.map(({ table }) => [table.name, table]));
  const rank = (name: string): number => {
    const table = ofTables.get(name);
    return table === undefined ? 0 : table.system ? 2 : 1;
  };
  const byName = (a: string, b: string): number => (rank(a) === 0 || a === b ? 0 : a < b ? -1 : 1);
  const names = [...new Set(operations.map(({ tag }) => tag))].toSorted(
    (a, b) => rank(a) - rank(b) || byName(a, b),
  );
  return names.map((name) => {
    const description = ofTables.get(name)?.description;
    return { name, ...(description ? { description } : {}) };
  });
}

function pathsOf(operations: readonly Operation[], about: Context): Part {
  const paths = new Map<string, Record<string, Part>>();
  for (const operation of operations) {
    const item = paths.get(operation.path) ?? {};
    item[operation.method] = operationPart(operation, about.principal);
    paths.set(operation.path, item);
  }
  for (const visible of about.tables) {
    const item = paths.get(`/${visible.table.name}`);
    if (item === undefined || visible.actions.read === undefined) continue;
    const query = queryMethod(visible, syntaxOf(visible, about));
    item["x-query"] = operationPart(query, about.principal);
  }
  return Object.fromEntries(paths);
}

function operationPart(operation: Operation, principal: Requester): Part {
  const { id, tag, summary, description, parameters = [], body, isBodyOptional = false } = operation;
  const { bodies = body === undefined ? undefined : { "application/json": body } } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(bodies === undefined ? {} : { requestBody: { required: !isBodyOptional, content: bodies } }),
    responses: { ...operation.answers, ...refusalsOf(operation) },
    security: securityOf(operation, principal),
  };
}

function refusalsOf({ refusals }: Operation): Part {
  return Object.fromEntries(
    refusals.map((status) => [status, { $ref: `#/components/responses/${refusalName(status)}` }]),
  );
}

function securityOf({ ignoresCredentials }: Operation, principal: Requester): readonly Part[] {
  if (ignoresCredentials || principal.kind === "anonymous") return [];
  return [{ cookie: [] }, { bearer: [] }];
}

function responsesOf(operations: readonly Operation[]): Part {
  const statuses = new Set(operations.flatMap(({ refusals }) => refusals));
  return Object.fromEntries([...statuses].map((status) => [refusalName(status), refusal(status)]));
}

function schemasOf(about: Context): Part {
  const isTables = about.tables.some((each) => isTableOfTables(each, about));
  return {
    ...COMMON_SCHEMAS,
    ...METADATA_SCHEMAS,
    ...(about.tables.some(({ actions }) => actions.read) ? operatorSchemas() : {}),
    ...(isTables ? DEFINITION_SCHEMAS : {}),
    ...ownSchemas(about.own),
    ...Object.assign({}, ...about.tables.map((each) => schemasOfTable(each, about))),
  };
}

function ownSchemas(tables: readonly VisibleTable[]): Part {
  const own = new Set(tables.map(({ table }) => table.name));
  return Object.fromEntries(
    tables.map((each) => {
      const schema = recordSchema(each, {}, own);
      return [`${each.table.name}.own`, { ...schema, examples: [recordExample(each)] }];
    }),
  );
}

/**
 * Each name ends in the word of its kind, in which no fixed name does: generators drop the dots and change case, and the
 * schemas of a table `posts_create` or `error` would meet others.
 */
function schemasOfTable(visible: VisibleTable, about: Context): Part {
  const { name } = visible.table;
  const { read, create, update } = visible.actions;
  const overrides = isTableOfTables(visible, about) ? DEFINITION_MEMBERS : NO_OVERRIDES;
  const hasExplain = isRootAdmin(about.principal);
  const record = {
    ...recordSchema(visible, overrides.shown),
    examples: [recordExample(visible, overrides.shown)],
  };
  return {
    ...(read === undefined ? {} : { [`${name}.record`]: record, [`${name}.filter`]: filterSchema(visible) }),
    ...(about.related.has(name) ? { [`${name}.related`]: relatedSchema(visible) } : {}),
    ...(read === undefined ? {} : { [`${name}.aggregate`]: aggregateSchema(visible) }),
    ...(read === undefined ? {} : { [`${name}.query`]: querySchema(visible, about, hasExplain) }),
    ...(about.hasDeep(name) ? { [`${name}.deep`]: deepSchema(visible, about) } : {}),
    ...(create === undefined || visible.table.ownCreate === "upload"
      ? {}
      : { [`${name}.create`]: bodySchema(visible, "creatable", about.bodyName, overrides.creatable) }),
    ...(create === undefined ? {} : broughtSchemas(visible, about.leftOut.get(name) ?? [], about.bodyName)),
    ...(update === undefined
      ? {}
      : { [`${name}.update`]: bodySchema(visible, "updatable", about.bodyName, overrides.updatable) }),
  };
}

const NO_OVERRIDES = { shown: {}, creatable: {}, updatable: {} };

/** Cookies have another name on https; see docs/api.md, section 3.3. */
function securitySchemes(appUrl: string): Part {
  return {
    cookie: {
      type: "apiKey",
      in: "cookie",
      name: `${cookiePrefix(appUrl)}accessToken`,
      description: "Set by `POST /login`.",
    },
    bearer: {
      type: "http",
      scheme: "bearer",
      description: "An access token of `POST /auth/login`, or an API token.",
    },
  };
}
