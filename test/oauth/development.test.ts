// The development provider: whom it serves, what it seals, and that its page is strict.
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sendRaw } from "../gateway/support/raw-http.js";
import { untilLogged } from "../support/process-facts.js";
import { type Stack, startStack } from "../support/stack.js";
import { startUrl } from "./support/system.js";
import { Traveller } from "./support/traveller.js";

let stack: Stack;
let api: string;
let traveller: Traveller;

beforeAll(async () => {
  stack = await startStack({ env: { ALLOWED_ORIGINS: "http://chat.localhost:4000,http://[::1]:4001" } });
  api = `${stack.appUrl}/api`;
  traveller = new Traveller({ [`${stack.appUrl}/`]: `${stack.appUrl}/` });
});
afterAll(() => stack?.stop());

const toPage = async (): Promise<URL> => {
  const { location } = await traveller.go(startUrl(api, "google", `${stack.appUrl}/after`));
  return new URL(location ?? "");
};

const submit = (page: URL, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  traveller.go(page.href, {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams({
      ...Object.fromEntries(page.searchParams),
      email: "ann@example.com",
      name: "Ann",
      verified: "on",
      answer: "allow",
      ...fields,
    }).toString(),
  });

describe("the development provider", () => {
  it("has a page of plain HTML under a strict policy, everything local", async () => {
    const page = await toPage();
    expect(page.origin + page.pathname).toBe(`${api}/auth/dev/google/authorize`);
    const { text, headers, status } = await traveller.go(page.href);
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(headers.get("referrer-policy")).toBe("same-origin");
    expect(headers.get("content-security-policy")).toBe(
      `default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' ${stack.appUrl} http://chat.localhost:4000 http:`,
    );
    expect(text).toContain("this is not Google");
    expect(text.match(/(?:src|href)="[^"]*"/g)).toEqual(['href="/api/auth/dev/style.css"']);
    const style = await traveller.go(`${api}/auth/dev/style.css`);
    expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  });

  it("shows what an address says as text only", async () => {
    const page = await toPage();
    page.searchParams.set("state", '"><script>alert(1)</script>');
    expect((await traveller.go(page.href)).text).not.toContain("<script>");
  });

  it("A20 leaves nothing in an address that looks like a token", async () => {
    const { location } = await submit(await toPage(), {});
    expect(location).toContain("code=");
    expect(location).not.toMatch(/eyJ|svc_rt_/);
  });

  it("takes a form only from its own page", async () => {
    for (const headers of [
      { Origin: "https://evil.com" },
      { "Sec-Fetch-Site": "cross-site" },
      { Origin: "null" },
    ]) {
      const answer = await submit(await toPage(), {}, headers);
      expect([answer.status, answer.location]).toEqual([403, null]);
    }
  });

  it("serves only the browser of this machine, by the app's own name", async () => {
    const page = await toPage();
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(page.href, { headers: { Host: "rebound.evil.com" } });
      sent.on("response", (response) => resolve(response.resume().statusCode));
      sent.on("error", reject);
      sent.end();
    });
    expect(status).toBe(403);
  });

  it.each([
    ["X-Forwarded-For", "203.0.113.7"],
    ["X-Forwarded-For", "127.0.0.1"],
    ["X-Forwarded-Host", "somebody.ngrok.app"],
    ["X-Forwarded-Proto", "https"],
    ["Forwarded", "for=203.0.113.7"],
    ["Via", "1.1 tunnel"],
    ["Cf-Connecting-Ip", "203.0.113.7"],
    ["X-Real-Ip", "203.0.113.7"],
  ])("serves nobody behind a tunnel that names the app as its host: %s %s", async (name, value) => {
    const page = await toPage();
    const shown = await traveller.go(page.href, { headers: { [name]: value } });
    const sent = await submit(page, {}, { [name]: value });
    expect([shown.status, sent.status, sent.location]).toEqual([403, 403, null]);
  });

  // Proxies write their own headers behind the client's, or all of them sorted by name.
  it("serves nobody behind a tunnel that names itself behind thousands of lines of its client's", async () => {
    const { pathname, search, host } = await toPage();
    const filler = "S:\r\n".repeat(5_000);
    const head = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${filler}X-Forwarded-For: 203.0.113.7`;
    expect(await sendRaw(stack.appUrl, `${head}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it("sends nobody to an address that is not our callback", async () => {
    const answer = await submit(await toPage(), { redirect_uri: "https://evil.com/" });
    expect([answer.status, answer.location]).toEqual([400, null]);
  });

  it("makes a code that is good for its own flow, and that nobody else can make", async () => {
    const page = await toPage();
    const { location, status } = await submit(page, {});
    expect(status).toBe(303);
    const forged = new URL(location ?? "");
    const [text = "", seal = ""] = (forged.searchParams.get("code") ?? "").split(".");
    const admin = JSON.parse(Buffer.from(text, "hex").toString());
    const other = Buffer.from(JSON.stringify({ ...admin, email: stack.admin.email })).toString("hex");
    forged.searchParams.set("code", `${other}.${seal}`);
    const { end } = await traveller.travel(forged.href);
    expect(end).toBe(`${stack.appUrl}/after?error=provider_error`);
    // The code of another flow, whose verifier is another.
    const second = new URL((await submit(await toPage(), {})).location ?? "");
    second.searchParams.set("code", `${text}.${seal}`);
    expect((await traveller.travel(second.href)).end).toBe(`${stack.appUrl}/after?error=provider_error`);
    const third = await submit(await toPage(), {});
    expect((await traveller.travel(third.location ?? "")).end).toBe(`${stack.appUrl}/after`);
  });

  it("says in the log that it is on", async () => {
    await untilLogged(stack.gateway, /development sign-in provider is on/);
  });

  it("is nowhere when it is off", async () => {
    const off = await startStack({ env: { OAUTH_DEV_PROVIDER: "off" } });
    try {
      const answer = await fetch(`${off.appUrl}/api/auth/dev/google/authorize`);
      expect(answer.status).toBe(404);
      expect((await (await fetch(`${off.appUrl}/api/auth/providers`)).json()).data).toEqual([]);
    } finally {
      await off.stop();
    }
  });

  it("stops the start in production", async () => {
    const env = { NODE_ENV: "production", OAUTH_DEV_PROVIDER: "on", SERVICE_SECRET: "x".repeat(32) };
    await expect(startStack({ env })).rejects.toThrow();
  });
});
