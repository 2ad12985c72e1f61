// How much of something everybody may have, and how much of it one network.
import { expect, it } from "@jest/globals";
import { NetworkShares } from "./network-shares.js";

const [HERE, NEXT_DOOR, THERE, ELSEWHERE] = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "192.0.2.3"];

it("one network has half of it, and of what can't be halved the larger part", () => {
  const shares = new NetworkShares(5);
  expect([1, 2, 3].map(() => typeof shares.take(HERE))).toEqual(["function", "function", "function"]);
  expect([shares.take(HERE), shares.take(NEXT_DOOR)]).toEqual([undefined, undefined]);
});

it("all have no more than there is, also where none of them has much, and more when some is given back", () => {
  const shares = new NetworkShares(100);
  shares.take(HERE, 40);
  const giveBack = shares.take(THERE, 40);
  expect(shares.take(ELSEWHERE, 21)).toBeUndefined();
  giveBack?.();
  expect(shares.take(ELSEWHERE, 21)).toBeDefined();
  expect(shares.take(THERE, 39)).toBeDefined();
  expect(shares.take(THERE)).toBeUndefined();
});

it("what gives no address is one network", () => {
  const shares = new NetworkShares(2);
  expect(shares.take(undefined)).toBeDefined();
  expect(shares.take(undefined)).toBeUndefined();
});
