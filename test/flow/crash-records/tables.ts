// Tables that link to each other in every way: what the writers of the crash test write, and where its links lie.
import { makeTable } from "../../contract/records/make.js";
import type { Api } from "../../support/api.js";

const KEY = { name: "key", type: "string", required: true } as const;

export async function makeTables(api: Api): Promise<void> {
  await makeTable(api, { name: "authors", idType: "int", columns: [KEY] });
  await makeTable(api, { name: "shelves", columns: [KEY] });
  await makeTable(api, { name: "tags", idType: "uuid", columns: [KEY] });
  await makeTable(api, {
    name: "books",
    columns: [KEY],
    relations: [
      { name: "author", type: "many-to-one", table: "authors", inverse: "books", onDelete: "RESTRICT" },
      {
        name: "shelf",
        type: "many-to-one",
        table: "shelves",
        inverse: "books",
        onDelete: "CASCADE",
        counted: true,
      },
      { name: "tags", type: "many-to-many", table: "tags", inverse: "books" },
      { name: "sequelOf", type: "many-to-one", table: "books", inverse: "sequels" },
      { name: "cover", type: "many-to-one", table: "svc_file", inverse: "books" },
    ],
  });
  const required = { required: true, onDelete: "CASCADE" };
  await makeTable(api, {
    name: "pages",
    idType: "int",
    columns: [KEY],
    relations: [{ name: "book", type: "many-to-one", table: "books", inverse: "pages", ...required }],
  });
  await makeTable(api, {
    name: "notes",
    columns: [KEY],
    relations: [
      { name: "page", type: "many-to-one", table: "pages", inverse: "notes", onDelete: "CASCADE" },
      { name: "reader", type: "many-to-one", table: "authors", inverse: "read" },
    ],
  });
}

/** The tables, each with the column that names its records for the test. */
export const KEYS: Readonly<Record<string, string>> = {
  authors: "key",
  shelves: "key",
  tags: "key",
  books: "key",
  pages: "key",
  notes: "key",
  svc_file: "filename",
};

/** Where links lie in the database: table, field, table they lead to. */
export const LINKS: readonly (readonly [from: string, field: string, to: string])[] = [
  ["books", "authorId", "authors"],
  ["books", "shelfId", "shelves"],
  ["books", "tagsIds", "tags"],
  ["books", "sequelOfId", "books"],
  ["books", "coverId", "svc_file"],
  ["pages", "bookId", "books"],
  ["notes", "pageId", "pages"],
  ["notes", "readerId", "authors"],
];
