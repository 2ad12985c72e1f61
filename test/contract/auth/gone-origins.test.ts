// Contract 3.3 and security row A25: a session made for an origin whose pages are no longer served counts as none.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { apiOf, asAdmin } from "../../support/api.js";
import { inTurn, type Stack, startStack } from "../../support/stack.js";
import { Browser, setCookies } from "./jar.js";

const CHAT = "http://chat.localhost:4320";
const NO_COOKIES = ["accessToken", "refreshToken", "expTime"].map((name) => [name, ""]);
const cleared = (answer: { headers: Headers }) => setCookies(answer).map(({ name, value }) => [name, value]);

let stack: Stack;
/** The same system, its gateway started without the origin. */
let later: Stack;
/** What the origin's app still holds: of its cookies, and so of its tokens. */
let kept: { readonly accessToken: string; readonly refreshToken: string };

beforeAll(async () => {
  stack = await startStack({ env: { ALLOWED_ORIGINS: CHAT } });
  later = await startStack({ twinOf: stack, env: { ALLOWED_ORIGINS: "" } });
});

afterAll(() =>
  inTurn(
    () => later.stop(),
    () => stack.stop(),
  ),
);

beforeEach(async () => {
  const app = new Browser(stack);
  await app.logIn(stack.admin, { Origin: CHAT });
  const { accessToken = "", refreshToken = "" } = app.cookies;
  kept = { accessToken, refreshToken };
});

describe("the session of an origin that was taken out of ALLOWED_ORIGINS", () => {
  const cookiesKept: [string, () => Readonly<Record<string, string>>][] = [
    ["all cookies", () => kept],
    ["the refresh cookie alone", () => ({ refreshToken: kept.refreshToken })],
  ];

  it.each(cookiesKept)("reads nothing by %s, and they are cleared", async (_which, jar) => {
    const answer = await Browser.with(later, jar()).get("/me");
    expect([answer.status, cleared(answer)]).toEqual([401, NO_COOKIES]);
  });

  it.each(cookiesKept)("writes nothing by %s", async (_which, jar) => {
    const answer = await Browser.with(later, jar()).post("/svc_role", { name: "of a removed app" });
    expect([answer.status, cleared(answer)]).toEqual([401, NO_COOKIES]);
  });

  it("sends no file", async () => {
    const form = new FormData();
    form.set("file", new Blob(["text"]), "a.txt");
    const answer = await apiOf(`${later.appUrl}/api`).send("POST", "/svc_file", {
      body: form,
      headers: { Cookie: Browser.with(later, kept).cookieHeader },
    });
    expect(answer.status).toBe(401);
  });

  it("is 401 as a Bearer, at the log-outs too, and can't be refreshed", async () => {
    const api = apiOf(`${later.appUrl}/api`);
    const bearer = apiOf(`${later.appUrl}/api`, { Authorization: `Bearer ${kept.accessToken}` });
    const { refreshToken } = kept;
    const answers = await Promise.all([
      bearer.get("/me"),
      bearer.get("/metadata"),
      bearer.post("/svc_role", { name: "of a removed app" }),
      bearer.post("/logout", {}),
      bearer.post("/auth/logout", {}),
      api.post("/auth/refresh-token", { refreshToken }),
    ]);
    const told = answers.map(({ status, body }) => [status, body.error?.code]);
    expect(told).toEqual(answers.map(() => [401, "INVALID_TOKEN"]));
  });

  it("is over also where the page signed in by POST /auth/login and keeps the tokens itself", async () => {
    const page = { Origin: CHAT };
    const { accessToken, refreshToken } = (
      await apiOf(`${stack.appUrl}/api`, page).post("/auth/login", stack.admin)
    ).body;
    const byBearer = ({ appUrl }: Stack) =>
      apiOf(`${appUrl}/api`, { ...page, Authorization: `Bearer ${accessToken}` }).get("/me");
    const byRefresh = ({ appUrl }: Stack) =>
      apiOf(`${appUrl}/api`, page).post("/auth/refresh-token", { refreshToken });
    const gone = [await byBearer(later), await byRefresh(later)];
    expect(gone.map(({ status }) => status)).toEqual([401, 401]);
    const served = [await byBearer(stack), await byRefresh(stack)];
    expect(served.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("leaves API tokens, which stay good until their owner, who is told where they were made, removes them", async () => {
    const body = { name: "of a removed app", expiresAt: "never" };
    const made = await Browser.with(stack, kept).post("/auth/api-tokens", body, { Origin: CHAT });
    const [{ id, token }] = made.body.data;
    const holder = apiOf(`${later.appUrl}/api`, { Authorization: `Bearer ${token}` });
    expect((await holder.get("/me")).status).toBe(200);
    const owner = await asAdmin(later);
    expect((await owner.get("/auth/api-tokens")).body.data).toMatchObject([{ id, origin: CHAT }]);
    expect((await owner.delete(`/auth/api-tokens/${id}`)).status).toBe(200);
    expect((await holder.get("/me")).status).toBe(401);
  });

  it("is as it was where its pages are served", async () => {
    const { refreshToken } = kept;
    await Browser.with(later, kept).get("/me");
    await apiOf(`${later.appUrl}/api`).post("/auth/refresh-token", { refreshToken });
    const app = Browser.with(stack, { refreshToken });
    expect((await app.get("/me")).status).toBe(200);
    expect((await app.post("/logout", undefined, { Origin: stack.appUrl })).status).toBe(403);
    expect((await app.post("/logout", undefined, { Origin: CHAT })).status).toBe(200);
  });

  it.each(cookiesKept)("ends from a page that is served, by %s", async (_which, jar) => {
    const page = { Origin: stack.appUrl, "Sec-Fetch-Site": "same-origin" };
    const answer = await Browser.with(later, jar()).post("/logout", undefined, page);
    expect([answer.status, cleared(answer)]).toEqual([200, NO_COOKIES]);
    expect((await Browser.with(stack, kept).get("/me")).status).toBe(401);
  });

  it("does not concern sessions of other pages, and those that no browser made", async () => {
    const page = { Origin: stack.appUrl };
    const own = new Browser(stack);
    await own.logIn(stack.admin, page);
    const script = new Browser(stack);
    await script.logIn(stack.admin);
    for (const { cookies } of [own, script]) {
      const { refreshToken = "" } = cookies;
      const answers = [
        await Browser.with(later, cookies).get("/me"),
        await Browser.with(later, { refreshToken }).post("/logout", undefined, page),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });
});

describe("the session of an APP_URL of before, on another port of the same host", () => {
  let moved: Stack;
  beforeAll(async () => {
    const { mongodbUrl, dataDir } = stack;
    moved = await startStack({ mongodbUrl, dataDir });
  });
  afterAll(() => moved.stop());

  it("is over: the form to sign in is shown, and the log-out works", async () => {
    const browser = new Browser(stack);
    await browser.logIn(stack.admin, { Origin: stack.appUrl });
    const page = { Origin: moved.appUrl, "Sec-Fetch-Site": "same-origin" };
    const out = await Browser.with(moved, browser.cookies).post("/logout", undefined, page);
    expect([out.status, cleared(out)]).toEqual([200, NO_COOKIES]);
    const again = new Browser(stack);
    await again.logIn(stack.admin, { Origin: stack.appUrl });
    const now = Browser.with(moved, again.cookies);
    expect((await now.get("/me", { "Sec-Fetch-Site": "same-origin" })).status).toBe(401);
    expect(now.cookies).toEqual({});
    await now.logIn(moved.admin, page);
    expect((await now.post("/svc_role", { name: "after the move" }, page)).status).toBe(201);
  });
});
