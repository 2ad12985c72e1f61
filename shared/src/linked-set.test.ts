// A set in the order of arrival, each member at most once.
import { describe, expect, it } from "@jest/globals";
import { LinkedSet } from "./linked-set.js";

const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }] as const;

function setOf(...members: { name: string }[]): LinkedSet<{ name: string }> {
  const set = new LinkedSet<{ name: string }>();
  for (const member of members) set.add(member);
  return set;
}
const names = (set: LinkedSet<{ name: string }>): string => [...set].map(({ name }) => name).join("");

describe("a linked set", () => {
  it.each([
    ["nobody", setOf(), "", undefined],
    ["everybody in the order in which they came", setOf(c, a, b), "cab", c],
    ["somebody who came twice once, at the first place", setOf(a, b, a), "ab", a],
  ])("has %s", (_who, set, order, first) => {
    expect(names(set)).toBe(order);
    expect(set.size).toBe(order.length);
    expect(set.first).toBe(first);
  });

  it.each([
    ["the first", a, "bc"],
    ["one in the middle", b, "ac"],
    ["the last", c, "ab"],
  ])("lets %s go, and takes it again as the last", (_which, member, left) => {
    const set = setOf(a, b, c);
    expect(set.delete(member)).toBe(true);
    expect(set.delete(member)).toBe(false);
    expect(names(set)).toBe(left);
    set.add(member);
    expect(names(set)).toBe(left + member.name);
  });

  it("shares its members with other sets", () => {
    const [one, other] = [setOf(a, b), setOf(b)];
    one.delete(b);
    expect([names(one), names(other)]).toEqual(["a", "b"]);
  });

  it("may change while somebody goes through it", () => {
    const set = setOf(a, b, c);
    for (const member of set) set.delete(member);
    expect(set.size).toBe(0);
  });
});
