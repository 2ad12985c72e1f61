// Signing in by a provider in an app whose service worker answers the navigations of its pages.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { type Stack, startStack } from "../support/stack.js";
import { startBrowser } from "./browser.js";

jest.setTimeout(120_000);

/** Its requests say that they are for no document. */
const PASSING_ON = 'addEventListener("fetch", (event) => event.respondWith(fetch(event.request)));';

/** The browser asks while the worker starts: a code that both of them sent would be spent by the one and refused to the other. */
const PRELOADING = `
addEventListener("activate", (event) => event.waitUntil(registration.navigationPreload.enable()));
addEventListener("fetch", (event) => event.respondWith(
  event.preloadResponse.then((answer) => answer ?? fetch(event.request)),
));`;

let folder: string;
let stack: Stack;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-worker-"));
  await writeFile(join(folder, "index.html"), "<title>App</title>");
  await writeFile(join(folder, "passing-on.js"), PASSING_ON);
  await writeFile(join(folder, "preloading.js"), PRELOADING);
  [stack, browser] = await Promise.all([startStack({ env: { STATIC_DIR: folder } }), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The app in a browser of its own, in which that worker answers for its pages. */
async function openUnder(worker: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(stack.appUrl);
  await page.evaluate(async (script) => {
    await navigator.serviceWorker.register(script);
    await navigator.serviceWorker.ready;
  }, worker);
  // A page that was there before its worker is not under it.
  await page.reload();
  const controller = await page.evaluate(() => navigator.serviceWorker.controller?.scriptURL);
  expect(controller).toBe(`${stack.appUrl}${worker}`);
  return page;
}

describe("an app under a service worker", () => {
  test.each(["/passing-on.js", "/preloading.js"])("signs in by a provider: %s", async (worker) => {
    const page = await openUnder(worker);
    const redirect = `${stack.appUrl}/welcome`;
    const start = `/api/auth/google?${new URLSearchParams({ redirect })}`;
    await page.evaluate((url) => location.assign(url), start);
    await page.waitForURL(/\/authorize\?/);
    await page.fill("input[name=email]", "worker@example.com");
    await page.click("button[value=allow]");
    await page.waitForURL(redirect);
    expect(await page.evaluate(async () => (await fetch("/api/me")).status)).toBe(200);
    await page.context().close();
  });
});
