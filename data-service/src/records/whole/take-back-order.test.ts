// The order in which what several requests have written is taken back.
import { describe, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import { ObjectId as DriversObjectId } from "mongodb";
import type { Note } from "../../mongo/unfinished-store.js";
import { NOTED_FIELD } from "./former-fields.js";
import type { ChangedStep, LinkedStep, Step } from "./steps.js";
import { takeBackOrder } from "./take-back-order.js";

/** A change of a record that names itself, and says whose name it found there. */
function changed(by: ObjectId, found?: ObjectId): ChangedStep {
  const set = found === undefined ? {} : { [NOTED_FIELD]: new DriversObjectId(found.toHexString()) };
  return {
    kind: "changed",
    table: "t",
    id: 1,
    changes: 0,
    moves: 0,
    by,
    at: new Date(0),
    set,
    unset: [],
    lists: {},
  };
}

function linked(by: ObjectId, found: ObjectId | null): LinkedStep {
  const gained = [{ id: 2, before: null, by: found }];
  return {
    kind: "linked",
    table: "t",
    field: "f",
    list: false,
    to: { table: "t", id: 1 },
    by,
    gained,
    lost: [],
  };
}

/** Notes of requests that began one after the other. @returns the places of those taken back, in their order */
function orderOf(...requests: readonly (readonly Step[])[]): number[] {
  const notes = requests.map((steps, at): Note => {
    return { id: ObjectId.createFromTime(at + 1), instance: "i", at: new Date(0), steps };
  });
  return takeBackOrder(notes).map((note) => notes.indexOf(note));
}

const [a, b, c, d] = [new ObjectId(), new ObjectId(), new ObjectId(), new ObjectId()] as const;

describe("what several requests have written is taken back", () => {
  it("from the last that began to the first, where they have not met", () => {
    expect(orderOf([changed(a)], [changed(b)], [changed(c, d)])).toEqual([2, 1, 0]);
  });

  it("beginning with the one that wrote last where they met, whichever began first", () => {
    expect(orderOf([changed(a, b)], [changed(b)])).toEqual([0, 1]);
    expect(orderOf([changed(a)], [changed(b, a)])).toEqual([1, 0]);
  });

  it("in the same order where links were moved from their other side", () => {
    expect(orderOf([linked(a, b)], [linked(b, null)])).toEqual([0, 1]);
  });

  it("one above the other, over many requests", () => {
    expect(orderOf([changed(a, c)], [changed(b, a)], [changed(c)], [changed(d)])).toEqual([3, 1, 0, 2]);
  });

  it("beginning with the one that is about a record which another one has made", () => {
    const made: Step = { kind: "made", table: "t", ids: [1] };
    expect(orderOf([linked(a, null)], [made])).toEqual([0, 1]);
    expect(orderOf([changed(a)], [made])).toEqual([0, 1]);
    expect(orderOf([made], [changed(a)])).toEqual([1, 0]);
  });

  it("all of it, where they have written over each other", () => {
    expect(orderOf([changed(a, b), changed(c)], [changed(b), changed(d, c)]).toSorted()).toEqual([0, 1]);
  });
});
