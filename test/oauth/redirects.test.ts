// The whole of corpora/redirects.json: what is refused leaves nothing behind, what is accepted arrives where it says.
import { readFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";
import { become, newPeople } from "./support/providers.js";
import { CHAT, isBridge, type OAuthSystem, startOAuthSystem } from "./support/system.js";
import { Traveller } from "./support/traveller.js";

interface Case {
  readonly id: string;
  readonly why: string;
  readonly expect: "accept" | "reject";
  readonly redirect?: string;
  readonly cookieBridgePrefix?: string;
  readonly rawQuery?: string;
  readonly bridge?: string;
}

const APP_URL = "http://localhost:3000";
const PATIENCE_MS = 1_000;
const file = join(projectRoot, "test/corpora/redirects.json");
const cases = (JSON.parse(readFileSync(file, "utf8")) as { cases: Case[] }).cases;

let system: OAuthSystem;

beforeAll(async () => {
  system = await startOAuthSystem({ APP_URL });
  become(system.providers, newPeople("corpus"));
});
afterAll(() => system?.stop());

function searchOf({ rawQuery, redirect = "", cookieBridgePrefix = "" }: Case): string {
  const encoded = [redirect, cookieBridgePrefix].map(encodeURIComponent);
  return rawQuery ?? `redirect=${encoded[0]}&cookieBridgePrefix=${encoded[1]}`;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** No client may tidy the target up. */
function send(path: string): Promise<Answer> {
  const { hostname, port } = new URL(system.stack.gateway.url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, agent: false, headers: { Host: "localhost:3000" } });
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("an address to return to that is refused", () => {
  it.each(cases.filter((each) => each.expect === "reject"))("$id: $why", async (each) => {
    const flows = system.mongo.db().collection("_oauth_flows");
    const before = await flows.countDocuments();
    const started = performance.now();
    const { status, headers, text } = await send(`/api/auth/google?${searchOf(each)}`);
    const ms = performance.now() - started;
    expect([status, headers["content-type"]]).toEqual([400, "application/json; charset=utf-8"]);
    expect([headers.location, headers["set-cookie"]]).toEqual([undefined, undefined]);
    expect(JSON.parse(text).error.code).toBe("BAD_REQUEST");
    expect(await flows.countDocuments()).toBe(before);
    expect(ms).toBeLessThan(PATIENCE_MS);
  });
});

describe("an address to return to that is accepted", () => {
  it.each(cases.filter((each) => each.expect === "accept"))("$id: $why", async (each) => {
    const search = new URLSearchParams(searchOf(each));
    const redirect = search.get("redirect") ?? "";
    const bridge = each.bridge ?? "";
    const prefix = bridge.replace(/\/auth\/set-cookies$/, "/");
    const issuer = system.providers.oauth2.issuer.url ?? "";
    const { appUrl } = system.stack;
    const traveller = new Traveller({
      [`${APP_URL}/api/`]: `${appUrl}/api/`,
      [prefix]: `${appUrl}/api/`,
      [`${issuer}/`]: `${issuer}/`,
    });
    const journey = await traveller.travel(`${prefix}auth/google?${searchOf(each)}`);
    const [start, , callback, last] = journey.steps;
    expect(start?.headers.get("cache-control")).toBe("no-store");
    const authorize = new URL(start?.location ?? "").searchParams;
    expect(authorize.get("redirect_uri")).toBe(`${APP_URL}/api/auth/google/callback`);
    expect(authorize.get("code_challenge_method")).toBe("S256");
    expect(callback?.location?.startsWith(`${bridge}?`)).toBe(true);
    expect(last?.location).toBe(new URL(redirect).href);
    for (const { location } of journey.steps) {
      expect([new URL(issuer).origin, CHAT, APP_URL]).toContain(new URL(location ?? "").origin);
    }
    expect(isBridge(last?.url ?? "")).toBe(true);
  });
});

describe("a refusal", () => {
  it("names the addresses that would be right, and the exact origin to add", async () => {
    const shop = "https://shop.example.com:8443";
    const { text } = await send(`/api/auth/google?redirect=${shop}/a?b`);
    expect(JSON.parse(text).message).toBe(
      `redirect: ${shop} is not allowed; expected ${APP_URL} or ${CHAT}; open that address instead, or set APP_URL where ${shop} is Portico's own; if it is an app's that proxies the API, add it to ALLOWED_ORIGINS`,
    );
  });
});
