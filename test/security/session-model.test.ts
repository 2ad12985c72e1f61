// R30: sequences of all that can happen to a session, by a browser's real cookies through the real services, against a model.
//
// PORTICO_SESSION_RUNS makes it longer (`npm run test:sessions`); PORTICO_SESSION_SEED repeats a run.
import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "@jest/globals";
import fc from "fast-check";
import { MongoClient } from "mongodb";
import { asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";
import { CLASSICS, operations } from "./session-model.js";
import { type Place, Play, type System } from "./session-play.js";

const RUNS = Number(process.env.PORTICO_SESSION_RUNS ?? 2);
const SEED = Number(process.env.PORTICO_SESSION_SEED ?? randomInt(2 ** 31));
const MINUTES = 60_000;
/** After it grace periods end by themselves, at 30 s; on a slow machine they are ended before that, where the model knows. */
const SURELY_IN_GRACE_MS = 20_000;

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
