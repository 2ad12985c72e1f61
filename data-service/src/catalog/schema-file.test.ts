// Tables as a file and back.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { catalog } from "../query/library-fixture.js";
import { checkDefinition } from "./check-definition.js";
import type { TableDefinition } from "./definition.js";
import { type FileTable, matchTable, readSchemaFile, writeSchemaFile } from "./schema-file.js";

function definition(body: JsonObject): TableDefinition {
  const checked = checkDefinition(body, {
    catalog,
    systemPrefix: "svc_",
    newId: () => `${String(body.name)}_id`,
  });
  if (!checked.ok) throw new Error(checked.problems.join("\n"));
  return checked.definition;
}

const fileTable = (name: string, id?: string): FileTable => ({ name, id, json: { name } });

it("a file may begin with a byte order mark", () => {
  expect(readSchemaFile('\uFEFF{"tables":[{"name":"things"}]}')).toMatchObject({
    tables: [{ name: "things" }],
    problems: [],
  });
});

describe("a written schema file", () => {
  it("keeps a default that is an empty list, and leaves out what is a default anyway", () => {
    const columns = [{ name: "colors", type: "enumList", options: { values: ["red"] }, default: [] }];
    const { tables } = readSchemaFile(writeSchemaFile([definition({ name: "things", columns })]));
    expect(tables[0]?.json).toEqual({
      id: "things_id",
      name: "things",
      columns: [
        {
          id: "things_id",
          name: "colors",
          type: "enumList",
          options: { values: ["red"] },
          default: [],
        },
      ],
    });
  });
});

describe("a schema file", () => {
  const problemsOf = (text: string) => readSchemaFile(text).problems;

  it("that names a member twice says where", () => {
    const twice = "is given twice in one object; only one would count";
    expect(problemsOf('{"tables":[],"tables":[]}')).toEqual([`tables: ${twice}`]);
    const column = '{"name":"a","type":"int","rules":{"min":1},"rules":{"max":2}}';
    expect(problemsOf(`{"tables":[{"name":"t","columns":[${column}]}]}`)).toEqual([
      `tables[0].columns[0].rules: ${twice}`,
    ]);
  });

  it.each([
    ['{\n  "tables": [],\n  oops\n}', /^is not valid JSON: Expected .* at line 3, column 3$/],
    ['{\n  "tables": [\n    1,\n  ]\n}', /^is not valid JSON: Unexpected token '\]', .*1, \] }"$/],
    ['{"tables":[', /^is not valid JSON: Unexpected end of JSON input$/],
  ])("that is no JSON says where, in one line: %j", (text, problem) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(problem)]);
  });
});

describe("a table of a file", () => {
  const posts = definition({ name: "posts" });

  it("is that of its id, else that of its name", () => {
    const renamed = fileTable("articles", "posts_id");
    expect(matchTable(renamed, [renamed], [posts])).toBe(posts);
    const unknown = fileTable("posts", "other_id");
    expect(matchTable(unknown, [unknown], [posts])).toBe(posts);
  });

  it("is a new one when the table of its name is another's by its id", () => {
    const file = [fileTable("articles", "posts_id"), fileTable("posts")];
    expect(file.map((each) => matchTable(each, file, [posts]))).toEqual([posts, undefined]);
  });

  it("has a name and an id of its own", () => {
    const tables = [fileTable("a", "x"), fileTable("a", "x")].map(({ name, id }) => ({ name, id }));
    expect(readSchemaFile(JSON.stringify({ tables })).problems).toEqual([
      'tables: "a" is there more than once',
      'tables: "x" is there more than once',
    ]);
  });
});
