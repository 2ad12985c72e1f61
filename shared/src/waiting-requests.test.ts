// How many requests wait, since when, and how fast they are answered.
import { describe, expect, it } from "@jest/globals";
import { WaitingRequests } from "./waiting-requests.js";

const requests = Array.from({ length: 10 }, () => ({}));
const [first = {}, second = {}, third = {}] = requests;

describe("requests that wait", () => {
  it("have waited as long as the first that still does", () => {
    const waiting = new WaitingRequests();
    waiting.begin(first, "a", 1_000);
    waiting.begin(second, "a", 1_200);
    waiting.begin(third, "b", 1_300);
    expect(waiting.look(1_500)).toMatchObject({ oldestMs: 500 });
    waiting.end(first, true, 1_500);
    expect(waiting.look(1_500)).toMatchObject({ oldestMs: 300 });
    waiting.endWhere((request) => request === second, 1_500);
    expect(waiting.look(1_500)).toMatchObject({ oldestMs: 200 });
    waiting.end(third, true, 1_500);
    expect(waiting.look(1_500)).toEqual({ oldestMs: 0, answeredPerSecond: 3 });
  });

  it("are answered so many times in the last second, whatever became of those before", () => {
    const waiting = new WaitingRequests();
    for (const request of requests) waiting.begin(request, "a", 1_000);
    for (const request of requests) waiting.end(request, true, 1_900);
    expect(waiting.look(2_000).answeredPerSecond).toBe(10);
    expect(waiting.look(2_500).answeredPerSecond).toBe(5);
    expect(waiting.look(3_000).answeredPerSecond).toBe(0);
    expect(waiting.look(9_000).answeredPerSecond).toBe(0);
  });

  it("are not answered when nobody waits for them any more, or a second time", () => {
    const waiting = new WaitingRequests();
    waiting.begin(first, "a", 1_000);
    waiting.end(first, false, 1_100);
    waiting.end(first, true, 1_100);
    waiting.end(second, true, 1_100);
    expect(waiting.look(1_100)).toEqual({ oldestMs: 0, answeredPerSecond: 0 });
  });

  it("are before another one: all of its own client, and so many of each other", () => {
    const waiting = new WaitingRequests();
    for (const [at, request] of requests.entries()) waiting.begin(request, at < 6 ? "a" : `b${at}`, 1_000);
    expect([waiting.before("a", 2), waiting.before("b6", 2), waiting.before("c", 2)]).toEqual([10, 6, 6]);
    for (const request of requests.slice(0, 5)) waiting.end(request, false, 1_100);
    expect([waiting.before("a", 2), waiting.before("c", 2)]).toEqual([5, 5]);
  });
});
