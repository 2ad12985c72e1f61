// What has room in an answer, and what is read in parts for want of it.
import { describe, expect, it } from "@jest/globals";
import { only } from "../../pieces.js";
import { inRoom, NoRoom, Room } from "./room.js";

it("records have room up to a number of bytes, and the first one whatever it has", () => {
  const room = new Room(2, undefined, 100);
  room.take(60);
  room.take(40);
  expect(() => room.take(1)).toThrow(NoRoom);
  room.giveBack(101, 3);
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

it("records have room up to their number, also where each is small", () => {
  const room = new Room(2, 2);
  room.take(1);
  room.take(1);
  expect(() => room.take(1)).toThrow(NoRoom);
});

describe("what is read for several", () => {
  /** Reads numbers, so many at most, and tells which were asked for together. */
  function reader(most: number, refusal: Error = new NoRoom()) {
    const asked: string[] = [];
    const read = async (some: readonly number[]): Promise<string> => {
      asked.push(some.join());
      if (some.length > most) throw refusal;
      return `read ${some.join()}`;
    };
    return { asked, read };
  }

  async function all(made: AsyncIterable<string>): Promise<string[]> {
    const found: string[] = [];
    for await (const each of made) found.push(each);
    return found;
  }

  it("is read in halves, one after the other, as far as it has no room together", async () => {
    const { asked, read } = reader(2);
    expect(await all(inRoom([1, 2, 3, 4, 5], read, only))).toEqual(["read 1,2", "read 3", "read 4,5"]);
    expect(asked).toEqual(["1,2,3,4,5", "1,2,3", "1,2", "3", "4,5"]);
  });

  it("is refused when one alone has no room", async () => {
    const { asked, read } = reader(0);
    await expect(all(inRoom([1, 2, 3], read, only))).rejects.toThrow(NoRoom);
    expect(asked).toEqual(["1,2,3", "1,2", "1"]);
  });

  it("is read no more when it is refused for another reason", async () => {
    const { asked, read } = reader(0, new Error("broken"));
    await expect(all(inRoom([1, 2, 3], read, only))).rejects.toThrow("broken");
    expect(asked).toEqual(["1,2,3"]);
  });
});
