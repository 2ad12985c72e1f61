// Documents as they were read, as a condition for what is written.
import { expect, it } from "@jest/globals";
import { stillHas } from "./as-read.js";

it("a document is as it was read while values are equal, lists as a whole, and what was absent is absent", () => {
  const document = { _id: 1, title: "a", tagsIds: [1, 2], authorId: null };
  expect(stillHas(document, ["title", "tagsIds", "authorId", "rating"])).toEqual({
    title: { $eq: "a" },
    tagsIds: { $eq: [1, 2] },
    authorId: { $eq: null },
    rating: { $exists: false },
  });
  expect(stillHas(document, [])).toEqual({});
});
