// kill -9 in the middle of writes that change links: at the next start every counted relation is exact again.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { countedTables, differences, randomWrites } from "../contract/records/counted-world.js";
import { type Api, asAdmin, signIn } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const ROUNDS = 8;
const WRITERS = 12;

describe("kill -9 while links change", () => {
  let directory: string;
  let stack: Stack;
  let admin: Api;
  let houses: number[];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "portico-counts-"));
    stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
    admin = await asAdmin(stack);
    await countedTables(admin);
    const { body } = await admin.post("/houses", [{}, {}, {}, {}], { fields: "id" });
    houses = body.data.map(({ id }: { id: number }) => id);
  });

  afterAll(async () => {
    await stack.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it(`leaves every number exact, in ${ROUNDS} rounds with ${WRITERS} writers`, async () => {
    let repaired = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const inside = await signIn(stack.dataUrl, stack.admin);
      const victim = stack.dataService.process;
      const writers = Array.from({ length: WRITERS }, (_, at) =>
        // A writer ends where the connection does.
        randomWrites(inside, houses, 1_000, round * WRITERS + at).catch(() => undefined),
      );
      setTimeout(() => victim.kill("SIGKILL"), 150 + 70 * round);
      await Promise.all(writers);
      await stack.dataService.stop("SIGKILL");
      await stack.restartDataService();
      repaired += /"repaired":(\d+)/.exec(stack.dataService.log())?.[1] === undefined ? 0 : 1;
      expect(await differences(admin)).toEqual([]);
      const all = { fields: "id", limit: "0", meta: "totalCount" };
      // The first question counts, the second may know.
      for (const { body } of [await admin.get("/cats", all), await admin.get("/cats", all)])
        expect(body.meta.totalCount).toBe(body.data.length);
    }
    // Else the test has never hit what it is about.
    expect(repaired).toBeGreaterThan(0);
  }, 240_000);
});
