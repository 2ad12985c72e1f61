import { describe, expect, it } from "@jest/globals";
import { readerView, rootView } from "../query/library-fixture.js";
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

describe("Remembered", () => {
  it("makes the same of the same words once", () => {
    const of = setUp();
    expect(of(["books", { fields: "title" }])).toBe(of(["books", { fields: "title" }]));
  });

  it("makes something else of other words, and through another view", () => {
    const of = setUp();
    const results = [of(["books", {}]), of(["authors", {}]), of(["books", { limit: 1 }])];
    expect(new Set([...results, of(["books", {}], readerView)]).size).toBe(4);
  });

  it("takes a number beyond all bounds, as 1e400 is read, for nothing else", () => {
    const of = setUp();
    const results = [of([null]), of([JSON.parse("1e400")]), of([JSON.parse("-1e400")]), of(["null"])];
    expect(new Set(results).size).toBe(4);
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
    expect(of(long)).not.toBe(of(long));
    const first = of([0]);
    for (let each = 1; each <= 100; each += 1) of([each]);
    expect(of([0])).not.toBe(first);
  });
});
