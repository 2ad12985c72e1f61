// The questions of one request: a few at once, for as long as a query may take.
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { Stop } from "../../stop.js";
import { Effort, whileWanted } from "./effort.js";

/** Questions that take their time, and what became of them. */
function questions(milliseconds: number) {
  const times: number[] = [];
  const seen = { begun: 0, running: 0, most: 0, times };
  const question = async ({ maxTimeMS }: { maxTimeMS: number }): Promise<void> => {
    seen.begun += 1;
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    seen.times.push(maxTimeMS);
    await delay(milliseconds);
    seen.running -= 1;
  };
  return { seen, question };
}

function many<Answer>(ask: () => Promise<Answer>): Promise<PromiseSettledResult<Answer>[]> {
  return Promise.allSettled(Array.from({ length: 20 }, ask));
}

describe("the questions of one request", () => {
  it("are asked four at once", async () => {
    const effort = new Effort(10_000);
    const { seen, question } = questions(5);
    const answers = await many(() => effort.ask(question));
    expect(answers.every(({ status }) => status === "fulfilled")).toBe(true);
    expect([seen.begun, seen.most]).toEqual([20, 4]);
  });

  it("have the time of one query together", async () => {
    const effort = new Effort(250);
    const { seen, question } = questions(100);
    const answers = await many(() => effort.ask(question));
    expect(seen.begun).toBeLessThanOrEqual(12);
    expect(answers.at(-1)).toMatchObject({ reason: { code: "QUERY_TIMEOUT" } });
    expect(seen.times.at(-1)).toBeLessThan(200);
  });

  it("end with the first that fails, those under way as well", async () => {
    const effort = new Effort(10_000);
    const broken = new Error("broken");
    const signals: AbortSignal[] = [];
    const answers = await many(() =>
      effort.ask(async ({ signal }) => {
        signals.push(signal);
        await delay(1);
        throw broken;
      }),
    );
    expect(answers.every((each) => each.status === "rejected" && each.reason === broken)).toBe(true);
    expect(signals.length).toBeLessThanOrEqual(5);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });

  it("are waited for no longer than that where others wait for the answer too", async () => {
    const shared = delay(300, "answer");
    const late = new Effort(20).ask((limits) => whileWanted(limits, shared));
    await expect(late).rejects.toMatchObject({ code: "QUERY_TIMEOUT" });
    expect(await new Effort(10_000).ask((limits) => whileWanted(limits, shared))).toBe("answer");
  });

  it("are not waited for without a client where others wait for the answer too", async () => {
    const [client, shared] = [new Stop(), delay(300, "answer")];
    const left = new Effort(10_000, client).ask((limits) => whileWanted(limits, shared));
    client.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    expect(await shared).toBe("answer");
  });

  it("end when the client goes", async () => {
    const client = new Stop();
    const effort = new Effort(10_000, client);
    const { seen, question } = questions(20);
    const answers = many(() => effort.ask(question));
    client.abort(new Error("gone"));
    expect((await answers).filter(({ status }) => status === "rejected").length).toBeGreaterThanOrEqual(16);
    expect(seen.begun).toBeLessThanOrEqual(4);
  });
});
