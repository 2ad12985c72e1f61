// The start page in a real browser: signing in by cookie, running queries, and what scripts may not see.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { type Stack, startStack } from "../support/stack.js";
import { startBrowser } from "./browser.js";

declare global {
  interface Window {
    /** Headers and bodies of all answers, as far as scripts can read them. */
    answersSeen: Promise<string>[];
  }
}

jest.setTimeout(120_000);

const ACCESS_TOKEN_SECONDS = 3;

let stack: Stack;
let browser: Browser;

describe("the start page", () => {
  beforeAll(async () => {
    [stack, browser] = await Promise.all([
      startStack({ demo: true, env: { ACCESS_TOKEN_TTL_SECONDS: String(ACCESS_TOKEN_SECONDS) } }),
      startBrowser(),
    ]);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  test("keeps me signed in when the access cookie has expired, and shows scripts no token", async () => {
    const { context, page } = await openStartPage();
    await recordAnswers(context);
    await page.reload();
    await signIn(page);
    expect(await page.textContent("#whoami")).toBe(stack.admin.email);

    await choose(page, "by-country");
    expect(await run(page)).toMatch(/^200 /);
    expect(await page.textContent("#answer")).toContain('"name": "村上 陽子"');
    const firstTokens = await tokensOf(context);
    expect(firstTokens).toHaveLength(2);

    await page.waitForTimeout((ACCESS_TOKEN_SECONDS + 1) * 1_000);
    await choose(page, "most-discussed");
    expect(await run(page)).toMatch(/^200 /);
    expect(await page.isVisible("#login-form")).toBe(false);
    const laterTokens = await tokensOf(context);
    expect(laterTokens).toHaveLength(2);
    expect(laterTokens).not.toEqual(firstTokens);

    const readable = await page.evaluate(() => [
      document.cookie,
      JSON.stringify({ ...localStorage }),
      JSON.stringify({ ...sessionStorage }),
    ]);
    expect(readable).toEqual(["", "{}", "{}"]);
    const answers = await page.evaluate(() => Promise.all(window.answersSeen));
    expect(answers.length).toBeGreaterThan(5);
    const seen = [await page.content(), ...answers].join("\n");
    for (const token of [...firstTokens, ...laterTokens]) expect(seen).not.toContain(token);
    await context.close();
  });

  test("signs out: the cookies are gone and the queries are locked", async () => {
    const { context, page } = await openStartPage();
    await signIn(page);
    await choose(page, "newest-posts");
    expect(await run(page)).toMatch(/^200 /);

    await page.click("#logout");
    await page.waitForSelector("#login-form:visible");
    expect(await tokensOf(context)).toEqual([]);
    expect(await page.isDisabled("#run")).toBe(true);
    expect(await page.isDisabled("#examples button[data-example]")).toBe(true);
    expect(await page.textContent("#answer")).not.toContain("data");
    await context.close();
  });

  test("says why it does not let me in", async () => {
    const { context, page } = await openStartPage();
    await page.fill("#email", stack.admin.email);
    await page.fill("#password", "not the password");
    await page.click("#login-form button[type=submit]");
    await page.waitForSelector("#login-problem:visible");
    expect(await page.textContent("#login-problem")).not.toBe("");
    expect(await page.isVisible("#logout")).toBe(false);
    await context.close();
  });

  test("shows the demo tables with their columns, relations and counts", async () => {
    const { context, page } = await openStartPage();
    await signIn(page);
    await page.waitForSelector('[data-table="comments"] .table-count:not(:empty)');
    const cards = await page.locator(".table-card h3").allTextContents();
    expect(cards).toEqual(["authors", "comments", "posts", "tags"]);
    expect(await page.textContent('[data-table="comments"]')).toContain("2,400 records");
    const posts = await page.locator('[data-table="posts"] .column code').allTextContents();
    expect(posts).toEqual(expect.arrayContaining(["title", "publishedAt", "author", "tags", "comments"]));
    await context.close();
  });

  test("knows the tables also where Portico's own have another prefix", async () => {
    const other = await startStack({ env: { SYSTEM_TABLE_PREFIX: "sys_" } });
    const { context, page } = await openStartPage(undefined, other.appUrl);
    await signIn(page);
    await page.waitForFunction(() =>
      document.querySelector("#tables-note")?.textContent?.startsWith("No tables"),
    );
    await choose(page, "create-table");
    expect(await page.inputValue("#query-path")).toBe("/api/sys_table");
    expect(await run(page)).toMatch(/^201 /);
    await page.waitForSelector('[data-table="notes"]');
    expect(await page.locator(".table-card h3").allTextContents()).toEqual(["notes"]);
    await context.close();
    await other.stop();
  });

  test("has examples that all run as they stand", async () => {
    const { context, page } = await openStartPage();
    await signIn(page);
    const names = await page
      .locator("#examples button[data-example]")
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute("data-example") ?? ""));
    const outcomes: Record<string, string> = {};
    for (const name of names) {
      await choose(page, name);
      outcomes[name] = `${(await run(page)).slice(0, 3)} ${await page.textContent("#answer-problem")}`.trim();
    }
    const expected = Object.fromEntries(
      names.map((name) => [name, name.startsWith("create") ? "201" : "200"]),
    );
    expect(names.length).toBeGreaterThan(10);
    expect(outcomes).toEqual(expected);
    await context.close();
  });

  test("repeats the API's own words when a query is wrong", async () => {
    const { context, page } = await openStartPage();
    await signIn(page);
    await page.fill("#query-path", '/api/posts?filter={"author":{"nme":"Ada"}}');
    expect(await run(page)).toMatch(/^400 /);
    const problem = await page.textContent("#answer-problem");
    expect(problem).toContain("filter.author.nme");
    expect(problem).toContain('"name"');
    await context.close();
  });

  test("encodes what is typed plainly and runs nothing on other servers", async () => {
    const { context, page } = await openStartPage();
    await signIn(page);
    await choose(page, "newest-posts");
    const filter = '{"title":{"_contains":"salt & pepper, 100% #1+1"}}';
    await page.fill("#query-path", `/posts\n  ?filter=${filter}\n  &limit=1`);
    const [request] = await Promise.all([page.waitForRequest(/\/api\/posts\?/), run(page)]);
    expect(parametersOf(request)).toEqual({ filter, limit: "1" });

    for (const elsewhere of [
      "https://example.com",
      `${stack.appUrl}@example.com`,
      `${stack.appUrl}//example.com`,
    ]) {
      await page.fill("#query-path", `${elsewhere}/api/posts`);
      expect(await run(page)).toBe("No answer");
      expect(await page.textContent("#answer-problem")).toContain("this server");
    }
    await context.close();
  });

  test("takes a full address of its own server", async () => {
    const { context, page } = await openStartPage();
    await signIn(page);
    for (const typed of [stack.appUrl, stack.appUrl.toUpperCase()]) {
      await page.fill("#query-path", `${typed}/api/posts?limit=1`);
      expect(await run(page)).toMatch(/^200 /);
    }
    await page.click("#copy-curl");
    await page.waitForSelector("#curl:visible");
    expect(await page.textContent("#curl")).toContain(`'${stack.appUrl}/api/posts'`);
    await context.close();
  });

  test.each([1280, 390, 360])(
    "is clean at %i px: no errors, no policy violations, no sideways scroll",
    async (width) => {
      const { context, page } = await openStartPage({ width, height: 800 });
      const complaints = recordComplaints(page);
      await page.reload();
      await page.waitForSelector("#login-form:visible");
      expect(await sidewaysScroll(page)).toBe(0);

      await signIn(page);
      await page.waitForSelector(".table-card");
      for (const name of ["newest-posts", "deep", "update"]) {
        await page.click(`#examples button[data-example="${name}"]`);
        expect(await sidewaysScroll(page)).toBe(0);
      }
      await choose(page, "deep");
      expect(await run(page)).toMatch(/^200 /);
      await page.click("#copy-curl");
      await page.waitForSelector("#curl:visible");
      expect(await sidewaysScroll(page)).toBe(0);
      expect(await complaints()).toEqual([]);
      await context.close();
    },
  );
});

async function openStartPage(viewport = { width: 1280, height: 800 }, appUrl = stack.appUrl) {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  await page.goto(appUrl);
  await page.waitForSelector("#login-form:visible");
  return { context, page };
}

async function signIn(page: Page): Promise<void> {
  await page.fill("#email", stack.admin.email);
  await page.fill("#password", stack.admin.password);
  await page.click("#login-form button[type=submit]");
  await page.waitForSelector("#logout:visible");
}

/** Puts an example into the query box; where it needs an id, waits until that is filled in. */
async function choose(page: Page, example: string): Promise<void> {
  await page.click(`#examples button[data-example="${example}"]`);
  await page.waitForFunction(() => {
    const path = document.querySelector<HTMLTextAreaElement>("#query-path");
    return path !== null && !path.value.includes("{id}");
  });
}

/** Runs what stands in the query box and gives the line that says how it went. */
async function run(page: Page): Promise<string> {
  await page.click("#run");
  await page.waitForSelector('.answer[aria-busy="false"]');
  return (await page.textContent("#answer-status")) ?? "";
}

async function tokensOf(context: BrowserContext): Promise<string[]> {
  const cookies = await context.cookies();
  return cookies
    .filter(({ name }) => name === "accessToken" || name === "refreshToken")
    .map(({ value }) => value)
    .sort();
}

/** Keeps a copy of every answer that the page's scripts receive; to be called before the page loads. */
async function recordAnswers(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const realFetch = window.fetch;
    window.answersSeen = [];
    window.fetch = async (...request) => {
      const response = await realFetch(...request);
      const headers = JSON.stringify([...response.headers]);
      window.answersSeen.push(
        response
          .clone()
          .text()
          .then((body) => headers + body),
      );
      return response;
    };
  });
}

/** Collects console errors and policy violations; the one 401 that asks who is signed in is no complaint. */
function recordComplaints(page: Page): () => Promise<string[]> {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const isWhoAmI = message.text().includes("401") && message.location().url.endsWith("/api/me");
    if (["error", "warning"].includes(message.type()) && !isWhoAmI) {
      complaints.push(`${message.text()} ${message.location().url}`);
    }
  });
  const installed = page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      console.error(`policy violation: ${violatedDirective} ${blockedURI}`);
    });
  });
  return async () => {
    await installed;
    return complaints;
  };
}

function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

function parametersOf(request: Request): Record<string, string> {
  return Object.fromEntries(new URL(request.url()).searchParams);
}
