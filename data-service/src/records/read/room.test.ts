// What has room in an answer.
import { expect, it } from "@jest/globals";
import { NoRoom, Room } from "./room.js";

it("records have room up to a number of bytes, and the first one whatever it has", () => {
  const room = new Room(2, undefined, 100);
  room.take(60);
  expect(() => room.take(60)).toThrow(NoRoom);
  room.giveBack(120, 2);
  room.take(1_000);
  expect(() => room.take(1)).toThrow(NoRoom);
});

it("what belongs to one record, which can't be read in parts, has four times the room", () => {
  const share = 20 * 1024 * 1024;
  const [one, two] = [new Room(1), new Room(2)];
  for (const room of [one, two]) room.take(share);
  expect(() => one.take(5 * share)).not.toThrow();
  expect(() => one.take(share)).toThrow(NoRoom);
  expect(() => two.take(share)).toThrow(NoRoom);
});
