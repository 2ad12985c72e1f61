// An acknowledged write survives kill -9, on the data service's own embedded engine.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, asAdmin, signIn } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const ROUNDS = 10;
const WRITERS = 16;

let directory: string;
let stack: Stack;
let admin: Api;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-crash-"));
  stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
  admin = await asAdmin(stack);
  await admin.post("/svc_table", {
    name: "letters",
    columns: [
      { name: "key", type: "string", required: true, unique: true },
      { name: "body", type: "text" },
    ],
  });
});

afterAll(async () => {
  await stack.stop();
  await rm(directory, { recursive: true, force: true });
});

async function killAndRestart(): Promise<void> {
  await stack.dataService.stop("SIGKILL");
  await stack.restartDataService();
}

async function keysLike(prefix: string): Promise<string[]> {
  const filter = { key: { _starts_with: prefix } };
  const { body } = await admin.get("/letters", { fields: "key,body", filter, limit: "0" });
  for (const letter of body.data) expect(letter.body).toBe(bodyOf(letter.key));
  return body.data.map(({ key }: { key: string }) => key);
}

const bodyOf = (key: string) => `${key} `.repeat(200);

describe("kill -9 of the data service", () => {
  it("right after an answered create leaves the record there", async () => {
    const { status, body } = await admin.post("/letters", { key: "answered", body: bodyOf("answered") });
    await killAndRestart();
    expect(status).toBe(201);
    expect((await admin.get(`/letters/${body.data[0].id}`)).body.data).toEqual(body.data);
  });

  it("right after an answered change and an answered delete keeps both", async () => {
    const [changed, deleted] = await Promise.all(
      ["changed", "deleted"].map(async (key) => (await admin.post("/letters", { key })).body.data[0].id),
    );
    const answers = await Promise.all([
      admin.patch(`/letters/${changed}`, { body: "new" }),
      admin.delete(`/letters/${deleted}`),
    ]);
    await killAndRestart();
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await admin.get(`/letters/${changed}`)).body.data[0].body).toBe("new");
    expect((await admin.get(`/letters/${deleted}`)).status).toBe(404);
  });

  it(`in ${ROUNDS} rounds under ${WRITERS} writers loses no answered create and leaves no half one`, async () => {
    let answeredInAll = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const answered = new Map<string, string>();
      const { process: victim, url } = stack.dataService;
      // Straight at the data service: a gateway in between would give the disk time after each answer.
      const inside = await signIn(url, stack.admin);
      const write = async (writer: number): Promise<void> => {
        for (let count = 0; !victim.killed; count += 1) {
          const key = `r${round}-w${writer}-${count}.`;
          const answer = await inside.post("/letters", { key, body: bodyOf(key) }).catch(() => undefined);
          if (answer?.status === 201) answered.set(key, answer.body.data[0].id);
          // In the very moment of an answer: what is not on disk by then is lost.
          if (answered.size >= WRITERS + round) victim.kill("SIGKILL");
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
      await stack.dataService.stop("SIGKILL");
      await stack.restartDataService();

      const reads = await Promise.all([...answered.values()].map((id) => admin.get(`/letters/${id}`)));
      expect(reads.map(({ body }) => body.data?.[0].key)).toEqual([...answered.keys()]);
      const kept = await keysLike(`r${round}-`);
      expect(kept).toEqual(expect.arrayContaining([...answered.keys()]));
      expect(new Set(kept).size).toBe(kept.length);
      answeredInAll += answered.size;
    }
    expect(answeredInAll).toBeGreaterThan(ROUNDS);
  }, 180_000);

  it("keeps the session: nobody has to sign in again", async () => {
    await killAndRestart();
    expect((await admin.get("/me")).status).toBe(200);
  });

  it("in the middle of a list of creates can be followed by the same list again", async () => {
    const letters = Array.from({ length: 500 }, (_, at) => ({
      key: `list-${at}.`,
      body: bodyOf(`list-${at}.`),
    }));
    const attempt = admin.post("/letters", letters, { fields: "id" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await stack.dataService.stop("SIGKILL");
    const { status } = await attempt;
    await stack.restartDataService();
    const kept = await keysLike("list-");
    expect(status === 201 ? kept.length : 500).toBe(500);
    const missing = letters.filter(({ key }) => !kept.includes(key));
    if (missing.length > 0)
      expect((await admin.post("/letters", missing, { fields: "id" })).status).toBe(201);
    expect((await keysLike("list-")).length).toBe(500);
  });
});
