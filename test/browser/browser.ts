// A real Chromium for the browser tests, where there is one.
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const QUIET = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** CHROMIUM_PATH says where it is; the default is where Debian puts it. */
const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** False on a machine without a browser, where the tests are skipped; a CHROMIUM_PATH that is wrong fails them. */
export const hasBrowser = process.env.CHROMIUM_PATH !== undefined || existsSync(executablePath);

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: QUIET });
}
