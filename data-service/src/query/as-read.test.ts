// Documents as they were read, as a condition for what is written.
import { expect, it } from "@jest/globals";
import { stillHas } from "./as-read.js";
import { NO_LIST } from "./lower/document.js";

it("a document is as it was read while values are equal, lists as a whole, and what was absent is absent", () => {
  const document = { _id: 1, title: "a", tagsIds: [1, 2], authorId: null };
  expect(stillHas(document, ["title", "tagsIds", "authorId", "rating"])).toEqual({
    title: { $eq: "a", ...NO_LIST },
    tagsIds: { $eq: [1, 2] },
    authorId: { $eq: null, ...NO_LIST },
    rating: { $exists: false },
  });
  expect(stillHas(document, [])).toEqual({});
});

it("a field named as what every object has is absent where a document has none", () => {
  expect(stillHas({ _id: 1 }, ["constructor"])).toEqual({ constructor: { $exists: false } });
});
