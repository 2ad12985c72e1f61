// One caller's slow queries do not take the database's connections from all others.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, accepted, apiOf, asAdmin, signIn } from "../support/api.js";
import { type CommandProxy, type Fate, isReadOf, startCommandProxy } from "../support/command-proxy.js";
import { allowAll } from "../support/rules.js";
import { freshDatabase, type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";
import { scrape, total } from "./prometheus.js";

const CONNECTIONS = 10;
const QUEUED_MS = 1_000;
const QUERY_TIMEOUT_MS = 4_000;
/** No quick answer, after which a caller might ask one more at once. */
const SLOW_MS = 300;
const PASSWORD = "a long password";

let proxy: CommandProxy;
let stack: Stack;
let visitor: Api;
let noisy: Api;
let another: Api;
let quiet: Api;
let ship: string;

beforeAll(async () => {
  const options = `maxPoolSize=${CONNECTIONS}&waitQueueTimeoutMS=${QUEUED_MS}`;
  proxy = await startCommandProxy(freshDatabase(options));
  const env = { QUERY_TIMEOUT_MS: String(QUERY_TIMEOUT_MS) };
  stack = await startStack({ mongodbUrl: proxy.mongodbUrl, env });
  const admin = await asAdmin(stack);
  const columns = [{ name: "name", type: "string" }];
  for (const name of ["ships", "crowds"]) await accepted(admin.post("/svc_table", { name, columns }));
  await allowAll(admin, ["ships", "crowds"], null);
  const api = `${stack.appUrl}/api`;
  const userOf = async (name: string): Promise<Api> => {
    const credentials = { email: `${name}@example.com`, password: PASSWORD };
    await accepted(admin.post("/svc_user", credentials));
    return signIn(api, credentials);
  };
  visitor = apiOf(api);
  noisy = await userOf("noisy");
  another = await userOf("another");
  quiet = await userOf("quiet");
  [{ id: ship }] = await accepted(admin.post("/ships", { name: "Hope" }));
});

afterAll(async () => {
  proxy?.decide(() => "pass");
  await stack?.stop();
  await proxy?.close();
});

/** Holds all reads of a table up. @returns how many there are, and what lets them go on, and all commands since */
function held(table: string) {
  const isRead = isReadOf(table);
  const seen: string[] = [];
  let [count, letGo] = [0, (): void => undefined];
  const released = new Promise<Fate>((resolve) => {
    letGo = () => resolve("pass");
  });
  proxy.decide((command) => {
    seen.push(command);
    if (!isRead(command)) return "pass";
    count += 1;
    return released;
  });
  const goOn = (): void => {
    proxy.decide((command) => {
      seen.push(command);
      return "pass";
    });
    letGo();
  };
  return {
    goOn,
    seen,
    reach: (wanted: number) =>
      until(
        () => count,
        (reached) => reached === wanted,
      ),
  };
}

const waiting = async (): Promise<number> =>
  total(await scrape(`${stack.dataUrl}/metrics`), "portico_queries_waiting");

const search = (api: Api, limit = 10): Promise<Answer> =>
  api.get("/crowds", { filter: { name: { _contains: "x" } }, limit: String(limit) });

const many = (api: Api, limit?: number): Promise<Answer>[] =>
  Array.from({ length: 2 * CONNECTIONS }, () => search(api, limit));

/** What another caller gets meanwhile: a record, and a list. */
const others = async (api: Api): Promise<number[]> =>
  (await Promise.all([api.get(`/ships/${ship}`), api.get("/ships")])).map(({ status }) => status);

describe("a caller whose queries take long", () => {
  it.each([
    ["a user", () => noisy],
    ["a visitor", () => visitor],
  ])(
    "has half of the connections, waits for the others, and keeps nobody else waiting: %s",
    async (_who, who) => {
      const { goOn, reach } = held("crowds");
      const asked = many(who());
      await reach(CONNECTIONS / 2);
      expect(await others(quiet)).toEqual([200, 200]);
      const answers: Answer[] = [];
      for (const answer of asked) void answer.then((each) => answers.push(each));
      await until(
        () => answers.length,
        (count) => count === asked.length - CONNECTIONS / 2,
      );
      expect(
        new Set(answers.map(({ status, headers }) => [status, headers.get("Retry-After")].join())),
      ).toEqual(new Set(["503,2"]));
      goOn();
      await Promise.all(asked);
      expect(answers.slice(-CONNECTIONS / 2).map(({ status }) => status)).toEqual(
        Array(CONNECTIONS / 2).fill(200),
      );
    },
  );

  it("still gets what is read by its id, and all that it waits for, for longer than others wait for a connection", async () => {
    const { goOn, reach } = held("crowds");
    const asked = Array.from({ length: CONNECTIONS }, () => search(noisy));
    await reach(CONNECTIONS / 2);
    expect((await noisy.get(`/ships/${ship}`)).status).toBe(200);
    await delay(2 * QUEUED_MS);
    goOn();
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it("asks no more for clients that have left", async () => {
    const { goOn, reach } = held("crowds");
    const first = Array.from({ length: CONNECTIONS / 2 }, () => search(noisy));
    await reach(CONNECTIONS / 2);
    const leaving = new AbortController();
    const left = Array.from({ length: 3 }, () =>
      noisy.send("GET", "/crowds?limit=1", { signal: leaving.signal }).catch(() => "left"),
    );
    await until(waiting, (count) => count === left.length);
    leaving.abort();
    await until(waiting, (count) => count === 0);
    goOn();
    await Promise.all([...first, ...left]);
  });

  it("asks nothing for a client that has left while it was looked up who asks", async () => {
    const [{ token }] = await accepted(noisy.post("/auth/api-tokens", { name: "new", expiresAt: "never" }));
    const api = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` });
    const { goOn, reach, seen } = held("_api_tokens");
    const leaving = new AbortController();
    const filter = encodeURIComponent(JSON.stringify({ name: { _contains: "abandoned" } }));
    const left = api.send("GET", `/crowds?filter=${filter}`, { signal: leaving.signal }).catch(() => "left");
    await reach(1);
    const aborted = async () =>
      total(await scrape(`${stack.dataUrl}/metrics`), "portico_http_request_duration_seconds_count", {
        status: "aborted",
      });
    const before = await aborted();
    leaving.abort();
    await until(aborted, (count) => count > before);
    goOn();
    expect([await left, (await search(api)).status]).toEqual(["left", 200]);
    expect(seen.some((command) => command.includes("abandoned"))).toBe(false);
  });

  it("has half of what is left beside another one", async () => {
    const { goOn, reach } = held("crowds");
    const first = many(noisy);
    await reach(5);
    const second = many(another);
    await reach(7);
    expect(await others(quiet)).toEqual([200, 200]);
    goOn();
    await Promise.all([...first, ...second]);
  });

  it("has no more where the answers are streamed", async () => {
    const { goOn, reach } = held("crowds");
    const asked = many(noisy, 0);
    await reach(CONNECTIONS / 2);
    expect(await others(quiet)).toEqual([200, 200]);
    goOn();
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it("gets pages while streams of theirs read their related records", async () => {
    const admin = await asAdmin(stack);
    const columns = [{ name: "name", type: "string" }];
    await accepted(admin.post("/svc_table", { name: "ports", columns }));
    const names = ["first", "second", "third", "fourth"];
    const relations = names.map((name) => ({ name, type: "many-to-one", table: "ports" }));
    await accepted(admin.post("/svc_table", { name: "voyages", columns, relations }));
    const [{ id: port }] = await accepted(admin.post("/ports", { name: "Hull" }));
    const links = Object.fromEntries(names.map((name) => [name, port]));
    await accepted(
      admin.post(
        "/voyages",
        Array.from({ length: 500 }, () => links),
      ),
    );
    const isRead = isReadOf("ports");
    let count = 0;
    proxy.decide(async (command): Promise<Fate> => {
      if (isRead(command)) {
        count += 1;
        await delay(SLOW_MS);
      }
      return "pass";
    });
    const leaving = new AbortController();
    const path = `/voyages?limit=0&fields=${names.map((name) => `${name}.name`).join()}`;
    const streams = Array.from({ length: 4 }, () =>
      admin.send("GET", path, { signal: leaving.signal }).catch(() => "left"),
    );
    await until(
      () => count,
      (reached) => reached > CONNECTIONS * names.length,
    );
    expect((await admin.get("/ports")).status).toBe(200);
    leaving.abort();
    expect(await Promise.all(streams)).toEqual(Array(streams.length).fill("left"));
    proxy.decide(() => "pass");
  });

  it("is counted in the metrics", async () => {
    const samples = await scrape(`${stack.dataUrl}/metrics`);
    expect(total(samples, "portico_queries_refused_total")).toBeGreaterThanOrEqual(CONNECTIONS);
    await until(waiting, (count) => count === 0);
  });
});

describe("a caller whose queries take long, on the embedded engine", () => {
  const AT_ONCE = 8;
  /** Half of those that may take long. */
  const SHARE = 3;
  let embedded: Stack;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "portico-shares-"));
    embedded = await startStack({ dataDir, mongodbUrl: `mongodb_embedded://${dataDir}/mongodb` });
  });

  afterAll(async () => {
    await embedded?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const waiting = async () => total(await scrape(`${embedded.dataUrl}/metrics`), "portico_queries_waiting");

  it("has half of what it works on at once, also at what was given up", async () => {
    const admin = await asAdmin(embedded);
    await accepted(admin.post("/svc_table", { name: "crowds", columns: [{ name: "name", type: "text" }] }));
    const rows = Array.from({ length: 1_000 }, (_, at) => ({ name: `${at} `.repeat(200) }));
    for (let part = 0; part < 5; part += 1) await accepted(admin.post("/crowds", rows));
    const words = Array.from({ length: 60 }, (_, at) => ({ name: { _contains: `x${at}` } }));
    const path = `/crowds?filter=${encodeURIComponent(JSON.stringify({ _or: words }))}`;
    const askMany = (signal: AbortSignal): Promise<unknown>[] =>
      Array.from({ length: AT_ONCE }, () => admin.send("GET", path, { signal }).catch(() => "left"));
    const [leaving, left] = [new AbortController(), new AbortController()];
    const givenUp = askMany(leaving.signal);
    await until(waiting, (count) => count === AT_ONCE - SHARE);
    leaving.abort();
    await until(waiting, (count) => count === 0);
    const asked = askMany(left.signal);
    await until(waiting, (count) => count > AT_ONCE - SHARE);
    expect((await admin.get("/me")).status).toBe(200);
    left.abort();
    await Promise.all([...givenUp, ...asked]);
  });
});
