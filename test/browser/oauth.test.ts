// Contract 3.4 in a real browser: the development provider, the app's own origin, and the bridge below three prefixes.
import { request as ask, createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { OAUTH_ERRORS } from "@portico/shared/oauth";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { freePort } from "../support/free-port.js";
import { type Stack, startStack } from "../support/stack.js";
import { startBrowser } from "./browser.js";

jest.setTimeout(120_000);

const PREFIXES = ["/api", "/portal", "/svc/api"];

let stack: Stack;
let browser: Browser;
let chat: Server;
let chatUrl: string;
let count = 0;
/** The app does not pass the bridge on: the browser stops there, with the code in its address. */
let isHeld = false;

beforeAll(async () => {
  const port = await freePort();
  chatUrl = `http://chat.localhost:${port}`;
  [stack, browser] = await Promise.all([startStack({ env: { ALLOWED_ORIGINS: chatUrl } }), startBrowser()]);
  chat = startChat();
  await new Promise<void>((resolve) => chat.listen(port, "127.0.0.1", resolve));
  expect((chat.address() as AddressInfo).port).toBe(port);
});
afterAll(async () => {
  await browser?.close();
  chat?.closeAllConnections();
  chat?.close();
  await stack?.stop();
});

/** Somebody's app: a page, and a proxy below each prefix. */
function startChat(): Server {
  return createServer((request, response) => {
    const { url = "/", method = "GET", headers } = request;
    const prefix = PREFIXES.find((each) => url.startsWith(`${each}/`));
    if (prefix === undefined || (isHeld && url.includes("/auth/set-cookies"))) {
      return void response.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Chat</h1>");
    }
    const upstream = ask(new URL(`/api${url.slice(prefix.length)}`, stack.gateway.url), {
      method,
      headers: { ...headers, host: new URL(stack.appUrl).host },
    });
    upstream.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(upstream);
  });
}

async function open(): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext();
  context.setDefaultTimeout(15_000);
  return { context, page: await context.newPage() };
}

const startAt = (base: string, provider: string, redirect: string, prefix = "/api"): string =>
  `${base}${prefix}/auth/${provider}?${new URLSearchParams({ redirect, cookieBridgePrefix: prefix })}`;

/** Chooses whom to be on the development provider's page. */
async function choose(page: Page, email: string, answer: "allow" | "deny" = "allow"): Promise<void> {
  await page.fill("input[name=email]", email).catch(async (error: Error) => {
    throw new Error(`${error.message}: ${page.url()} says ${await page.textContent("body")}`);
  });
  await page.click(`button[value=${answer}]`);
}

/** What the development provider's form sends along unseen. */
async function hiddenFields(page: Page): Promise<Record<string, string>> {
  const fields = await page.$$eval("input[type=hidden]", (inputs) =>
    inputs.map((input) => [input.getAttribute("name"), input.getAttribute("value")]),
  );
  return Object.fromEntries(fields);
}

const newEmail = (): string => {
  count += 1;
  return `browser${count}@example.com`;
};

/** What the page's own script gets to hear of its user. */
const me = (page: Page, prefix = "/api"): Promise<string> =>
  page.evaluate(
    async (path) => (await (await fetch(path)).json()).data?.[0]?.email ?? "nobody",
    `${prefix}/me`,
  );

const cookieNames = async (context: BrowserContext, url: string): Promise<string[]> =>
  (await context.cookies(url)).map(({ name }) => name).sort();

describe.each(["google", "facebook", "github"])("signing in with %s", (provider) => {
  test("on the app's own origin, by a page clearly marked as no provider", async () => {
    const { context, page } = await open();
    const email = newEmail();
    await page.goto(startAt(stack.appUrl, provider, `${stack.appUrl}/?back=1#top`));
    expect(await page.title()).toContain("Development sign-in (not");
    expect(await page.textContent(".mark")).toContain("Development sign-in: this is not");
    await choose(page, email);
    await page.waitForURL(`${stack.appUrl}/?back=1#top`);
    expect(await me(page)).toBe(email);
    expect(await cookieNames(context, stack.appUrl)).toEqual(["accessToken", "expTime", "refreshToken"]);
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await context.close();
  });

  test.each(PREFIXES)("through the bridge at %s", async (prefix) => {
    const { context, page } = await open();
    const email = newEmail();
    await page.goto(startAt(chatUrl, provider, `${chatUrl}/after`, prefix));
    expect(new URL(page.url()).origin).toBe(stack.appUrl);
    await choose(page, email);
    await page.waitForURL(`${chatUrl}/after`);
    expect(await me(page, prefix)).toBe(email);
    expect(await cookieNames(context, chatUrl)).toEqual(["accessToken", "expTime", "refreshToken"]);
    expect(await cookieNames(context, stack.appUrl)).toEqual([]);
    await context.close();
  });
});

describe("the start page", () => {
  test("offers the providers, and says when one says no", async () => {
    const { context, page } = await open();
    await page.goto(stack.appUrl);
    await page.click("#providers a:has-text('github')");
    const email = newEmail();
    await choose(page, email, "deny");
    await page.waitForSelector("#login-problem:visible");
    expect(await page.textContent("#login-problem")).toBe(
      "Signing in with a provider did not work. The provider was told no.",
    );
    await page.click("#providers a:has-text('google')");
    await choose(page, email);
    await page.waitForSelector("#logout:visible");
    expect(await page.textContent("#whoami")).toBe(email);
    await context.close();
  });
});

describe("the start page, from a link with an error", () => {
  const shownFor = async (error: string): Promise<string | null> => {
    const { context, page } = await open();
    await page.goto(`${stack.appUrl}/?${new URLSearchParams({ error })}`);
    await page.waitForSelector("#login-problem:visible");
    const shown = await page.textContent("#login-problem");
    await context.close();
    return shown;
  };

  test("says nothing of what the link says", async () => {
    const plain = "Signing in with a provider did not work.";
    const texts = ["Your account is locked. Call +1 555 0100.", "constructor", ""];
    expect(await Promise.all(texts.map(shownFor))).toEqual(texts.map(() => plain));
  });

  test("has words for every error there is", async () => {
    const shown: (string | null)[] = [];
    for (const error of OAUTH_ERRORS) shown.push(await shownFor(error));
    for (const each of shown) expect(each).toMatch(/^Signing in with a provider did not work\. \S.*\.$/);
    expect(new Set(shown).size).toBe(OAUTH_ERRORS.length);
  });
});

describe("the bridge in a browser", () => {
  test("A1 does not sign me in with a stranger's code, and the stranger still can", async () => {
    const [stranger, victim] = [await open(), await open()];
    const email = newEmail();
    try {
      isHeld = true;
      await stranger.page.goto(startAt(chatUrl, "google", `${chatUrl}/after`, "/portal"));
      await choose(stranger.page, email);
      await stranger.page.waitForURL(/\/portal\/auth\/set-cookies\?code=/);
    } finally {
      isHeld = false;
    }
    const code = stranger.page.url();

    const answer = await victim.page.goto(code);
    expect([answer?.status(), await cookieNames(victim.context, chatUrl)]).toEqual([400, []]);

    await stranger.page.goto(code);
    expect(stranger.page.url()).toBe(`${chatUrl}/after`);
    expect(await me(stranger.page, "/portal")).toBe(email);
    await Promise.all([stranger.context.close(), victim.context.close()]);
  });

  test("A24 refuses a start on the app for another origin's page", async () => {
    const { context, page } = await open();
    const parameters = new URLSearchParams({ redirect: `${chatUrl}/after`, cookieBridgePrefix: "/portal" });
    await page.goto(`${stack.appUrl}/api/auth/google?${parameters}`);
    await choose(page, newEmail());
    await page.waitForURL(/set-cookies/);
    expect(await page.textContent("body")).toContain("flow_cookie_missing");
    expect(await cookieNames(context, chatUrl)).toEqual([]);
    await context.close();
  });

  test("keeps from the app the fragment with which Facebook sends browsers back", async () => {
    const { context, page } = await open();
    await page.goto(startAt(chatUrl, "facebook", `${chatUrl}/after`, "/portal"));
    const form = { ...(await hiddenFields(page)), email: newEmail(), answer: "allow" };
    const sent = { form, headers: { Origin: stack.appUrl }, maxRedirects: 0 };
    const { location: callback } = (await context.request.post(page.url(), sent)).headers();
    await page.goto(`${callback}#_=_`);
    expect(await page.textContent("h1")).toBe("Chat");
    expect(await page.evaluate(() => location.hash)).toBe("");
    await context.close();
  });

  test("brings a no back to the app as access_denied, without cookies", async () => {
    const { context, page } = await open();
    await page.goto(startAt(chatUrl, "github", `${chatUrl}/after?tab=1`, "/portal"));
    await choose(page, newEmail(), "deny");
    await page.waitForURL(`${chatUrl}/after?tab=1&error=access_denied`);
    expect((await cookieNames(context, chatUrl)).filter((name) => name.endsWith("Token"))).toEqual([]);
    await context.close();
  });

  test("an address that the provider has not verified opens nobody's account", async () => {
    const { context, page } = await open();
    await page.goto(startAt(stack.appUrl, "google", `${stack.appUrl}/`));
    await page.uncheck("input[name=verified]");
    await choose(page, stack.admin.email);
    await page.waitForURL(`${stack.appUrl}/?error=email_in_use`);
    await context.close();
  });

  test("cuts a popup off from the page that opened it, which hears of the end by a BroadcastChannel", async () => {
    const { context, page } = await open();
    await page.goto(chatUrl);
    const opened = page.waitForEvent("popup");
    await page.evaluate(
      (url) => {
        const popup = window.open(url);
        const heard = new Promise((resolve) => {
          new BroadcastChannel("signed-in").onmessage = ({ data }) => resolve(data);
        });
        Object.assign(window, { popup, heard });
      },
      startAt(chatUrl, "google", `${chatUrl}/after`, "/portal"),
    );
    const popup = await opened;
    await choose(popup, newEmail());
    await popup.waitForURL(`${chatUrl}/after`);
    expect(await popup.evaluate(() => window.opener)).toBeNull();
    expect(await page.evaluate(() => Reflect.get(window, "popup").closed)).toBe(true);
    await popup.evaluate(() => new BroadcastChannel("signed-in").postMessage("welcome"));
    expect(await page.evaluate(() => Reflect.get(window, "heard"))).toBe("welcome");
    await context.close();
  });

  test("connects a provider from a signed-in page", async () => {
    const { context, page } = await open();
    const email = newEmail();
    await page.goto(startAt(chatUrl, "google", `${chatUrl}/after`, "/portal"));
    await choose(page, email);
    await page.waitForURL(`${chatUrl}/after`);
    const url = await page.evaluate(async () => {
      const answer = await fetch("/portal/auth/github/link", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ redirect: `${location.origin}/settings`, cookieBridgePrefix: "/portal" }),
      });
      return (await answer.json()).url;
    });
    await page.goto(url);
    await choose(page, `other-${email}`);
    await page.waitForURL(`${chatUrl}/settings`);
    const accounts = await page.evaluate(
      async () => (await (await fetch("/portal/me/oauth-accounts")).json()).data,
    );
    expect(accounts.map(({ provider }: { provider: string }) => provider)).toEqual(["google", "github"]);
    await context.close();
  });
});
