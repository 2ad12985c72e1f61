// R30: sequences of all that can happen to a session, by a browser's real cookies through the real services, against a model.
//
// PORTICO_SESSION_RUNS makes it longer, of other sequences each time (`npm run test:sessions`); PORTICO_SESSION_SEED repeats a run.
import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "@jest/globals";
import fc from "fast-check";
import { MongoClient } from "mongodb";
import { asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";
import { CLASSICS, operations } from "./session-model.js";
import { type Place, Play, SURELY_IN_GRACE_MS, type System } from "./session-play.js";

const { PORTICO_SESSION_RUNS, PORTICO_SESSION_SEED } = process.env;
const RUNS = Number(PORTICO_SESSION_RUNS ?? 2);
// The short form stands before every commit: what fails there must be what the commit has changed.
const SEED = Number(PORTICO_SESSION_SEED ?? (PORTICO_SESSION_RUNS === undefined ? 1 : randomInt(2 ** 31)));
const MINUTES = 60_000;

/** Other sequences on each. */
const PLACES: readonly [scheme: string, seed: number, place: Place][] = [
  ["http", SEED, { prefix: "", secure: {}, env: {} }],
  [
    "https",
    SEED + 1,
    { prefix: "__Host-", secure: { secure: "" }, env: { APP_URL: "https://app.example.com" } },
  ],
];

// The seed stands in the name, so that every failure shows it.
describe.each(PLACES)(
  `an app on %s, ${RUNS} sequences, PORTICO_SESSION_SEED=${SEED}`,
  (_scheme, seed, place) => {
    let stack: Stack;
    let database: MongoClient;
    let system: System;

    beforeAll(async () => {
      stack = await startStack({ env: { TRUST_PROXY: "loopback", ...place.env } });
      database = await MongoClient.connect(stack.mongodbUrl);
      system = { stack, place, database: database.db(), admin: await asAdmin(stack) };
    });

    afterAll(async () => {
      await database?.close();
      await stack?.stop();
    });

    it(
      "knows at every moment who is signed in, and every cookie is as promised",
      async () => {
        await fc.assert(
          fc.asyncProperty(operations, async (sequence) => {
            const play = await Play.begin(system);
            let since = performance.now();
            for (const operation of sequence) {
              // On a slow machine they are ended before they end by themselves, where the model knows.
              if (performance.now() - since > SURELY_IN_GRACE_MS) {
                await play.take({ does: "half a minute goes by" });
                since = performance.now();
              }
              await play.take(operation);
            }
          }),
          {
            numRuns: RUNS + CLASSICS.length,
            seed,
            examples: CLASSICS.map((sequence): [typeof sequence] => [sequence]),
          },
        );
      },
      5 * MINUTES + RUNS * 10_000,
    );
  },
);
