// {appUrl}/api/docs in a real browser: what it shows to whom, what trying a call sends, and that all of it stays here.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { asAdmin } from "../support/api.js";
import { picture, sound, uploaded } from "../support/files.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";
import { bringBack, startBrowser } from "./browser.js";

jest.setTimeout(240_000);

let stack: Stack;
let browser: Browser;

interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly requests: readonly Request[];
  /** What the browser or the page complained about. */
  readonly complaints: readonly string[];
}

/** Keeps what is handed to Swagger UI. */
const RECORDER = `{
  let library;
  Object.defineProperty(window, "SwaggerUIBundle", {
    set: (given) => (library = given),
    get: () => (options) => { window.shown = options.spec; return library(options); },
  });
}`;

/** @param script to run before the page's own */
async function visit(script = ""): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(script);
  page.setDefaultTimeout(60_000);
  const requests: Request[] = [];
  const complaints: string[] = [];
  context.on("request", (request) => requests.push(request));
  page.on("console", (message) => {
    // Asking who one is answers 401 to visitors, which the browser notes.
    if (message.type() === "error" && !message.text().includes("401")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${stack.appUrl}/api/docs`);
  await page.waitForSelector(".opblock-tag");
  return { context, page, requests, complaints };
}

const headings = (page: Page): Promise<(string | null)[]> =>
  page.locator(".opblock-tag").evaluateAll((all) => all.map((each) => each.getAttribute("data-tag")));

async function signIn(page: Page): Promise<void> {
  await page.fill("#sign-in [name=email]", stack.admin.email);
  await page.fill("#sign-in [name=password]", stack.admin.password);
  await page.click("#sign-in button");
  await page.waitForSelector('.opblock-tag[data-tag="svc_table"]');
}

/** Opens an operation and runs it as it stands. @returns the request it made and what the page shows of the answer */
async function tryOut(
  page: Page,
  tag: string,
  operation: string,
): Promise<{ request: Request; shown: string }> {
  const box = page.locator(`#operations-${tag}-${operation}`);
  if (!(await box.isVisible())) await page.click(`.opblock-tag[data-tag="${tag}"]`);
  await box.locator(".opblock-summary-control").click();
  const sent = page.waitForRequest((request) => request.resourceType() === "fetch");
  await box.locator("button.execute").click();
  const request = await sent;
  await box.locator(".live-responses-table .response-col_status").first().waitFor();
  return { request, shown: (await box.locator(".live-responses-table").textContent()) ?? "" };
}

describe("the page of the API", () => {
  beforeAll(async () => {
    [stack, browser] = await Promise.all([startStack({ demo: true }), startBrowser()]);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  test("shows a visitor what visitors may do, and lets them try it", async () => {
    const { context, page, complaints } = await visit();
    expect(await headings(page)).toEqual([
      ...["Sign-in", "About the API", "Me", "Assets"],
      ...["authors", "comments", "posts", "tags"],
    ]);
    const { request, shown } = await tryOut(page, "tags", "list_tags");
    expect(request.url()).toMatch(`${stack.appUrl}/api/tags`);
    expect(shown).toContain('"message": "Success"');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("shows the signed-in user's tables, and sends the cookies with what is tried", async () => {
    const { context, page, complaints } = await visit();
    await signIn(page);
    expect(await page.textContent("#who")).toContain(stack.admin.email);
    expect(await headings(page)).toEqual(
      expect.arrayContaining(["posts", "API tokens", "svc_user", "svc_permission"]),
    );
    const { request, shown } = await tryOut(page, "svc_user", "list_svc_user");
    expect((await request.allHeaders()).cookie).toContain("accessToken=");
    expect((await request.response())?.status()).toBe(200);
    expect(shown).toContain(stack.admin.email);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("shows an example of a parameter of JSON and its schema, and sends what is typed there as it stands", async () => {
    const { context, page } = await visit();
    const first = await tryOut(page, "tags", "list_tags");
    const sentAs = (request: Request) => new URL(request.url()).searchParams.get("filter");
    expect([sentAs(first.request), (await first.request.response())?.status()]).toEqual(["{}", 200]);
    const list = page.locator("#operations-tags-list_tags");
    const filter = '{"name":{"_in":["bread",null]}}';
    const row = list.locator('tr[data-param-name="filter"]');
    const field = row.locator("textarea");
    expect(await field.inputValue()).toBe("{}");
    await row.locator("button", { hasText: "Schema" }).click();
    expect(await row.textContent()).toContain("_or");
    await row.locator("button", { hasText: "Edit Value" }).click();
    await field.fill(filter);
    const sent = page.waitForRequest((request) => request.resourceType() === "fetch");
    await list.locator("button.execute").click();
    expect(sentAs(await sent)).toBe(filter);
    await context.close();
  });

  test("writes through the cookies too, which must come from this page", async () => {
    const { context, page } = await visit();
    await signIn(page);
    const { request, shown } = await tryOut(page, "tags", "create_tags");
    expect([request.method(), (await request.response())?.status()]).toEqual(["POST", 201]);
    expect(shown).toContain('"statusCode": 201');
    await context.close();
  });

  test("uploads the file that was chosen, and imports its example, as the forms stand", async () => {
    const { context, page } = await visit();
    await signIn(page);
    await page.click('.opblock-tag[data-tag="svc_file"]');
    const upload = page.locator("#operations-svc_file-create_svc_file");
    await upload.locator(".opblock-summary-control").click();
    const file = { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") };
    await upload.locator("input[type=file]").setInputFiles(file);
    const stored = page.waitForResponse((answer) => answer.request().method() === "POST");
    await upload.locator("button.execute").click();
    const { data, message } = await (await stored).json();
    expect([message, data]).toEqual(["Success", [expect.objectContaining({ title: null, isPublic: false })]]);
    const { request } = await tryOut(page, "authors", "import_authors");
    expect([request.headers()["content-type"], (await request.response())?.status()]).toEqual([
      "text/csv",
      200,
    ]);
    await context.close();
  });

  test("replaces a file's content and leaves what is said of it, as the form stands", async () => {
    const { context, page } = await visit();
    await signIn(page);
    const id = await page.evaluate<string>(`(async () => {
      const body = new FormData();
      body.append("title", "kept");
      body.append("isPublic", "true");
      body.append("file", new Blob(["a"]), "a.txt");
      const answer = await (await fetch("/api/svc_file", { method: "POST", body })).json();
      return answer.data[0].id;
    })()`);
    await page.click('.opblock-tag[data-tag="svc_file"]');
    const change = page.locator("#operations-svc_file-update_svc_file");
    await change.locator(".opblock-summary-control").click();
    await change.locator("select.content-type").first().selectOption("multipart/form-data");
    await change.locator('tr[data-param-name="id"] input').fill(id);
    const file = { name: "b.txt", mimeType: "text/plain", buffer: Buffer.from("bb") };
    await change.locator("input[type=file]").setInputFiles(file);
    const stored = page.waitForResponse((answer) => answer.request().method() === "PATCH");
    await change.locator("button.execute").click();
    const { data, message } = await (await stored).json();
    const wanted = { title: "kept", isPublic: true, filename: "b.txt" };
    expect([message, data]).toEqual(["Success", [expect.objectContaining(wanted)]]);
    await context.close();
  });

  test("shows the picture, or plays the sound, that was fetched", async () => {
    const { context, page, complaints } = await visit();
    await signIn(page);
    const admin = await asAdmin(stack);
    await page.click('.opblock-tag[data-tag="Assets"]');
    const asset = page.locator("#operations-Assets-getAsset");
    await asset.locator(".opblock-summary-control").click();
    for (const [bytes, isThere] of [
      [await picture(4, 4), "document.querySelector('.live-responses-table img')?.naturalWidth === 4"],
      [sound(), "document.querySelector('.live-responses-table audio')?.readyState > 0"],
    ] as const) {
      const { id } = await uploaded(admin, bytes, "file");
      await asset.locator('tr[data-param-name="id"] input').fill(id);
      await asset.locator("button.execute").click();
      // Under the page's policy Playwright's own way of waiting, which evaluates text there, is refused.
      const seen = until(() => page.evaluate<boolean>(isThere), Boolean, 5_000);
      expect(await seen.catch(() => complaints)).not.toBe(complaints);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("has no schemas that lead from one to the next: all of them would be followed when an operation is opened", async () => {
    const { context, page } = await visit(RECORDER);
    const schemas = await page.evaluate<Record<string, unknown>>("window.shown.components.schemas");
    const refsIn = (schema: unknown) => [
      ...JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g),
    ];
    const names = new Set(
      Object.values(schemas).flatMap((each) => refsIn(each).map(([, name = ""]) => name)),
    );
    expect(names.size).toBeGreaterThan(0);
    for (const name of names) expect([name, refsIn(schemas[name])]).toEqual([name, []]);
    expect(JSON.stringify(schemas["posts.deep"])).toContain('{"title":"comments.filter"');
    await context.close();
  });

  test("asks for no cookie, which no page can send: only for tokens, which it sends", async () => {
    const { context, page } = await visit(RECORDER);
    await signIn(page);
    const spec = await page.evaluate<object>("window.shown");
    expect(JSON.stringify(spec)).not.toMatch(/"cookie":(?:\[\]|\{)/);
    await page.locator("button.authorize").first().click();
    expect(await page.locator(".modal-ux .auth-container h4 code").allTextContents()).toEqual(["bearer"]);
    await page.fill(".modal-ux .auth-container input", "not a token");
    await page.click(".modal-ux button.authorize");
    await page.click(".modal-ux .close-modal");
    const { request } = await tryOut(page, "tags", "list_tags");
    expect((await request.allHeaders()).authorization).toBe("Bearer not a token");
    expect((await request.response())?.status()).toBe(401);
    await context.close();
  });

  test("asks visitors for no token, which none of their calls would send", async () => {
    const { context, page } = await visit();
    expect(await page.locator("button.authorize").count()).toBe(0);
    await context.close();
  });

  test("stays with who has signed in when an older question is answered later", async () => {
    const { context, page } = await visit();
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    const isHeld = page.waitForRequest(/\/api\/me\b/);
    await page.route(
      /\/api\/me\b/,
      async (route) => {
        const response = await route.fetch();
        await held;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await bringBack(page);
    await isHeld;
    await signIn(page);
    const late = page.waitForResponse(/\/api\/me\b/);
    answer();
    await late;
    await page.waitForTimeout(500);
    expect(await page.textContent("#who")).toContain(stack.admin.email);
    await context.close();
  });

  test("forgets the tables when one signs out", async () => {
    const { context, page } = await visit();
    await signIn(page);
    await page.click("#sign-out");
    await page.waitForSelector("#sign-in:visible");
    await page.waitForSelector('.opblock-tag[data-tag="svc_table"]', { state: "detached" });
    await context.close();
  });

  test("says why it does not let me in", async () => {
    const { context, page } = await visit();
    await page.fill("#sign-in [name=email]", stack.admin.email);
    await page.fill("#sign-in [name=password]", "not the password");
    await page.click("#sign-in button");
    await page.waitForSelector("#problem:visible");
    expect(await page.textContent("#problem")).toBe("E-mail or password is wrong.");
    await context.close();
  });

  test("loads everything from its own origin, under a policy that allows nothing else", async () => {
    const { context, page, requests } = await visit();
    await signIn(page);
    await tryOut(page, "posts", "list_posts");
    const origins = new Set(
      requests
        .map((each) => new URL(each.url()))
        .filter(({ protocol }) => protocol !== "data:")
        .map(({ origin }) => origin),
    );
    expect([...origins]).toEqual([stack.appUrl]);
    const answer = await fetch(`${stack.appUrl}/api/docs`);
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toContain("unsafe");
    await context.close();
  });

  test("works below the prefix of an app that forwards it, and has one address", async () => {
    const slash = await fetch(`${stack.appUrl}/api/docs/`, { redirect: "manual" });
    expect([slash.status, slash.headers.get("location")]).toEqual([308, "../docs"]);
    expect((await fetch(`${stack.appUrl}/api/docs/nothing.js`)).status).toBe(404);
    const html = await (await fetch(`${stack.appUrl}/api/docs`)).text();
    const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address);
    expect(addresses).not.toHaveLength(0);
    for (const address of addresses) expect(address).not.toMatch(/^[/h]/);
  });
});
