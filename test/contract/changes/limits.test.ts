// Contract 5.3: how many streams a data service serves, when browsers come back, and what the table's option ends.
import { once } from "node:events";
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { holdEvents, openEvents } from "../../support/event-source.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { makeTable, tally } from "../records/make.js";

const [MOST, MOST_OF_ONE] = [1_000, 100];

let stack: Stack;
let admin: Api;
let table: string;
let authorization: string;
const requests: ClientRequest[] = [];

beforeAll(async () => {
  stack = await startStack({ env: { TRUST_PROXY: "loopback" } });
  admin = await asAdmin(stack);
  const columns = [{ name: "title", type: "string" }];
  table = (await makeTable(admin, { name: "notes", changes: true, columns })).id;
  await allowAll(admin, ["notes"], null);
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
  authorization = `Bearer ${body.accessToken}`;
});

afterAll(async () => {
  for (const request of requests) request.destroy();
  await stack?.stop();
});

interface Opened {
  readonly status: number;
  readonly answer: IncomingMessage;
  readonly request: ClientRequest;
}

/** A stream at the data service, from an address, with a session or without. */
async function open(address: number, session = false): Promise<Opened> {
  const headers = {
    "X-Forwarded-For": `198.51.100.${address}`,
    ...(session ? { Authorization: authorization } : {}),
  };
  const request = get(`${stack.dataUrl}/notes/changes`, { agent: false, headers });
  requests.push(request);
  const [answer]: IncomingMessage[] = await once(request, "response");
  request.on("error", () => undefined);
  if (answer === undefined) throw new Error("no answer");
  return { status: answer.statusCode ?? 0, answer, request };
}

/** Opens so many, a few at a time. */
async function openMany(count: number, one: (at: number) => Promise<Opened>): Promise<Opened[]> {
  const all: Opened[] = [];
  for (let at = 0; at < count; at += 50)
    all.push(
      ...(await Promise.all(Array.from({ length: Math.min(50, count - at) }, (_, of) => one(at + of)))),
    );
  return all;
}

describe("a data service", () => {
  it("serves 100 streams to one user or address (429 beyond), and 1,000 in all (503)", async () => {
    const addresses = MOST / MOST_OF_ONE - 1;
    // One user, from wherever.
    const users = await openMany(MOST_OF_ONE, (at) => open(100 + at, true));
    expect(tally(users)).toEqual({ 200: MOST_OF_ONE });
    const visitors = await openMany(MOST_OF_ONE * addresses, (at) => open(at % addresses));
    expect(tally(visitors)).toEqual({ 200: MOST_OF_ONE * addresses });
    const [tooManyOfUser, tooManyOfAddress, tooMany] = [await open(250, true), await open(0), await open(99)];
    expect([tooManyOfUser.status, tooManyOfAddress.status, tooMany.status]).toEqual([429, 429, 503]);
    for (const { answer } of [tooManyOfUser, tooManyOfAddress, tooMany])
      expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
    // A place that is given up is free.
    users[0]?.request.destroy();
    let again = await open(99);
    for (; again.status === 503; again = await open(99)) again.request.destroy();
    expect(again.status).toBe(200);
    for (const request of requests.splice(0)) request.destroy();
  });
});

describe("a stream", () => {
  it("tells browsers to come back after a second", async () => {
    const { answer } = await open(1);
    const [piece] = await once(answer, "data");
    expect(String(piece)).toMatch(/^retry: 1000\n/m);
  });

  it("ends with slow for a client that reads too late, which goes on where it was", async () => {
    const patient = await startStack({ env: { CHANGES_STALL_MS: "6000" } });
    try {
      const owner = await asAdmin(patient);
      const columns = [{ name: "body", type: "text" as const }];
      await makeTable(owner, { name: "letters", changes: true, columns });
      await allowAll(owner, ["letters"], null);
      const url = `${patient.dataUrl}/letters/changes`;
      const begin = await openEvents(url);
      const { lastEventId } = begin;
      begin.close();
      // More than all buffers on the way hold, so that the stream stands still as soon as it is opened.
      const letters = Array.from({ length: 3 }, () => ({ body: "x".repeat(300_000) }));
      for (let at = 0; at < 20; at += 1) expect((await owner.post("/letters", letters)).status).toBe(201);
      const held = await holdEvents(url, {}, lastEventId);
      // Later than it waits for the client, earlier than it cuts the client off.
      await new Promise((resolve) => setTimeout(resolve, 9_000));
      const late = held.read();
      await late.ended();
      expect(late.told.at(-1)).toMatchObject({ event: "end", data: { reason: "slow" } });
      expect(late.told.length).toBeLessThan(60);
      const again = await openEvents(url, {}, late.lastEventId);
      const told = late.told.filter(({ event }) => event === "created").length;
      expect(await again.first(60 - told, "created")).toHaveLength(60 - told);
      again.close();
    } finally {
      await patient.stop();
    }
  });

  it("ends with refused when the table's changes are followed no more", async () => {
    const source = await openEvents(`${stack.appUrl}/api/notes/changes`, { Authorization: authorization });
    const { status } = await admin.patch(`/svc_table/${table}`, { changes: false });
    expect(status).toBe(200);
    const switchedAt = performance.now();
    await source.ended();
    expect(source.told.at(-1)).toMatchObject({ event: "end", data: { reason: "refused" } });
    // Five seconds, and as much again for a machine that does other things as well.
    expect(performance.now() - switchedAt).toBeLessThan(10_000);
  });
});
