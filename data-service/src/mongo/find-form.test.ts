// Which pipelines can be sent as a `find`, and as which.
import { describe, expect, it } from "@jest/globals";
import type { Stage } from "../query/lower/document.js";
import { findForm } from "./find-form.js";

describe("a pipeline as a find", () => {
  it.each<[string, Stage[], unknown]>([
    ["nothing", [], { filter: {} }],
    ["a match", [{ $match: { a: 1 } }], { filter: { a: 1 } }],
    [
      "matches of one field",
      [{ $match: { a: 1 } }, { $match: { a: 2 } }],
      { filter: { $and: [{ a: 1 }, { a: 2 }] } },
    ],
    ["an empty match", [{ $match: {} }, { $match: { a: 1 } }], { filter: { a: 1 } }],
    [
      "all five",
      [
        { $match: { a: 1 } },
        { $sort: { b: -1, _id: 1 } },
        { $skip: 5 },
        { $limit: 10 },
        { $project: { _id: 1, b: 1 } },
      ],
      { filter: { a: 1 }, sort: { b: -1, _id: 1 }, skip: 5, limit: 10, projection: { _id: 1, b: 1 } },
    ],
    [
      "one field without the id",
      [{ $project: { _id: 0, b: 1 } }],
      { filter: {}, projection: { _id: 0, b: 1 } },
    ],
  ])("%s", (_what, pipeline, form) => {
    expect(findForm(pipeline)).toEqual(form);
  });

  it.each<[string, Stage[]]>([
    ["a join", [{ $match: { a: 1 } }, { $lookup: { from: "b", as: "b" } }]],
    ["a match behind the limit, which it would choose among", [{ $limit: 10 }, { $match: { a: 1 } }]],
    ["a limit before the skip, which it would count", [{ $limit: 10 }, { $skip: 5 }]],
    ["a sort of what the limit left", [{ $limit: 10 }, { $sort: { a: 1 } }]],
    ["two limits", [{ $limit: 10 }, { $limit: 5 }]],
    ["a computed field", [{ $project: { a: { $add: ["$b", 1] } } }]],
    ["everything but a field", [{ $project: { a: 0 } }]],
    ["a renamed field", [{ $project: { _id: 0, a: "$b" } }]],
    ["a group", [{ $match: { a: 1 } }, { $group: { _id: "$b" } }]],
  ])("%s stays a pipeline", (_what, pipeline) => {
    expect(findForm(pipeline)).toBeUndefined();
  });
});
