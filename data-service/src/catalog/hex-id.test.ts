// Which texts are ids of our own tables.
import { expect, it } from "@jest/globals";
import { hexId } from "./hex-id.js";

const ID = "65a0c3f2b1d4e5f607182939";

it("an id is the same in small letters and in capitals", () => {
  expect([hexId(ID), hexId(ID.toUpperCase())]).toEqual([ID, ID]);
});

it.each<unknown>([undefined, null, 5, [ID], ID.slice(1), `${ID}0`, ` ${ID}`, `${ID}\n`, `g${ID.slice(1)}`])(
  "%j is none",
  (given) => expect(hexId(given)).toBeUndefined(),
);
