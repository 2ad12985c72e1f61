// The real Chromium of the browser tests.
import { type Browser, chromium, type Page } from "playwright-core";

const QUIET = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** `npm test` finds it and says so in CHROMIUM_PATH; the default is where Debian puts it. */
const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** Fails where there is none: leaving these tests out is decided by scripts/browser.mjs, in words. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: QUIET });
}

/** One whose Back shows a page as it was left, as everybody's does: Playwright's would load it. */
export function startKeepingBrowser(): Promise<Browser> {
  const ignoreDefaultArgs = ["--disable-back-forward-cache"];
  return chromium.launch({ executablePath, args: QUIET, ignoreDefaultArgs });
}

/** Goes back; Playwright's own way waits for the page to load. */
export async function goBack(page: Page, url: string): Promise<void> {
  await page.evaluate(() => history.back()).catch(() => {});
  await page.waitForFunction((wanted) => location.href === wanted, url);
}

/** Has the page shown again, as when its tab is chosen: without a window all tabs count as shown. */
export function bringBack(page: Page): Promise<void> {
  return page.evaluate(() => void document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
}
