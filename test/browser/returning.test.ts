// Pages that are shown again, by Back or by their tab, after somebody else has signed in, or out, elsewhere.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";
import { bringBack, goBack, startKeepingBrowser } from "./browser.js";

jest.setTimeout(240_000);

const GUEST = { email: "guest@example.com", password: "a guest's password" };

let stack: Stack;
let browser: Browser;
let context: BrowserContext;

beforeAll(async () => {
  [stack, browser] = await Promise.all([startStack(), startKeepingBrowser()]);
  expect((await (await asAdmin(stack)).post("/svc_user", GUEST)).status).toBe(201);
});
beforeEach(async () => {
  context = await browser.newContext();
  context.setDefaultTimeout(30_000);
});
afterEach(() => context?.close());
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

/** Signs in without the page's knowing, as another tab does. */
async function signInElsewhere(page: Page, credentials: { email: string; password: string }): Promise<void> {
  const status = await page.evaluate(async (body) => {
    const headers = { "Content-Type": "application/json" };
    return (await fetch("/api/login", { method: "POST", headers, body: JSON.stringify(body) })).status;
  }, credentials);
  expect(status).toBe(200);
}

/** A page of the admin's. */
async function open(path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(stack.appUrl);
  await signInElsewhere(page, stack.admin);
  await page.goto(stack.appUrl + path);
  return page;
}

async function runQuery(page: Page): Promise<void> {
  await page.waitForSelector("#logout:visible");
  await page.fill("#query-path", "/api/svc_user?fields=email");
  await page.click("#run");
  await page.waitForSelector(`#answer:has-text("${GUEST.email}")`);
}

describe("the start page", () => {
  test("shows nothing of a user who has signed out on another page, when one goes back", async () => {
    const page = await open("/");
    await runQuery(page);
    await page.click('a[href="/api/docs"]');
    await page.click("#sign-out");
    await page.waitForSelector("#sign-in:visible");
    await goBack(page, `${stack.appUrl}/`);
    await page.waitForSelector("#login-form:visible");
    expect(await page.textContent("main")).not.toContain(GUEST.email);
    expect(await page.isDisabled("#run")).toBe(true);
  });

  test("is as it was left for the same user who goes back", async () => {
    const page = await open("/");
    await runQuery(page);
    const asked = page.waitForResponse(/\/api\/me$/);
    await page.evaluate(() =>
      addEventListener("pageshow", ({ persisted }) => Object.assign(window, { persisted })),
    );
    await page.click('a[href="/api/docs"]');
    await page.waitForSelector("#sign-out:visible");
    await goBack(page, `${stack.appUrl}/`);
    await asked;
    expect(await page.evaluate(() => Reflect.get(window, "persisted"))).toBe(true);
    expect(await page.inputValue("#query-path")).toBe("/api/svc_user?fields=email");
    expect(await page.textContent("#answer")).toContain(GUEST.email);
  });

  test("names the user who has signed in in another tab", async () => {
    const page = await open("/");
    await runQuery(page);
    const other = await context.newPage();
    await other.goto(stack.appUrl);
    await signInElsewhere(other, GUEST);
    await bringBack(page);
    await page.waitForSelector(`#whoami:text-is("${GUEST.email}")`);
    expect(await page.isVisible("#whoami-root")).toBe(false);
    expect(await page.textContent("#answer")).not.toContain(GUEST.email);
  });

  test("draws nothing again for the user whom it shows", async () => {
    const page = await open("/");
    await runQuery(page);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    const answered = page.waitForResponse(/\/api\/me$/);
    await bringBack(page);
    await answered;
    await page.waitForTimeout(500);
    expect(requests.filter((each) => each !== "/readyz")).toEqual(["/api/me"]);
  });

  test.each([
    ["the answer of a query", "/api/svc_user?fields=email", "#answer", "Sign in to run a query."],
    ["the tables", "/api/metadata", "#tables-note", "Sign in to see the tables."],
  ])("shows nothing of %s that arrives after the sign-out", async (_what, held, place, words) => {
    const page = await open("/");
    await page.waitForSelector("#logout:visible");
    let answer = (): void => {};
    const signedOut = new Promise<void>((resolve) => (answer = resolve));
    const isHeld = page.waitForRequest((request) => request.url().endsWith(held));
    await page.route(`${stack.appUrl}${held}`, async (route) => {
      const response = await route.fetch();
      await signedOut;
      await route.fulfill({ response }).catch(() => {});
    });
    await page.reload();
    await page.waitForSelector("#logout:visible");
    await page.fill("#query-path", "/api/svc_user?fields=email");
    await page.click("#run");
    await isHeld;
    await page.click("#logout");
    await page.waitForSelector("#login-form:visible");
    answer();
    await page.waitForTimeout(1_000);
    expect(await page.textContent(place)).toBe(words);
  });

  test("is loaded anew when one goes back and nobody can say who is signed in", async () => {
    const page = await open("/");
    await runQuery(page);
    await page.goto(`${stack.appUrl}/api/docs`);
    await page.waitForSelector("#sign-out:visible");
    await stack.dataService.stop("SIGKILL");
    try {
      await goBack(page, `${stack.appUrl}/`);
      await page.waitForFunction(
        () => document.querySelector("#answer")?.textContent?.includes("@") === false,
      );
    } finally {
      await stack.restartDataService();
    }
  });
});

describe("the page of the API", () => {
  test("shows what the user who has signed in in another tab may do", async () => {
    const page = await open("/api/docs");
    await page.waitForSelector('.opblock-tag[data-tag="svc_table"]');
    const other = await context.newPage();
    await other.goto(stack.appUrl);
    await signInElsewhere(other, GUEST);
    await bringBack(page);
    await page.waitForSelector('.opblock-tag[data-tag="svc_table"]', { state: "detached" });
    expect(await page.textContent("#who")).toContain(GUEST.email);
  });

  test("shows a visitor what visitors may do, who goes back to a user's", async () => {
    const page = await open("/api/docs");
    await page.waitForSelector('.opblock-tag[data-tag="svc_table"]');
    await page.goto(stack.appUrl);
    await page.click("#logout");
    await page.waitForSelector("#login-form:visible");
    await goBack(page, `${stack.appUrl}/api/docs`);
    await page.waitForSelector('.opblock-tag[data-tag="svc_table"]', { state: "detached" });
    expect(await page.textContent("#who")).toBe("You see what visitors may do.");
  });
});
