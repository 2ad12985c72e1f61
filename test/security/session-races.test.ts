// Security rows C2 and C5, R12 and R15: many at the same time, over two gateways and two data services on one database.
//
// `npm run test:races` runs them with 200 rounds each.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { Browser, setCookies } from "../contract/auth/jar.js";
import { type Answer, apiOf } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const ROUNDS = Number(process.env.PORTICO_RACE_ROUNDS ?? 10);
const PARALLEL = 50;
/** A session may be refreshed thirty times a minute, and each gateway asks at most a few times a round. */
const ROUNDS_PER_SESSION = 4;
/** So late, at most, that refreshes of the same moment have long been granted. */
const LATEST_MS = 40;
const MINUTES = 60_000;

let stack: Stack;
let twin: Stack;
let database: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  twin = await startStack({ twinOf: stack });
  database = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await database.close();
  await twin.stop();
  await stack.stop();
});

const claimsOf = (token = "") => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

/** The same token as it will look when it has expired; the gateway judges no signature. */
function expired(token = ""): string {
  const [head, , signature] = token.split(".");
  const claims = { ...claimsOf(token), exp: Math.floor(Date.now() / 1000) - 5 };
  return `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
}

async function generation(accessToken = ""): Promise<number> {
  const sessions = database.db().collection<{ _id: string; generation: number }>("_sessions");
  return (await sessions.findOne({ _id: claimsOf(accessToken).sid }))?.generation ?? Number.NaN;
}

const cookieValues = (answer: Answer) =>
  JSON.stringify(setCookies(answer).map(({ name, value }) => [name, value]));

describe(`${ROUNDS} rounds of ${PARALLEL} requests at once with an expired access cookie, at two gateways`, () => {
  it(
    "are all answered, with one rotation and the same cookies",
    async () => {
      let browser = new Browser(stack);
      for (let round = 0; round < ROUNDS; round += 1) {
        if (round % ROUNDS_PER_SESSION === 0) {
          browser = new Browser(stack);
          await browser.logIn({ ...stack.admin, remember: true });
        }
        const { accessToken, refreshToken = "" } = browser.cookies;
        const before = await generation(accessToken);
        const Cookie = `accessToken=${expired(accessToken)}; refreshToken=${refreshToken}`;
        const answers = await Promise.all(
          Array.from({ length: PARALLEL }, (_none, at) =>
            apiOf(`${(at % 2 ? stack : twin).appUrl}/api`).send("GET", "/me", { headers: { Cookie } }),
          ),
        );
        const statuses = new Set(answers.map(({ status }) => status));
        const jars = new Set(answers.map(cookieValues));
        expect([round, [...statuses], jars.size]).toEqual([round, [200], 1]);
        const next = Object.fromEntries(JSON.parse([...jars][0] ?? "[]"));
        expect(next.refreshToken).not.toBe(refreshToken);
        expect(await generation(next.accessToken)).toBe(before + 1);
        browser = Browser.with(stack, next);
      }
    },
    10 * MINUTES,
  );
});

describe(`${ROUNDS} rounds of a log-out against refreshes, at two gateways`, () => {
  it(
    "leave nothing valid, whichever comes first",
    async () => {
      let [grantedRounds, refusedRounds] = [0, 0];
      const seenBoth = () => grantedRounds > 0 && refusedRounds > 0;
      // On until both have come first at least once.
      for (let round = 0; round < ROUNDS || (!seenBoth() && round < 20 * ROUNDS); round += 1) {
        const browser = new Browser(stack);
        await browser.logIn(stack.admin);
        const { accessToken, refreshToken } = browser.cookies;
        const jar = { accessToken: expired(accessToken), refreshToken };
        const logOut = async (): Promise<Answer> => {
          await new Promise((resolve) => setTimeout(resolve, round % LATEST_MS));
          return Browser.with(stack, { accessToken, refreshToken }).post("/logout");
        };
        const [, ...answers] = await Promise.all([
          logOut(),
          ...[stack, twin, stack, twin].map((at) => Browser.with(at, jar).get("/me")),
        ]);
        const tokens = answers.flatMap((answer) => {
          const set = setCookies(answer).map(({ name, value }): [string, string] => [name, value]);
          const { accessToken: access, refreshToken: refresh } = Object.fromEntries(set);
          return access && refresh ? [{ access, refresh }] : [];
        });
        if (tokens.length > 0) grantedRounds += 1;
        if (tokens.length < answers.length) refusedRounds += 1;
        // The other instance may have seen the session in its last moment: access tokens count there for five seconds.
        const held = [{ access: accessToken ?? "", refresh: refreshToken ?? "" }, ...tokens];
        for (const { access, refresh } of held) {
          const again = await apiOf(`${twin.appUrl}/api`).post("/auth/refresh-token", {
            refreshToken: refresh,
          });
          const bearer = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${access}` });
          expect([round, again.status, (await bearer.get("/me")).status]).toEqual([round, 401, 401]);
        }
        expect(await generation(accessToken)).toBeNaN();
      }
      expect(grantedRounds).toBeGreaterThan(0);
      expect(refusedRounds).toBeGreaterThan(0);
    },
    10 * MINUTES,
  );
});
