// Which indexes a table has.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { catalogOf } from "../query/library-fixture.js";
import { indexesOf } from "./indexes.js";

/** The indexes of a table as short text. */
function shown(body: JsonObject, name = "posts"): string[] {
  const table = catalogOf([{ name: "authors" }, { name: "posts", ...body }]).tables.get(name);
  if (table === undefined) throw new Error(name);
  return indexesOf(table).map(({ key, unique, present, absent }) => {
    const fields = key.map(([field, direction]) => (direction < 0 ? `-${field}` : field)).join(" ");
    const where = present === undefined ? "" : ` where ${present.join(" ")}`;
    return `${unique ? "unique " : ""}${fields}${where}${absent === undefined ? "" : ` without ${absent}`}`;
  });
}

const TIMES = ["-createdAt _id", "-updatedAt _id"];
const author = (extras: JsonObject = {}): JsonObject => ({
  relations: [{ name: "author", type: "many-to-one", table: "authors", ...extras }],
});

describe("the indexes of a table", () => {
  it.each<[what: string, body: JsonObject, indexes: string[]]>([
    ["nothing declared: the times", {}, TIMES],
    [
      "dates",
      {
        columns: [
          { name: "day", type: "date" },
          { name: "n", type: "int" },
        ],
      },
      ["-day _id", ...TIMES],
    ],
    ["a date that is sealed", { columns: [{ name: "day", type: "date", encrypted: true }] }, TIMES],
    ["a link", author(), ["authorId _id", ...TIMES]],
    [
      "a link that is asked from the other side",
      author({ inverse: "posts" }),
      ["authorId _id", "authorId -createdAt _id", ...TIMES],
    ],
    ["a one-to-one", author({ type: "one-to-one" }), ["unique authorId where authorId", ...TIMES]],
    [
      "what holds for living records alone, and the deleted ones",
      {
        softDelete: true,
        singleton: true,
        uniques: [["slug", "author"]],
        columns: [{ name: "slug", type: "string", unique: true }],
        ...author({ type: "one-to-one" }),
      },
      [
        "unique authorId where authorId without _deletedAt",
        "authorId _id",
        ...TIMES,
        "-_deletedAt _id where _deletedAt",
        "unique slug where slug without _deletedAt",
        "unique slug authorId where slug authorId without _deletedAt",
        "unique _only without _deletedAt",
      ],
    ],
    ["a many-to-many", author({ type: "many-to-many" }), ["authorIds _id", ...TIMES]],
    [
      "a unique column",
      { columns: [{ name: "slug", type: "string", unique: true }] },
      [...TIMES, "unique slug where slug"],
    ],
    [
      "a unique date",
      { columns: [{ name: "day", type: "date", unique: true }] },
      [...TIMES, "unique day where day"],
    ],
    [
      "uniques over columns and links",
      { ...author(), columns: [{ name: "slug", type: "string" }], uniques: [["author", "slug"]] },
      ["authorId _id", ...TIMES, "unique authorId slug where authorId slug"],
    ],
    [
      "the owner's own, closed by id",
      {
        columns: [{ name: "status", type: "string" }],
        indexes: [
          ["status", "-createdAt"],
          ["-id", "status"],
        ],
      },
      [...TIMES, "status -createdAt _id", "-_id status"],
    ],
    [
      "the same twice is one",
      { columns: [{ name: "day", type: "date" }], indexes: [["-day"], ["-day"]] },
      ["-day _id", ...TIMES],
    ],
    [
      "two whose keys read alike",
      {
        uniques: [["a", "b"]],
        columns: [
          ...["a", "b"].map((name) => ({ name, type: "string" })),
          { name: "a_1_b", type: "string", unique: true },
        ],
      },
      [...TIMES, "unique a_1_b where a_1_b", "unique a b where a b"],
    ],
    ["a singleton", { singleton: true }, [...TIMES, "unique _only"]],
  ])("%s", (_what, body, indexes) => {
    expect(shown(body)).toEqual(indexes);
  });

  it("the table at the other end stores no link and needs no index for it", () => {
    expect(shown(author({ inverse: "posts" }), "authors")).toEqual(TIMES);
  });
});
