// A system with a table of notes, behind ports that stay when its data service goes, and what load on it must answer.
import { expect } from "@jest/globals";
import { MongoClient } from "mongodb";
import { apiOf, asAdmin } from "../../support/api.js";
import { freePort } from "../../support/free-port.js";
import { type Stack, type StackOptions, startStack } from "../../support/stack.js";
import { Client, type Outcome } from "./client.js";
import { tally } from "./load.js";
import { startToxicProxy, type ToxicProxy } from "./toxic-proxy.js";

export const isLong = process.env.PORTICO_RESILIENCE === "long";

/** One number for `npm test`, one for `npm run test:resilience`. */
export function size(short: number, long: number): number {
  return isLong ? long : short;
}

/** R2: how soon after a restart the next create has to succeed. */
export const RECOVERY_MS = size(30_000, 2_000);

export interface NotesSystem {
  readonly stack: Stack;
  /** Between gateway and data service. */
  readonly proxy: ToxicProxy;
  /** Root admin, through the gateway. */
  readonly client: Client;
  readonly authorization: string;
  /** A note that is always there. */
  readonly noteId: string;
  /** How often each key stands in the database. */
  keys(prefix: string): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

/** @param options.direct the gateway asks the data service without the proxy in between */
export async function startNotesSystem({
  direct = false,
  ...options
}: StackOptions & { readonly direct?: boolean } = {}): Promise<NotesSystem> {
  const port = await freePort();
  const proxy = await startToxicProxy(() => ({ host: "127.0.0.1", port }));
  const DATA_SERVICE_URL = `http://127.0.0.1:${direct ? port : proxy.port}`;
  const env = { DATA_SERVICE_PORT: String(port), DATA_SERVICE_URL, ...options.env };
  const stack = await startStack({ shipped: true, ...options, env });
  const admin = await asAdmin(stack);
  const columns = [
    { name: "key", type: "string" },
    { name: "body", type: "text" },
  ];
  await admin.post("/svc_table", { name: "notes", columns });
  const first = await admin.post("/notes", { key: "first", body: "text ".repeat(200) });
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
  const authorization = `Bearer ${body.accessToken}`;
  const client = new Client(`${stack.appUrl}/api`, { Authorization: authorization });
  const database = await MongoClient.connect(stack.mongodbUrl);
  return {
    stack,
    proxy,
    client,
    authorization,
    noteId: first.body.data[0].id,
    async keys(prefix) {
      const found = database
        .db()
        .collection<{ key: string }>("notes")
        .find({ key: { $regex: `^${prefix}` } });
      const counts = new Map<string, number>();
      for await (const { key } of found) counts.set(key, (counts.get(key) ?? 0) + 1);
      return counts;
    },
    async stop() {
      client.close();
      await database.close();
      await stack.stop();
      await proxy.close();
    },
  };
}

/** What a client may hear while a service behind the gateway fails. */
const ALLOWED = new Set<Outcome["ended"]>([200, 201, 502, 503, 504]);

/**
 * Every request ended, in time, with an answer that says what it is. A transfer may break, but not before its head.
 * @param mayBreak something cuts answers in the middle
 */
export function expectHonest(outcomes: readonly Outcome[], mayBreak = false): void {
  const bad = outcomes.filter(({ ended, isJson }) => ended !== "broken" && !(ALLOWED.has(ended) && isJson));
  expect(bad.slice(0, 5)).toEqual([]);
  // Short answers are there at once: where nothing cuts them on purpose, hardly one is under way just then.
  if (!mayBreak) expect(tally(outcomes).broken ?? 0).toBeLessThanOrEqual(outcomes.length / 20);
}

/** Reads and creates in turns, each create with a key of its own, which is remembered when it was acknowledged. */
export function readsAndCreates(
  { client, noteId }: Pick<NotesSystem, "client" | "noteId">,
  name: string,
): { send: (at: number) => Promise<Outcome>; acknowledged: Set<string> } {
  const acknowledged = new Set<string>();
  const send = async (at: number): Promise<Outcome> => {
    if (at % 3 === 1) return client.ask("GET", `/notes/${noteId}`);
    if (at % 3 === 2) return client.ask("GET", "/notes?limit=5&sort=-key");
    const key = `${name}-${at}.`;
    const outcome = await client.post("/notes", { key, body: "written under load" });
    if (outcome.ended === 201) acknowledged.add(key);
    return outcome;
  };
  return { send, acknowledged };
}

/** Each acknowledged create is there, and none, acknowledged or not, twice. */
export async function expectWritten(
  system: NotesSystem,
  name: string,
  acknowledged: ReadonlySet<string>,
): Promise<void> {
  const keys = await system.keys(`${name}-`);
  expect([...acknowledged].filter((key) => !keys.has(key))).toEqual([]);
  expect([...keys].filter(([, count]) => count > 1)).toEqual([]);
}
