// What must be exact with two gateways and two data services on one database: one code, one session; one person, one user.
// OAUTH_RACE_ROUNDS makes it longer (`npm run test:oauth-races` runs 100).
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Cluster, startCluster } from "../support/cluster.js";
import {
  become,
  type FakeProviders,
  newPeople,
  type ProviderName,
  startProviders,
} from "./support/providers.js";
import { CHAT, isBridge, isCallback, placesOf, signInOnChat } from "./support/system.js";
import { Traveller } from "./support/traveller.js";

const ROUNDS = Number(process.env.OAUTH_RACE_ROUNDS ?? "3");
const AT_ONCE = 50;
jest.setTimeout(60_000 + ROUNDS * 5_000);

let cluster: Cluster;
let providers: FakeProviders;
let mongo: MongoClient;

beforeAll(async () => {
  providers = await startProviders();
  cluster = await startCluster({
    env: { ...providers.env, ALLOWED_ORIGINS: CHAT, OAUTH_STARTS_PER_MINUTE: "0" },
  });
  mongo = await MongoClient.connect(cluster.mongodbUrl);
});
afterAll(async () => {
  await mongo?.close();
  await cluster?.stop();
  await providers?.stop();
});

/** A browser whose apps reach one of the two gateways. */
function travellerOn(door: number): Traveller {
  const issuer = `${providers.oauth2.issuer.url}/`;
  return new Traveller({ ...placesOf(cluster, cluster.gateways[door % 2]?.url), [issuer]: issuer });
}

const many = <Result>(act: (at: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, at) => act(at)));

/** The real address of a page, by one of the two gateways. */
const through = (door: number, url: string): string =>
  url.replace(/^https?:\/\/[^/]+\/(?:portal|api)\//, `${cluster.gateways[door % 2]?.url}/api/`);

/** Browsers on their way back from a provider, each one step before the callback. */
async function onTheWay(count: number, providerOf: (at: number) => ProviderName): Promise<Journeys> {
  const travellers = Array.from({ length: count }, (_, at) => travellerOn(at));
  const callbacks: string[] = [];
  for (const [at, traveller] of travellers.entries())
    callbacks.push((await signInOnChat(traveller, providerOf(at), "/portal", isCallback)).end);
  return { travellers, callbacks };
}

interface Journeys {
  readonly travellers: readonly Traveller[];
  readonly callbacks: readonly string[];
}

/** All callbacks at once, then all bridges at once. @returns where they end */
async function arriveAtOnce({ travellers, callbacks }: Journeys): Promise<(string | null)[]> {
  const atOnce = (urls: readonly string[]): Promise<(string | null)[]> =>
    Promise.all(
      urls.map(async (url, at) => {
        const Cookie = travellers[at]?.cookieHeader(CHAT) ?? "";
        const answer = await fetch(through(at, url), { redirect: "manual", headers: { Cookie } });
        return answer.headers.get("location");
      }),
    );
  const bridges = await atOnce(callbacks);
  return atOnce(bridges.map((url) => url ?? ""));
}

describe(`in ${ROUNDS} rounds`, () => {
  it(`A3 of ${AT_ONCE} redemptions of one code exactly one succeeds`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      become(providers, newPeople(`code${round}`));
      const traveller = travellerOn(round);
      const { end } = await signInOnChat(traveller, "google", "/portal", isBridge);
      const sessions = mongo.db().collection("_sessions");
      const before = await sessions.countDocuments();
      const Cookie = traveller.cookieHeader(CHAT);
      const answers = await many((at) =>
        fetch(through(at, end), { redirect: "manual", headers: { Cookie } }),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([302, ...Array.from({ length: AT_ONCE - 1 }, () => 400)]);
      expect(answers.filter(({ headers }) => headers.getSetCookie().length > 0)).toHaveLength(1);
      expect(await sessions.countDocuments()).toBe(before + 1);
    }
  });

  it(`A13 of ${AT_ONCE} callbacks with one state exactly one is taken`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      become(providers, newPeople(`state${round}`));
      const { end } = await signInOnChat(travellerOn(round), "google", "/portal", isCallback);
      const answers = await many((at) => fetch(through(at, end), { redirect: "manual" }));
      expect(answers.filter(({ status }) => status === 302)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400)).toHaveLength(AT_ONCE - 1);
    }
  });

  it(`B5 of ${AT_ONCE} first sign-ins of one person comes one user, and every one succeeds`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const provider = (["google", "facebook", "github"] as const)[round % 3] ?? "google";
      become(providers, newPeople(`first${round}`));
      const ends = await arriveAtOnce(await onTheWay(AT_ONCE, () => provider));
      expect(ends).toEqual(Array.from({ length: AT_ONCE }, () => `${CHAT}/after`));
      const email = `first${round}@example.com`;
      const users = await mongo.db().collection("svc_user").find({ email }).toArray();
      const accounts = await mongo.db().collection("_oauth_accounts").find({ email }).toArray();
      expect([users.length, accounts.length]).toEqual([1, 1]);
      expect(accounts[0]?.userId).toEqual(users[0]?._id);
      expect(accounts[0]).not.toHaveProperty("pending");
    }
  });

  it("B5 of first sign-ins of one address by two providers at once comes one user", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      become(providers, newPeople(`both${round}`));
      const ends = await arriveAtOnce(await onTheWay(10, (at) => (at % 2 === 0 ? "google" : "github")));
      expect(ends).toEqual(Array.from({ length: 10 }, () => `${CHAT}/after`));
      const email = `both${round}@example.com`;
      const [user, ...others] = await mongo.db().collection("svc_user").find({ email }).toArray();
      expect(others).toEqual([]);
      const accounts = await mongo.db().collection("_oauth_accounts").find({ email }).toArray();
      expect(accounts.map(({ userId }) => String(userId))).toEqual([String(user?._id), String(user?._id)]);
    }
  });
});
