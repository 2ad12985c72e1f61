// SIGTERM under load: whatever a service has taken, it answers whole.
import { once } from "node:events";
import { Agent, get } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { apiOf } from "../support/api.js";
import { type RunningService, type Stack, startStack } from "../support/stack.js";

const CLIENTS = 12;
const ANSWERS_BEFORE_THE_STOP = 60;
/** Records of one request: as many as it may have, so that it takes a while. */
const MANY = 1_000;

let stack: Stack;
let authorization: string;

beforeAll(async () => {
  stack = await startStack();
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
  authorization = `Bearer ${body.accessToken}`;
  const admin = apiOf(`${stack.appUrl}/api`, { Authorization: authorization });
  await admin.post("/svc_table", { name: "posts", columns: [{ name: "title", type: "text" }] });
  const post = { name: "post", type: "many-to-one", table: "posts", inverse: "comments" };
  await admin.post("/svc_table", {
    name: "comments",
    columns: [{ name: "text", type: "text" }],
    relations: [post],
  });
  const records = Array.from({ length: 50 }, (_, at) => ({ title: `${at} `.repeat(500) }));
  await admin.post("/posts", records);
});

afterAll(() => stack.stop());

describe("a stop under load, over kept-alive connections", () => {
  it("of the data service drops no request it has taken", async () => {
    const load = startLoad("to-data-service");
    await load.warm;
    const log = await stopped(stack.dataService);
    const statuses = await load.end();
    // What the gateway could not hand on any more is said as what it is.
    expect([...statuses.keys()].sort()).toEqual([200, 502]);
    expect(logged(log, load.name, "request cut off")).toBe(0);
    expect(logged(log, load.name, "request")).toBe(statuses.get(200));
    await stack.restartDataService();
  });

  it("of the gateway drops no request it has taken", async () => {
    const load = startLoad("to-gateway");
    await load.warm;
    const log = await stopped(stack.gateway);
    const statuses = await load.end();
    expect([...statuses.keys()]).toEqual([200]);
    expect(logged(log, load.name, "request cut off")).toBe(0);
    expect(logged(log, load.name, "request")).toBe(statuses.get(200));
  });
});

describe("a stop of the data service", () => {
  it("finishes what is half written, also when its client has left", async () => {
    const client = await MongoClient.connect(stack.mongodbUrl);
    const [notes, posts] = [client.db().collection("_unfinished"), client.db().collection("posts")];
    const leaving = new AbortController();
    const post = { title: "of one who left", comments: [{ text: "a" }, { text: "b" }] };
    const body = JSON.stringify(Array.from({ length: MANY }, () => post));
    const headers = { Authorization: authorization, "Content-Type": "application/json" };
    const gone = fetch(`${stack.dataUrl}/posts`, { method: "POST", headers, body, signal: leaving.signal });
    while ((await notes.countDocuments()) === 0);
    leaving.abort();
    await expect(gone).rejects.toThrow();
    await stopped(stack.dataService);
    expect(await notes.countDocuments()).toBe(0);
    expect(await posts.countDocuments({ title: "of one who left" })).toBe(MANY);
    await client.close();
    await stack.restartDataService();
  });
});

interface Load {
  /** Begins every correlation id of it. */
  readonly name: string;
  /** Enough answers have come that all connections are in use. */
  readonly warm: Promise<void>;
  /** Lets every client end its request under way. @returns how many whole answers came, by status */
  end(): Promise<ReadonlyMap<number, number>>;
}

/** Clients that ask again as soon as they have their answer, each on one connection, until it is refused. */
function startLoad(name: string): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const statuses = new Map<number, number>();
  let asked = 0;
  let ended = false;
  let setWarm = (): void => {};
  const warm = new Promise<void>((resolve) => {
    setWarm = resolve;
  });
  const client = async (): Promise<void> => {
    while (!ended) {
      asked += 1;
      const status = await ask(agent, `${name}-${asked}`);
      if (status === undefined) return;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (statuses.get(200) === ANSWERS_BEFORE_THE_STOP) setWarm();
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  return {
    name,
    warm,
    async end() {
      ended = true;
      await Promise.all(clients);
      agent.destroy();
      return statuses;
    },
  };
}

/** The status of a whole answer; undefined when the connection was refused or closed before it. */
function ask(agent: Agent, correlationId: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { Authorization: authorization, "X-Correlation-ID": correlationId };
    const request = get(`${stack.appUrl}/api/posts?limit=50`, { agent, headers }, (response) => {
      response.resume();
      response.once("close", () => resolve(response.complete ? response.statusCode : undefined));
    });
    request.once("error", () => resolve(undefined));
  });
}

/** Stops a service. @returns all it has written, once it has ended well */
async function stopped(service: RunningService): Promise<string> {
  const closed = once(service.process, "close");
  await service.stop();
  await closed;
  expect(service.process.exitCode).toBe(0);
  return service.log();
}

/** How many requests of a load the service has logged with this message. */
function logged(log: string, load: string, message: string): number {
  const lines: { message?: string; correlationId?: string }[] = log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return lines.filter((line) => line.message === message && line.correlationId?.startsWith(`${load}-`))
    .length;
}
