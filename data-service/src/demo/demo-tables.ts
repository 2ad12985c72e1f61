// The four tables of the demo content, in the form `POST /svc_table` takes, each after the tables it names.

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export interface DemoColumn {
  readonly name: string;
  readonly type: "string" | "text" | "int" | "float" | "boolean" | "date" | "datetime" | "enum";
  readonly required?: boolean;
  readonly unique?: boolean;
  readonly default?: JsonValue;
  readonly options?: { readonly values: readonly string[] };
  readonly rules?: { readonly min?: number; readonly max?: number; readonly format?: "email" | "url" };
  readonly description?: string;
}

export interface DemoRelation {
  readonly name: string;
  readonly type: "many-to-one" | "many-to-many";
  readonly table: string;
  readonly inverse?: string;
  readonly required?: boolean;
  readonly onDelete?: "SET NULL" | "CASCADE" | "RESTRICT";
  readonly counted?: boolean;
}

export interface DemoTable {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly DemoColumn[];
  readonly relations: readonly DemoRelation[];
}

export const demoTables: readonly DemoTable[] = [
  {
    name: "authors",
    description: "People who write posts.",
    columns: [
      { name: "name", type: "string", required: true },
      { name: "email", type: "string", unique: true, rules: { format: "email" } },
      { name: "bio", type: "text" },
      { name: "country", type: "string" },
      { name: "active", type: "boolean", default: true, description: "Still writing." },
      { name: "bornOn", type: "date" },
      { name: "website", type: "string", rules: { format: "url" } },
    ],
    relations: [],
  },
  {
    name: "tags",
    description: "Words that posts are filed under.",
    columns: [
      { name: "name", type: "string", required: true, unique: true },
      { name: "color", type: "string", description: "As in CSS, for example #b4532a." },
    ],
    relations: [],
  },
  {
    name: "posts",
    description: "Articles, from first draft to archive.",
    columns: [
      { name: "title", type: "string", required: true },
      { name: "slug", type: "string", unique: true, description: "The title as it stands in an address." },
      { name: "body", type: "text" },
      {
        name: "status",
        type: "enum",
        required: true,
        default: "draft",
        options: { values: ["draft", "published", "archived"] },
      },
      { name: "views", type: "int", default: 0, rules: { min: 0 } },
      { name: "rating", type: "float", rules: { min: 0, max: 5 }, description: "Readers' mean, 0 to 5." },
      { name: "publishedAt", type: "datetime", description: "Null while the post is a draft." },
    ],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "posts", onDelete: "SET NULL" },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "posts" },
    ],
  },
  {
    name: "comments",
    description: "What readers wrote under a post.",
    columns: [
      { name: "text", type: "text", required: true },
      { name: "authorName", type: "string", required: true },
      { name: "approved", type: "boolean", default: true },
      { name: "likes", type: "int", default: 0 },
    ],
    relations: [
      {
        name: "post",
        type: "many-to-one",
        table: "posts",
        inverse: "comments",
        required: true,
        onDelete: "CASCADE",
        counted: true,
      },
    ],
  },
];
