// What an undo writes back into a former field, once and when it is repeated.
import { describe, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import type { Column } from "./catalog.js";
import { COLUMN_TYPES } from "./column-types.js";
import { type ColumnBack, linkRestorer, type Restorer, restorer, sameValue } from "./restore-value.js";
import type { Stored } from "./stored.js";

const column = (type: Column["type"], rest: Partial<Column> = {}): Column => ({
  id: "c",
  name: "a",
  field: "a",
  type,
  required: false,
  default: undefined,
  unique: false,
  hidden: false,
  readOnly: false,
  encrypted: false,
  searchable: false,
  indexed: false,
  values: [],
  rules: {},
  description: null,
  generated: false,
  secret: false,
  ...rest,
});
const restoring = (back: ColumnBack): Restorer =>
  restorer(
    back,
    (each, stored) => COLUMN_TYPES[each.type].toJson(stored),
    (_column, value) => value,
  );
/** What comes back to the last column, which was made one after the other of those before it. */
const between = (now: Column, ...before: readonly [...Column[], Column]): Restorer => {
  const all = [now, ...before];
  const made = before.map((from, at) => ({ from, to: all[at] ?? now })).toReversed();
  const [first = { from: now, to: now }, ...others] = made;
  return restoring({ column: first.from, now, made: [first, ...others] });
};
const toText = between(column("int"), column("string"));
const withDefault = between(column("int", { required: true, default: 7 }), column("string"));
const standard = { required: true, default: "open" };
const fromRequired = between(column("enum", { ...standard, values: ["open"] }), column("string", standard));
const fromOpen = between(column("string", { ...standard, encrypted: true }), column("string"));
const toFewer = between(column("enumList", { values: ["b"] }), column("enumList", { values: ["a", "b"] }));
const textAgain = between(column("string"), column("int"), column("string"));
const textAtLast = between(column("string"), column("boolean"), column("int"), column("string"));
const [small, large] = [{ values: ["a"] }, { values: ["a", "b"] }];
const grownAgain = between(column("enum", large), column("enum", small), column("enum", large));
const filledSince = between(column("int", { required: true, default: 7 }), column("int"), column("string"));
const fewest = { values: ["b"] };
const givenUp = between(column("enum", fewest), column("enum", { values: ["a", "b"] }));
const toOthers = restoring({
  column: column("enum", { values: ["b", "c"] }),
  now: column("enum", fewest),
  made: [{ from: column("enum", { values: ["a", "b", "c"] }), to: column("enum", fewest) }],
});
const adopted = { isAdopted: true } as const;
const filledInPlace = restoring({
  column: column("string", adopted),
  now: column("int", { ...adopted, required: true, default: 0 }),
  made: [{ from: column("string", adopted), to: column("int", adopted) }],
});
const hiddenAgain = between(
  column("string", { encrypted: true }),
  column("string", { required: true, default: "open" }),
  column("string", { encrypted: true }),
);
const wasRequired = restoring({
  column: column("string"),
  now: column("int"),
  made: [{ from: column("string", { required: true }), to: column("int", { required: true, default: 0 }) }],
});
const [toList, toSingle] = [linkRestorer(true, [9]), linkRestorer(false, [9])];
const toListOfKept = linkRestorer(true, [9], true);
const STAYS = undefined;
const NOTHING = { value: undefined };
const is = (value: Stored) => ({ value });

const CASES: [string, Restorer, unknown, unknown, unknown][] = [
  ["stays that converts to what is there", toText, 7, "007", STAYS],
  ["stays that did not fit, while nothing is there", toText, undefined, "many", STAYS],
  ["stays that did not fit, while null is there", toText, null, "many", STAYS],
  ["gives way to what was written since", toText, 8, "007", is("8")],
  ["gives way to what was written where nothing was", toText, 8, undefined, is("8")],
  ["goes where null was written since", toText, undefined, "007", NOTHING],
  ["stays away where there is nothing", toText, undefined, undefined, STAYS],
  ["stays away where a default was given", withDefault, 7, undefined, STAYS],
  ["stays that did not fit, while the default is there", withDefault, 7, "many", STAYS],
  [
    "gives way to the default in a record that can't have had nothing",
    fromRequired,
    "open",
    undefined,
    is("open"),
  ],
  ["gives way to the default where it was taken away", fromOpen, "open", undefined, is("open")],
  ["stays with members that are gone, while the others are there", toFewer, ["b"], ["a", "b"], STAYS],
  ["gives way to no members at all", toFewer, [], ["a", "b"], is([])],
  ["stays that reads otherwise since, where it is a text again by hand", textAgain, "7", "007", STAYS],
  ["stays that did not fit, where it could again", textAgain, undefined, "many", STAYS],
  ["gives way to what was written since, where it is a text again", textAgain, "8", "007", is("8")],
  ["stays that was no member for a while", grownAgain, undefined, "b", STAYS],
  ["gives way to the member that was written since", grownAgain, "a", "b", is("a")],
  ["stays that went through two types since", textAtLast, undefined, "007", STAYS],
  ["stays of which something else was made since", textAtLast, "true", "1", STAYS],
  ["gives way to what was written after two types", textAtLast, "8", "007", is("8")],
  ["stays away where a default was given since", filledSince, 7, undefined, STAYS],
  ["gives way to the default where it was required before", wasRequired, 0, undefined, is("0")],
  ["stays that was no member any more", givenUp, undefined, "a", STAYS],
  ["goes that is no member since", toOthers, undefined, "a", NOTHING],
  ["stays of which an earlier version made an empty list", toFewer, [], ["a"], STAYS],
  ["stays where a default was filled in beside it", filledInPlace, 0, "many", STAYS],
  ["stays away where a default was filled in in its place", filledInPlace, 0, undefined, STAYS],
  [
    "gives way to the default of a time when nothing of it was hidden",
    hiddenAgain,
    "open",
    undefined,
    is("open"),
  ],
  ["list stays while its first link is there", toList, 1, [1, 2], STAYS],
  ["list gives way to another link", toList, 2, [1, 2], is([2])],
  ["list goes with the link", toList, undefined, [1, 2], NOTHING],
  ["list stays whose first link went with its record", toList, undefined, [9, 2], STAYS],
  ["list gives way to another link than one that is gone", toList, 3, [9, 2], is([3])],
  [
    "list stays while one of its links is there, if others may have been deleted",
    toListOfKept,
    2,
    [1, 2],
    STAYS,
  ],
  ["list gives way to another link than it has, also then", toListOfKept, 3, [1, 2], is([3])],
  ["link stays, to be cleared away, that went with its record", toSingle, [], 9, STAYS],
  ["link stays while it is all there is", toSingle, [1], 1, STAYS],
  ["link gives way to the first of others", toSingle, [2, 1], 1, is(2)],
  ["link stays while it is the first of several", toSingle, [1, 2], 1, STAYS],
  ["link goes where the list was emptied", toSingle, [], 1, NOTHING],
];

describe("a former value", () => {
  it.each(CASES)("%s", (_what, decide, present, former, expected) => {
    expect(decide(present, former)).toEqual(expected);
  });

  it.each(CASES)("%s; and asked again there is nothing to do", (_what, decide, present, former) => {
    const restored = decide(present, former);
    expect(decide(present, restored === undefined ? former : restored.value)).toBe(undefined);
  });
});

describe("two stored values", () => {
  it("are the same as they are stored, and not as Extended JSON would spell them", () => {
    expect(sameValue({ a: [1, "b"] }, { a: [1, "b"] })).toBe(true);
    expect(sameValue(undefined, null)).toBe(true);
    expect(sameValue(5, { $numberInt: "5" })).toBe(false);
    expect(sameValue({ $oid: "0".repeat(24) }, new ObjectId("0".repeat(24)))).toBe(false);
    expect(sameValue(0, -0)).toBe(false);
  });
});
