// The examples as users start them, with their one command, in a real browser.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { projectRoot } from "../support/run-state.js";
import { ADMIN, freePort } from "../support/stack.js";
import { startBrowser } from "./browser.js";

jest.setTimeout(180_000);

interface Example {
  readonly appUrl: string;
  readonly ssrUrl: string;
  stop(): Promise<void>;
}

/** Runs `node examples/start.mjs {name}` on free ports and fresh data, until everything is up. */
async function startExample(name: "spa" | "ssr"): Promise<Example> {
  const dataDir = await mkdtemp(join(tmpdir(), "portico-example-"));
  const [port, dataPort, ssrPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const child: ChildProcess = spawn(process.execPath, ["examples/start.mjs", name], {
    cwd: projectRoot,
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir },
      ...{ PORT: String(port), DATA_SERVICE_PORT: String(dataPort), SSR_PORT: String(ssrPort) },
      ...{ ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password },
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { text: "" };
  const ended = once(child, "exit");
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output.text += chunk.toString();
      if (output.text.includes("Portico is running")) resolve();
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    ended.then(() => reject(new Error(output.text)));
  });
  return {
    ...{ appUrl: `http://localhost:${port}`, ssrUrl: `http://chat.localhost:${ssrPort}` },
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function fillLogIn(page: Page, password: string): Promise<void> {
  await page.fill("input[name=email]", ADMIN.email);
  await page.fill("input[name=password]", password);
}

describe("examples/spa", () => {
  let example: Example;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    [example, browser] = await Promise.all([startExample("spa"), startBrowser()]);
    page = await browser.newPage();
    page.setDefaultTimeout(15_000);
    await page.goto(example.appUrl);
  });
  afterAll(async () => {
    await browser?.close();
    await example?.stop();
  });

  test("says what is wrong with a password, and takes the right one", async () => {
    await fillLogIn(page, "wrong password");
    await page.click("#login button");
    await page.waitForSelector("#problem:visible");
    expect(await page.textContent("#problem")).toBe("E-mail or password is wrong.");
    await fillLogIn(page, ADMIN.password);
    await page.click("#login button");
    await page.waitForSelector("#signed-in:visible");
    expect(await page.textContent("#who")).toBe(ADMIN.email);
    await page.waitForSelector("#posts li:nth-child(10)");
  });

  test("lists by a filter, and creates", async () => {
    await page.fill("#filter input", "bread");
    await page.click("#filter button");
    await page.waitForFunction(() => document.querySelector("#count")?.textContent === "17 posts");
    for (const title of await page.locator("#posts li").allTextContents()) expect(title).toMatch(/bread/i);
    await page.fill("#create input", "Written by the example");
    await page.click("#create button");
    await page.waitForSelector("#posts li:first-child:has-text('Written by the example')");
    expect(await page.textContent("#count")).toBe("801 posts");
  });

  test("signs out, in by a provider, and says when a provider says no", async () => {
    await page.click("#logout");
    await page.waitForSelector("#signed-out:visible");
    await page.click("#providers a:has-text('google')");
    await page.fill("input[name=email]", "guest@example.com");
    await page.click("button[value=allow]");
    await page.waitForSelector("#signed-in:visible");
    expect(await page.textContent("#who")).toBe("guest@example.com");
    await page.click("#logout");
    await page.waitForSelector("#signed-out:visible");
    await page.click("#providers a:has-text('github')");
    await page.click("button[value=deny]");
    await page.waitForSelector("#problem:visible");
    expect(await page.textContent("#problem")).toBe("Signing in did not work: access_denied");
  });
});

describe("examples/ssr", () => {
  let example: Example;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    [example, browser] = await Promise.all([startExample("ssr"), startBrowser()]);
    page = await browser.newPage();
    page.setDefaultTimeout(15_000);
    await page.goto(example.ssrUrl);
  });
  afterAll(async () => {
    await browser?.close();
    await example?.stop();
  });

  test("signs in by password, renders /me on the server, and signs out", async () => {
    await fillLogIn(page, "wrong password");
    await page.click("#login");
    await page.waitForSelector("#problem");
    await fillLogIn(page, ADMIN.password);
    await page.click("#login");
    await page.waitForSelector("#who");
    expect(page.url()).toBe(`${example.ssrUrl}/`);
    expect(await page.textContent("#who")).toBe("Admin");
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.click("#logout");
    await page.waitForSelector("#login");
  });

  test("signs in by each provider, over the bridge", async () => {
    for (const provider of ["google", "facebook", "github"]) {
      await page.click(`a:has-text('${provider}')`);
      expect(page.url()).toContain(`${example.appUrl}/api/auth/dev/${provider}`);
      await page.fill("input[name=email]", `${provider}@example.com`);
      await page.fill("input[name=name]", `By ${provider}`);
      await page.click("button[value=allow]");
      await page.waitForSelector("#who");
      expect([page.url(), await page.textContent("#who")]).toEqual([`${example.ssrUrl}/`, `By ${provider}`]);
      await page.click("#logout");
      await page.waitForSelector("#login");
    }
  });

  test("refuses a log-in form of another page", async () => {
    const answer = await fetch(`${example.ssrUrl.replace("chat.localhost", "127.0.0.1")}/login`, {
      method: "POST",
      redirect: "manual",
      headers: { Origin: "https://evil.com", "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(ADMIN).toString(),
    });
    expect([answer.headers.get("location"), answer.headers.getSetCookie()]).toEqual([
      "/?error=invalid_credentials",
      [],
    ]);
  });
});
