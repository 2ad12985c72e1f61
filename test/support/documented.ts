// Are the answers of a service in the OpenAPI document? Every service that a test starts is held to it: see stack.ts
// and global-teardown.ts.
import { appendFileSync } from "node:fs";
import { buildCatalog } from "@portico/data-service/catalog/build-catalog";
import { checkDefinition } from "@portico/data-service/catalog/check-definition";
import { systemTableNames, systemTables } from "@portico/data-service/catalog/system-tables";
import { openApiOf } from "@portico/data-service/metadata/openapi";
import { Rights } from "@portico/data-service/permission/rights";
import { visibleTables } from "@portico/data-service/permission/visible-tables";
import { GATEWAY_OPERATIONS } from "@portico/shared/gateway-operations";

/** One line of a service's log: a request that was answered to its end. */
export interface Answered {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

export type ServiceName = "gateway" | "data-service";

/** Operation objects by path and method, as far as this looks into them. */
type Paths = Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;

const PREFIX = "svc_";
/** What SYSTEM_TABLE_PREFIX is where a test sets it. */
const OTHER_PREFIX = /^\/sys_/;
/** Stands for every table that is not the system's: what can be answered does not depend on the table. */
const SAMPLE = "any_table";
/** Not part of the API: probes, the gateway's own calls, and the stand-in for providers' sites. */
const OTHERS = /^\/(?:healthz|readyz|metrics|internal|auth\/dev)(?:\/|$)/;
/** Where no operation is, nothing succeeds; a service that is away can say so before it has looked. */
const isRefusal = (status: number): boolean =>
  (status >= 400 && status < 500) || status === 502 || status === 503;

/** The document of a root admin who has one table. */
function rootDocument(): Paths {
  const existing = buildCatalog(0, [], systemTables(PREFIX));
  const newId = (): string => SAMPLE;
  const sample = { name: SAMPLE, changes: true, history: true, softDelete: true };
  const checked = checkDefinition(sample, { catalog: existing, systemPrefix: PREFIX, newId });
  if (!checked.ok) throw new Error(checked.problems.join("\n"));
  const catalog = buildCatalog(1, [checked.definition], systemTables(PREFIX));
  const by = { kind: "session", id: "", origin: null } as const;
  const principal = { kind: "user", userId: "", roleId: null, isRootAdmin: true, by } as const;
  const rights = new Rights({
    principal,
    roleId: null,
    rules: [],
    user: null,
    now: new Date(0),
    tables: systemTableNames(PREFIX),
  });
  const visible = visibleTables(rights, catalog);
  const about = {
    principal,
    catalog,
    tables: visible,
    own: [],
    appUrl: "http://localhost",
    systemTablePrefix: PREFIX,
    maxLimit: undefined,
  };
  return JSON.parse(JSON.stringify(openApiOf(about).paths));
}

const GATEWAY_PATHS: Paths = rootDocument();
const ofGateway = new Set(GATEWAY_OPERATIONS.map(({ path }) => path));
const DATA_PATHS: Paths = Object.fromEntries(
  Object.entries(GATEWAY_PATHS).filter(([path]) => !ofGateway.has(path)),
);

/** The requests in the log of a service that were answered to their end. */
export function answersIn(log: string): Answered[] {
  return log.split("\n").flatMap((line) => {
    if (!line.includes('"message":"request"')) return [];
    const { method, path, status } = JSON.parse(line) as Answered;
    return [{ method, path, status }];
  });
}

/** @returns a sentence for each kind of answer that the document does not have */
export function undocumented(service: ServiceName, answers: readonly Answered[]): string[] {
  const problems = answers.flatMap((answer) => problemOf(service, answer) ?? []);
  return [...new Set(problems)];
}

function problemOf(service: ServiceName, { method, path, status }: Answered): string | undefined {
  const below = (service === "data-service" ? path : /^\/api(\/.*)$/.exec(path)?.[1])?.replace(
    OTHER_PREFIX,
    `/${PREFIX}`,
  );
  if (below === undefined || OTHERS.test(below)) return undefined;
  const paths = service === "data-service" ? DATA_PATHS : GATEWAY_PATHS;
  const template = templateOf(paths, below);
  const operation = template === undefined ? undefined : paths[template]?.[keyOf(method)];
  // What the document says in its description: OPTIONS is answered everywhere, HEAD not where a browser is to go.
  if ((method === "OPTIONS" && status === 204) || (method === "HEAD" && status === 405)) return undefined;
  if (operation === undefined)
    return isRefusal(status) ? undefined : `${method} ${path} answered ${status} and is no operation`;
  return String(status) in operation.responses ? undefined : `${method} ${template} answered ${status}`;
}

/** HEAD is GET without a body; QUERY stands in an extension. */
function keyOf(method: string): string {
  const keys: Readonly<Record<string, string>> = { HEAD: "get", QUERY: "x-query" };
  return keys[method] ?? method.toLowerCase();
}

/** The path of the document that an address belongs to: the one with the fewest parameters. */
function templateOf(paths: Paths, path: string): string | undefined {
  const segments = path.split("/").filter((each) => each !== "");
  const [table = "", ...rest] = segments;
  const matching = Object.keys(paths)
    .filter((template) => matches(template, segments))
    .toSorted((a, b) => a.split("{").length - b.split("{").length);
  if (matching.length > 0 || table === SAMPLE) return matching[0];
  // What a table has below a record's id.
  const isKnown = rest.length < 2 || (rest.length === 2 && ["history", "restore"].includes(rest[1] ?? ""));
  return !isKnown ? undefined : templateOf(paths, ["", SAMPLE, ...rest].join("/"));
}

function matches(template: string, segments: readonly string[]): boolean {
  const parts = template.split("/").slice(1);
  return (
    parts.length === segments.length &&
    parts.every((part, at) => part.startsWith("{") || part === segments[at])
  );
}

/** Writes down for the end of the run what a service answered that is not in the document. */
export function noteUndocumented(service: ServiceName, log: string, test: string): void {
  const file = process.env.PORTICO_UNDOCUMENTED;
  if (file === undefined) return;
  for (const problem of undocumented(service, answersIn(log)))
    appendFileSync(file, `${problem} (${service}, ${test})\n`);
}
