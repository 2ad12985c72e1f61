// The real Chromium of the browser tests.
import { type Browser, chromium } from "playwright-core";

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
