// A small catalog for the tests of the core: every kind of relation, and one column of each rare kind.
import { AppError } from "@portico/shared/app-error";
import type { Json, JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../catalog/build-catalog.js";
import { type Catalog, type Column, isOpen, type Relation, type Table } from "../catalog/catalog.js";
import { checkDefinition } from "../catalog/check-definition.js";
import { COLUMN_TYPE_NAMES } from "../catalog/column-types.js";
import type { TableDefinition } from "../catalog/definition.js";
import { ReadView } from "../permission/read-view.js";
import { ALWAYS, type AuthorizedPredicate } from "./ast.js";

const COLORS = { values: ["red", "green"] };

const TABLES: readonly JsonObject[] = [
  {
    name: "authors",
    idType: "int",
    columns: [
      { name: "name", type: "string" },
      { name: "born", type: "int" },
    ],
    relations: [{ name: "mentor", type: "many-to-one", table: "authors", inverse: "pupils" }],
    indexes: [["name"]],
  },
  {
    name: "profiles",
    idType: "int",
    columns: [{ name: "bio", type: "text" }],
    relations: [{ name: "author", type: "one-to-one", table: "authors", inverse: "profile" }],
  },
  { name: "tags", columns: [{ name: "label", type: "string" }] },
  {
    name: "books",
    idType: "int",
    columns: [
      ...[
        { name: "title", type: "string" },
        { name: "pages", type: "int" },
        { name: "price", type: "decimal" },
      ],
      ...[
        { name: "note", type: "string", hidden: true },
        { name: "royalty", type: "string", encrypted: true },
      ],
    ],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "books" },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "books" },
    ],
  },
  {
    name: "reviews",
    idType: "int",
    columns: [
      { name: "text", type: "text" },
      { name: "stars", type: "int" },
    ],
    relations: [{ name: "book", type: "many-to-one", table: "books", inverse: "reviews", required: true }],
  },
  {
    name: "samples",
    idType: "int",
    columns: COLUMN_TYPE_NAMES.map((type) => ({
      name: `the_${type}`,
      type,
      ...(type === "enum" || type === "enumList" ? { options: COLORS } : {}),
    })),
  },
];

/** Checks and builds tables as `svc_table` would. @throws Error with every problem */
export function catalogOf(bodies: readonly JsonObject[]): Catalog {
  let ids = 0;
  const definitions: TableDefinition[] = [];
  for (const body of bodies) {
    const catalog = buildCatalog(0, definitions, []);
    const newId = (): string => {
      ids += 1;
      return `m${ids}`;
    };
    const checked = checkDefinition(body, { catalog, systemPrefix: "svc_", newId });
    if (!checked.ok) throw new Error(checked.problems.join("\n"));
    definitions.push(checked.definition);
  }
  return buildCatalog(1, definitions, []);
}

export const catalog = catalogOf(TABLES);

export function table(name: string): Table {
  const found = catalog.tables.get(name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
}

/** A column by `table.column`. */
export function column(path: string): Column {
  const [owner = "", name = ""] = path.split(".");
  const found = table(owner).columns.get(name);
  if (found === undefined) throw new Error(`no column ${path}`);
  return found;
}

/** A relation by `table.relation`, with its target. */
export function step(path: string): { relation: Relation; target: Table } {
  const [owner = "", name = ""] = path.split(".");
  const relation = table(owner).relations.get(name);
  if (relation === undefined) throw new Error(`no relation ${path}`);
  return { relation, target: table(relation.target) };
}

/** Sees everything in these rows of each table. */
export function viewOf(rows: AuthorizedPredicate, of: Catalog = catalog): ReadView {
  return new ReadView(of, () => ({ rows, grants: [{ rows, members: () => true }] }));
}

/** Sees everything. */
export const rootView = viewOf(ALWAYS);

/** Sees everything except hidden columns, and no reviews at all. */
export const readerView = new ReadView(catalog, (of) =>
  of.name === "reviews"
    ? undefined
    : {
        rows: ALWAYS,
        grants: [{ rows: ALWAYS, members: isOpen }],
      },
);

/** The message of the refusal that a call must end with. */
export function refusalOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof AppError && error.code === "BAD_REQUEST") return error.message;
    throw error;
  }
  throw new Error("was not refused");
}

/** What the text of an address is read as. */
export function json(text: string): Json {
  return JSON.parse(text);
}
