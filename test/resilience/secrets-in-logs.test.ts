// R26, L1, L2: whatever secret a client sends, in whatever place, success or not: no log of either service has it.
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Browser } from "../contract/auth/jar.js";
import { sendRaw } from "../gateway/support/raw-http.js";
import { type Api, apiOf, signIn } from "../support/api.js";
import { loggedByNow, untilLogged } from "../support/process-facts.js";
import { type Stack, startStack } from "../support/stack.js";

/** Every secret has this in it, or is one that the service made. */
const CANARY = "canary-7f3a";
const ANN = { email: "ann@example.com", password: `${CANARY}-password-of-ann` };
/** Secrets that the services make. */
const made = new Set<string>();

let stack: Stack;
let admin: Api;

beforeAll(async () => {
  stack = await startStack({ env: { LOG_LEVEL: "trace" } });
  admin = await signIn(`${stack.appUrl}/api`, stack.admin);
  await admin.post("/svc_user", ANN);
});

afterAll(() => stack.stop());

const keep = (...secrets: readonly (string | undefined)[]): void => {
  for (const secret of secrets) if (secret !== undefined) made.add(secret);
};

/** What a secret is part of: a token's own text and its signature. */
function piecesOf(secret: string): string[] {
  return [secret, ...secret.split(".").filter((piece) => piece.length >= 40)];
}

/** Without the percent-encoding of what would not need it. */
const decoded = (log: string): string => log.replaceAll(/%5f/gi, "_").replaceAll(/%2e/gi, ".");

async function expectSilence(): Promise<void> {
  await loggedByNow(stack);
  for (const log of [stack.gateway.log(), stack.dataService.log()].map(decoded)) {
    expect(log).not.toContain(CANARY);
    for (const secret of made) for (const piece of piecesOf(secret)) expect(log.includes(piece)).toBe(false);
    for (const line of log.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  }
}

describe("no log has", () => {
  it("a password, right or wrong, of a sign-in, a change, or in the wrong place", async () => {
    const anyone = apiOf(`${stack.appUrl}/api`);
    for (const path of ["/login", "/auth/login"]) {
      await anyone.post(path, ANN);
      await anyone.post(path, { ...ANN, email: "nobody@example.com" });
      await anyone.post(path, { ...ANN, password: [ANN.password] });
      await anyone.post(path, { ...ANN, [`${CANARY}-key`]: CANARY });
      await anyone.send("POST", path, {
        body: `{"password":"${CANARY}`,
        headers: { "Content-Type": "application/json" },
      });
    }
    const ann = await signIn(`${stack.appUrl}/api`, ANN);
    await ann.patch("/me", { password: `${CANARY}-new`, currentPassword: `${CANARY}-wrong` });
    await anyone.get("/me", { password: ANN.password });
    await admin.post("/svc_user", { email: `${CANARY}-not-an-address`, password: CANARY });
    await expectSilence();
  });

  it("a token or a cookie, good or bad, in a header, a body or an address", async () => {
    const browser = new Browser(stack);
    await browser.logIn(ANN);
    const { accessToken, refreshToken } = browser.cookies;
    keep(accessToken, refreshToken);
    await browser.get("/me");
    await browser.send("POST", "/me", {}, { Origin: "https://evil.example" });
    const login = await apiOf(`${stack.appUrl}/api`).post("/auth/login", ANN);
    keep(login.body.accessToken, login.body.refreshToken);
    const refreshed = await apiOf(`${stack.appUrl}/api`).post("/auth/refresh-token", {
      refreshToken: login.body.refreshToken,
    });
    keep(refreshed.body.accessToken, refreshed.body.refreshToken);
    const api = await admin.post("/auth/api-tokens", { name: "robot", expiresAt: "never" });
    keep(api.body.data[0].token);
    for (const base of [`${stack.appUrl}/api`, stack.dataUrl]) {
      for (const token of [...made, CANARY, `${CANARY}.${CANARY}.${CANARY}`]) {
        for (const scheme of ["Bearer", "Basic", ""]) {
          await apiOf(base, { Authorization: `${scheme} ${token}`.trim() }).get("/me");
        }
        await apiOf(base, { Cookie: `accessToken=${token}; refreshToken=${token}` }).get("/me");
        await apiOf(base).post("/auth/refresh-token", { refreshToken: token });
        await apiOf(base).get("/svc_user", { access_token: token, filter: `{"${token}":1}` });
      }
      for (const token of made) {
        await apiOf(base, { "X-Correlation-ID": token }).get(`/${token}`);
        await apiOf(base, { Authorization: `Bearer ${accessToken}` }).get(`/internal/${token}?x=${token}`);
        await apiOf(base).get(`/posts/${token.replaceAll("_", "%5F").replaceAll(".", "%2E")}`);
      }
    }
    // A refusal of somebody who is signed in is also written into the audit log, once a minute for each table.
    const ann = await signIn(`${stack.appUrl}/api`, ANN);
    const tables = ["svc_role", "svc_file", "svc_permission", "svc_user"];
    for (const [at, token] of [...made].entries())
      expect((await ann.get(`/${tables[at % tables.length]}/${token}`)).status).toBe(403);
    const { body } = await admin.get("/svc_audit", { limit: "0", filter: { event: "access.refused" } });
    expect(body.data.length).toBeGreaterThanOrEqual(tables.length);
    // Paths are cut there, and long tokens with them.
    expect(JSON.stringify(body.data)).not.toMatch(/eyJ|svc_(rt|pat)_/);
    await browser.post("/logout");
    await expectSilence();
  });

  it("a code or state of a sign-in elsewhere", async () => {
    const started = await apiOf(`${stack.appUrl}/api`).get(
      `/auth/google?redirect=${encodeURIComponent(`${stack.appUrl}/${CANARY}`)}`,
    );
    const location = new URL(started.headers.get("location") ?? "");
    keep(location.searchParams.get("state") ?? undefined);
    for (const line of started.headers.getSetCookie()) keep(line.split(/[=;]/)[1]);
    const query = { code: CANARY, state: location.searchParams.get("state") ?? "", error: CANARY };
    for (const path of ["/auth/google/callback", "/auth/set-cookies", "/auth/github/callback"])
      await fetch(`${stack.appUrl}/api${path}?${new URLSearchParams(query)}`, { redirect: "manual" });
    await expectSilence();
  });

  it("any of these from a request that fails on our side, or is none", async () => {
    await stack.dataService.stop();
    const headers = { Authorization: `Bearer ${CANARY}`, Cookie: `refreshToken=${CANARY}` };
    for (const [method, path] of [
      ["GET", `/me?token=${CANARY}`],
      ["POST", "/login"],
      ["POST", "/logout"],
    ]) {
      await apiOf(`${stack.appUrl}/api`, headers).send(method ?? "", path ?? "", {
        ...(method === "POST" ? { body: JSON.stringify(ANN) } : {}),
        headers: { "Content-Type": "application/json" },
      });
    }
    await stack.restartDataService();
    await sendRaw(
      stack.appUrl,
      `GET /api/me HTTP/1.1\r\nHost: a\r\nAuthorization : Bearer ${CANARY}\r\n\r\n`,
    );
    await sendRaw(stack.appUrl, `${CANARY}\r\n\r\n`);
    await expectSilence();
  });

  it("more than one line of a request, whatever control characters it has", async () => {
    const id = "line-1";
    await new Promise<void>((resolve, reject) => {
      const request = httpRequest(`${stack.appUrl}/api/notes%0d%0a%1b[31m%22%7d`, {
        headers: { "X-Correlation-ID": id },
      });
      request.once("error", reject);
      request.once("response", (answer) => answer.resume().once("end", resolve));
      request.end();
    });
    const log = await untilLogged(stack.gateway, new RegExp(id));
    expect(log.split("\n").filter((line) => line.includes(id))).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
    expect(stack.gateway.log() + stack.dataService.log()).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
    await expectSilence();
  });
});
