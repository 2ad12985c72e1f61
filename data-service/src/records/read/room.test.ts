// What has room in an answer.
import { expect, it } from "@jest/globals";
import { NoRoom, Room } from "./room.js";

it("records have room up to a number of bytes, and the first one whatever it has", () => {
  const room = new Room(undefined, 100);
  room.take(60);
  expect(() => room.take(60)).toThrow(NoRoom);
  room.giveBack(120, 2);
  room.take(1_000);
  expect(() => room.take(1)).toThrow(NoRoom);
});
