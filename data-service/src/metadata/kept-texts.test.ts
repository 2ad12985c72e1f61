// Texts about the API are written once for all to whom the same is said, and only so many are kept.
import { describe, expect, it } from "@jest/globals";
import { KeptTexts } from "./kept-texts.js";

const CATALOG = {};

/** How often a text was written. */
function counted(kept: KeptTexts) {
  const counter = { written: 0 };
  const ask = (rules: object, what = "types", text = "text"): string => {
    const write = (): string => {
      counter.written += 1;
      return text;
    };
    return String(kept.of([CATALOG, rules], [what], write));
  };
  return { counter, ask };
}

describe("a text about the API", () => {
  it("is written once for the same rules, and comes as it was written", () => {
    const { counter, ask } = counted(new KeptTexts());
    const rules: object = [];
    const text = '{"summary":"Ärger…"}';
    expect([ask(rules, "types", text), ask(rules, "types", text)]).toEqual([text, text]);
    expect(counter.written).toBe(1);
  });

  it("is another for other rules, and for another kind of text", () => {
    const kept = new KeptTexts();
    const rules: object = [];
    const { ask } = counted(kept);
    const texts = [ask(rules, "types", "a"), ask([], "types", "b"), ask(rules, "openapi", "c")];
    expect(texts).toEqual(["a", "b", "c"]);
  });

  it("is dropped when others were asked for since and there is no room for all", () => {
    const { counter, ask } = counted(new KeptTexts(50));
    const [one, two, three] = [[], [], []];
    for (const rules of [one, two, one, three, one]) ask(rules, "types", "x".repeat(10));
    expect(counter.written).toBe(3);
    ask(two, "types", "x".repeat(10));
    expect(counter.written).toBe(4);
  });

  it("comes whole where it alone is more than what is kept", () => {
    const { counter, ask } = counted(new KeptTexts(50));
    const rules: object = [];
    const text = "x".repeat(51);
    expect([ask(rules, "types", text), ask(rules, "types", text)]).toEqual([text, text]);
    expect(counter.written).toBe(2);
  });
});
