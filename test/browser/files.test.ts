// A file opened by its own address in a real browser: what is shown in place is seen, or plays.
import { afterAll, beforeAll, jest, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { Browser as Jar } from "../contract/auth/jar.js";
import { asAdmin } from "../support/api.js";
import { picture, sound, uploaded } from "../support/files.js";
import { type Stack, startStack } from "../support/stack.js";
import { startBrowser } from "./browser.js";

jest.setTimeout(120_000);

let stack: Stack;
let browser: Browser;
beforeAll(async () => {
  [stack, browser] = await Promise.all([startStack(), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

test.each([
  ["a public sound", sound, "true", "document.querySelector('video, audio')?.readyState === 4"],
  ["a private sound", sound, "false", "document.querySelector('video, audio')?.readyState === 4"],
  ["a private picture", () => picture(4, 4), "false", "document.querySelector('img')?.naturalWidth === 4"],
])("%s opened by its own address is there", async (_what, make, isPublic, isThere) => {
  const { id } = await uploaded(await asAdmin(stack), await make(), "file", { isPublic });
  const user = new Jar(stack);
  await user.logIn(stack.admin, { Origin: stack.appUrl });
  const context = await browser.newContext();
  const cookies = Object.entries(user.cookies).map(([name, value]) => ({ name, value, url: stack.appUrl }));
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(`${stack.appUrl}/assets/${id}`);
  await page.waitForFunction(isThere, undefined, { timeout: 10_000 });
  await context.close();
});
