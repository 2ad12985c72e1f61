// Describes the routes of files and folders besides those of every table (files/routes). Pure.
import {
  dataAnswer,
  FILE_CONDITIONS,
  FILE_VERSION,
  FLAG,
  FORWARDED,
  GIVEN_ID,
  headers,
  inHeader,
  inPath,
  inQuery,
  OBJECT_ID,
  type Operation,
  object,
  type Part,
  TEXT,
  WHOLE_NUMBER,
} from "@portico/shared/operation";
import type { VisibleTable } from "../../permission/visible-tables.js";

const FORM = "multipart/form-data";
const BYTES: Part = { type: "string", format: "binary" };
/** Which folders there are is not known here, and forms are filled in with the examples. */
const TEXT_PART: Part = { ...TEXT, description: "Empty: none.", examples: [""] };
const PARTS = {
  folder: TEXT_PART,
  title: TEXT_PART,
  description: TEXT_PART,
  isPublic: { enum: ["true", "false"], examples: ["false"] },
};
const SIDE: Part = { type: "integer", minimum: 1, maximum: 4000 };
const CHOICE = (...values: string[]): Part => ({ type: "string", enum: values });

/** Even callers without any rule can get public files. */
export const ASSET_OPERATION: Operation = {
  method: "get",
  path: "/assets/{id}",
  id: "getAsset",
  tag: "Assets",
  for: "anyone",
  summary: "The bytes of a file, or a picture in another size",
  description: "Also at `/assets/{id}` of the app itself.",
  parameters: [
    inPath("id", GIVEN_ID, "The file's id."),
    inQuery("download", FLAG, "Offer it for saving."),
    inQuery("width", SIDE, "Of a picture, which is never enlarged."),
    inQuery("height", SIDE, "Of a picture."),
    inQuery("fit", CHOICE("cover", "contain", "inside", "outside", "fill"), "How it fits into both."),
    inQuery("format", CHOICE("jpeg", "png", "webp", "avif"), "Of a picture."),
    inQuery("quality", { type: "integer", minimum: 1, maximum: 100 }, "Of a picture; not for PNG and GIF."),
    inHeader("Range", "`bytes=0-499`: a part of it (206)."),
    inHeader("If-Range", "Its ETag: the part only while it is the same, else, or with a time, the whole."),
    ...FILE_CONDITIONS,
  ],
  answers: {
    200: {
      description: "The bytes.",
      headers: { ...FILE_VERSION, ...headers("Accept-Ranges") },
      content: { "*/*": { schema: BYTES } },
    },
    206: {
      description: "The part that was asked for.",
      headers: { ...FILE_VERSION, ...headers("Accept-Ranges", "Content-Range") },
      content: { "*/*": { schema: BYTES } },
    },
    304: { description: "It has not changed.", headers: FILE_VERSION },
  },
  refusals: [...FORWARDED, 403, 404, 412, 416],
};

/** The operations of files: what every table has, with the file in the body. @param of the table's operations */
export function fileOperations(table: VisibleTable, of: readonly Operation[]): readonly Operation[] {
  return of.map((operation) => withFile(table, operation));
}

/** The parts of a body with a file: those that the caller may write. */
function partsOf({ columns, relations }: VisibleTable, action: "creatable" | "updatable"): Part {
  const named = [
    ...columns.map((each) => ({ ...each, name: each.column.name })),
    ...relations.map((each) => ({ ...each, name: each.relation.name })),
  ];
  const isWritten = new Set(named.filter((each) => each[action]).map(({ name }) => name));
  const parts = Object.entries(PARTS).filter(([name]) => isWritten.has(name));
  return object({ file: BYTES, ...Object.fromEntries(parts) }, ["file"]);
}

function withFile(table: VisibleTable, operation: Operation): Operation {
  const { name } = table.table;
  // The content of a file counts as its name.
  const takesContent = table.columns.some(({ column, updatable }) => column.name === "filename" && updatable);
  if (operation.id === `create_${name}`) {
    return {
      ...operation,
      summary: "Upload a file",
      description: "One part `file`; the others are texts. Its bytes decide its type.",
      bodies: { [FORM]: { schema: partsOf(table, "creatable") } },
    };
  }
  const { body } = operation;
  if (operation.id !== `update_${name}` || body === undefined || !takesContent) return operation;
  return {
    ...operation,
    description: "As JSON, the facts about the file; as multipart, its content, too.",
    bodies: { "application/json": body, [FORM]: { schema: partsOf(table, "updatable") } },
  };
}

/** The operations of folders. @param of the table's operations */
export function folderOperations(
  { table: { name }, actions }: VisibleTable,
  of: readonly Operation[],
): readonly Operation[] {
  const own = of.map((operation) =>
    operation.id === `delete_${name}`
      ? { ...operation, parameters: [...(operation.parameters ?? []), RECURSIVE] }
      : operation,
  );
  return actions.read === undefined ? own : [...own, treeOperation(name)];
}

const RECURSIVE = inQuery("recursive", FLAG, "With all that is in it; otherwise it must be empty (409).");

function treeOperation(name: string): Operation {
  const folder = object({ id: OBJECT_ID, name: TEXT, slug: TEXT, order: WHOLE_NUMBER }, ["id"]);
  return {
    method: "get",
    path: `/${name}/tree`,
    id: `tree_${name}`,
    tag: name,
    for: "anyone",
    summary: "All folders, those inside others in their `children`",
    description:
      "A hundred levels are nested; `deeper: true` says that a folder on the last of them has others inside.",
    parameters: [inQuery("flat", FLAG, "A list, in the order of the tree, instead.")],
    answers: { 200: dataAnswer(200, "The folders.", { ...folder, additionalProperties: true }) },
    refusals: [...FORWARDED, 403, 404],
  };
}
