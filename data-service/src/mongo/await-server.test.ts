// Waiting for a database that is not there yet: for what, how long, and what is said meanwhile.
import { setTimeout } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { MongoError, MongoNetworkError, MongoServerError } from "mongodb";
import { whenReached } from "./await-server.js";

const away = new MongoNetworkError("connect ECONNREFUSED");
/** What is answered by whom asks a server that fails so often, and what was said meanwhile. */
const asked = (patienceMs: number, ...failures: Error[]) => {
  const told: string[] = [];
  let attempts = 0;
  const ask = async (): Promise<string> => {
    const failure = failures[attempts];
    attempts += 1;
    if (failure !== undefined) throw failure;
    return `at attempt ${attempts}`;
  };
  const patience = { ms: patienceMs, tell: (problem: string) => void told.push(problem) };
  return { told, answer: whenReached(ask, patience, String) };
};

it("asks again until the server is reached, and says once what it waits for", async () => {
  const { told, answer } = asked(60_000, away, away);
  expect(await answer).toBe("at attempt 3");
  expect(told).toEqual([String(away)]);
});

it("waits for a server that is going away, coming up, or slow to connect to", async () => {
  const stopping = new MongoServerError({ message: "shutdown in progress", code: 91 });
  const late = Object.defineProperty(new MongoError("Timed out"), "name", {
    value: "MongoWaitQueueTimeoutError",
  });
  expect(await asked(60_000, stopping, late).answer).toBe("at attempt 3");
});

it("fails as the last attempt did when the time is over", async () => {
  await expect(asked(200, away, away, away).answer).rejects.toBe(away);
});

it("has all its patience for a server that goes away after an attempt of long work", async () => {
  let attempts = 0;
  const ask = async (): Promise<number> => {
    attempts += 1;
    if (attempts > 1) return attempts;
    await setTimeout(300);
    throw away;
  };
  expect(await whenReached(ask, { ms: 200, tell: () => {} }, String)).toBe(2);
});

it("does not wait for what waiting does not mend", async () => {
  const refused = new MongoServerError({ message: "Authentication failed.", code: 18 });
  const { told, answer } = asked(60_000, refused);
  await expect(answer).rejects.toBe(refused);
  expect(told).toEqual([]);
});
