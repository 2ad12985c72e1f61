// What is remembered of queries, for whom, and for how long.
import { describe, expect, it } from "@jest/globals";
import { readerView, rootView } from "../../query/library-fixture.js";
import { Remembered } from "./remembered.js";

/** Counts what is made. */
function setUp() {
  const remembered = new Remembered<{ readonly made: number }>();
  let made = 0;
  return (words: readonly unknown[], view = rootView) =>
    remembered.of(view, words, () => {
      made += 1;
      return { made };
    });
}

/** What is asked for the second time, and kept if it may be. */
function again(of: ReturnType<typeof setUp>, words: readonly unknown[], view = rootView) {
  of(words, view);
  return of(words, view);
}

describe("Remembered", () => {
  it("keeps what it makes of words that are asked again", () => {
    const of = setUp();
    const words = ["books", { fields: "title" }];
    expect(again(of, words)).toBe(of(words));
  });

  it("keeps nothing of what is asked once", () => {
    const of = setUp();
    const first = of(["books", {}]);
    expect(of(["books", {}])).not.toBe(first);
  });

  it("keeps nothing of what comes back after a hundred others", () => {
    const of = setUp();
    const rounds = Array.from({ length: 3 }, () => Array.from({ length: 101 }, (_, each) => of([each])));
    expect(new Set(rounds.flat()).size).toBe(3 * 101);
  });

  it("keeps at once what was asked through another view", () => {
    const of = setUp();
    of(["books", {}]);
    expect(of(["books", {}], readerView)).toBe(of(["books", {}], readerView));
  });

  it("makes something else of other words, and through another view", () => {
    const of = setUp();
    const asked = [
      ["books", {}],
      ["authors", {}],
      ["books", { limit: 1 }],
    ];
    const results = asked.map((words) => again(of, words));
    expect(new Set([...results, again(of, ["books", {}], readerView)]).size).toBe(4);
  });

  it("takes a number beyond all bounds, as 1e400 is read, for nothing else", () => {
    const of = setUp();
    const asked = [[null], [JSON.parse("1e400")], [JSON.parse("-1e400")], ["null"]];
    expect(new Set(asked.map((words) => again(of, words))).size).toBe(4);
  });

  it("keeps no refusal", () => {
    const remembered = new Remembered<object>();
    const refuse = (): never => {
      throw new Error("no such column");
    };
    expect(() => remembered.of(rootView, ["x"], refuse)).toThrow("no such column");
    expect(remembered.of(rootView, ["x"], () => ({ fine: true }))).toEqual({ fine: true });
  });

  it("keeps neither long words nor more than a hundred", () => {
    const of = setUp();
    const long = ["x".repeat(600)];
    expect(again(of, long)).not.toBe(of(long));
    const first = again(of, [0]);
    for (let each = 1; each < 100; each += 1) again(of, [each]);
    expect(of([0])).toBe(first);
    again(of, [100]);
    expect(of([0])).not.toBe(first);
  });
});
