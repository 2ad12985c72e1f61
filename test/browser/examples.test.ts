// The examples as users start them, with their one command, in a real browser.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, Page, Request } from "playwright-core";
import { picture } from "../support/files.js";
import { freePort } from "../support/free-port.js";
import { projectRoot } from "../support/run-state.js";
import { ADMIN } from "../support/stack.js";
import { bringBack, goBack, startKeepingBrowser } from "./browser.js";

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
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: dataDir,
      PORT: String(port),
      DATA_SERVICE_PORT: String(dataPort),
      SSR_PORT: String(ssrPort),
      ADMIN_EMAIL: ADMIN.email,
      ADMIN_PASSWORD: ADMIN.password,
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
    appUrl: `http://localhost:${port}`,
    ssrUrl: `http://chat.localhost:${ssrPort}`,
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

/** In a browser of its own that has no session yet. */
async function signInAsGuest(page: Page, email: string): Promise<void> {
  await page.goto(new URL("/", page.url()).href);
  await page.click("#providers a:has-text('google')");
  await page.fill("input[name=email]", email);
  await page.click("button[value=allow]");
  await page.waitForSelector("#signed-in:visible");
}

describe("examples/spa", () => {
  let example: Example;
  let browser: Browser;
  let page: Page;
  let folder: string;

  beforeAll(async () => {
    [example, browser] = await Promise.all([startExample("spa"), startKeepingBrowser()]);
    page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(example.appUrl);
    folder = await mkdtemp(join(tmpdir(), "portico-upload-"));
  });
  afterAll(async () => {
    await browser?.close();
    await example?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Chooses a file of so many bytes, and sends it. */
  async function sendFile(name: string, bytes: number): Promise<void> {
    await writeFile(join(folder, name), Buffer.alloc(bytes, 7));
    await page.setInputFiles("#upload input", join(folder, name));
    await page.click("#upload button");
  }

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
    const titles = await page.locator("#posts li").allTextContents();
    expect(titles).not.toHaveLength(0);
    for (const title of titles) expect(title).toMatch(/bread/i);
    await page.fill("#create input", "Written by the example");
    await page.click("#create button");
    await page.waitForSelector("#posts li:first-child:has-text('Written by the example')");
    expect(await page.textContent("#count")).toBe("801 posts");
  });

  test("uploads a picture, shows its thumbnail, moves it to a folder; who may not see it is refused", async () => {
    const buffer = await picture(640, 480);
    await page.fill("#new-folder input", "Holidays");
    await page.click("#new-folder button");
    await page.waitForSelector("#gallery", { state: "attached" });
    await page.setInputFiles("#upload input", { name: "sea.png", mimeType: "image/png", buffer });
    const sent = page.waitForResponse((answer) => answer.url().endsWith("/api/svc_file"));
    await page.click("#upload button");
    expect((await (await sent).json()).data).toEqual([
      expect.objectContaining({ filename: "sea.png", mimetype: "image/png", width: 640, height: 480 }),
    ]);
    const image = page.locator("#gallery img[alt='sea.png']");
    await image.waitFor();
    await page.waitForFunction(
      () => document.querySelector<HTMLImageElement>("#gallery img")?.naturalWidth === 160,
    );
    expect(await image.evaluate((element: HTMLImageElement) => element.naturalHeight)).toBe(120);

    const moved = page.waitForResponse((answer) => answer.request().method() === "PATCH");
    await page.selectOption("#gallery select", { label: "Holidays" });
    expect((await (await moved).json()).data[0].folder).toEqual({ id: expect.any(String) });

    const address = (await page.locator("#gallery a").getAttribute("href")) ?? "";
    const other = await browser.newPage();
    expect((await other.goto(example.appUrl + address))?.status()).toBe(401);
    await signInAsGuest(other, "visitor@example.com");
    expect((await other.goto(example.appUrl + address))?.status()).toBe(404);
    await other.close();
    const own = await page.context().newPage();
    expect((await own.goto(example.appUrl + address))?.status()).toBe(200);
    await own.close();
  });

  test("shows how far an upload is, and says what is wrong with one that is too large", async () => {
    await page.evaluate(() => {
      const bar = document.querySelector<HTMLProgressElement>("#progress");
      const seen: number[] = [];
      Object.assign(window, { seen });
      new MutationObserver(() => seen.push(bar?.value ?? -1)).observe(bar ?? document, { attributes: true });
    });
    await sendFile("large.bin", 20 * 1024 * 1024);
    await page.locator("#gallery a:has-text('large.bin')").waitFor();
    const seen = await page.evaluate(() => Reflect.get(window, "seen") as number[]);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.every((value, at) => value >= (seen[at - 1] ?? 0))).toBe(true);

    await sendFile("too-large.bin", 50 * 1024 * 1024 + 1);
    await page.waitForSelector("#problem:visible");
    expect(await page.textContent("#problem")).toBe("file: must have at most 52428800 bytes");
  });

  test("deletes a picture, and with it its address", async () => {
    const picturesOf = () => page.locator("#gallery img").count();
    const address = (await page.locator("#gallery a:has(img)").getAttribute("href")) ?? "";
    const gone = page.waitForResponse((answer) => answer.request().method() === "DELETE");
    await page.click("#gallery li:has(img) button");
    expect((await gone).status()).toBe(200);
    await page.waitForFunction(() => document.querySelector("#gallery img") === null);
    expect(await picturesOf()).toBe(0);
    const own = await page.context().newPage();
    expect((await own.goto(example.appUrl + address))?.status()).toBe(404);
    await own.close();
  });

  test("shows a visitor nothing of a user who has signed out on another page, when one goes back", async () => {
    await page.goto(`${example.appUrl}/api/docs`);
    await page.click("#sign-out");
    await page.waitForSelector("#sign-in:visible");
    await goBack(page, `${example.appUrl}/`);
    await page.waitForSelector("#signed-out:visible");
    expect(await page.isVisible("#signed-in")).toBe(false);
    expect(await page.locator("#posts li").count()).toBe(0);
  });

  test("shows who has signed in in another tab", async () => {
    const other = await page.context().newPage();
    await other.goto(example.appUrl);
    await fillLogIn(other, ADMIN.password);
    await other.click("#login button");
    await other.waitForSelector("#signed-in:visible");
    await bringBack(page);
    await page.waitForSelector("#signed-in:visible");
    await other.close();
  });

  test("asks nothing when its tab is left", async () => {
    expect(await asksWhenLeft(page)).toEqual([]);
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
    expect(await page.textContent("#problem")).toBe("Signing in did not work. The provider was told no.");
  });

  test("says nothing of what a link with an error says", async () => {
    expect(await madeUp(page, example.appUrl)).toBe("Signing in did not work.");
  });
});

/** What a page asks for when another tab is chosen. */
async function asksWhenLeft(page: Page): Promise<string[]> {
  const asked: string[] = [];
  const note = (request: Request): void => void asked.push(request.url());
  page.on("request", note);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  await bringBack(page);
  await page.waitForTimeout(500);
  await page.evaluate(() => Reflect.deleteProperty(document, "hidden"));
  page.off("request", note);
  return asked;
}

/** What a page says that was opened by a link with a made-up error. */
async function madeUp(page: Page, url: string): Promise<string | undefined> {
  await page.goto(`${url}/?error=Call%20us`);
  await page.waitForSelector("#problem:visible");
  return (await page.textContent("#problem"))?.trim();
}

/** Runs in the page, as a CDN's script does. */
function prefetchHome(): void {
  const rules = document.createElement("script");
  rules.type = "speculationrules";
  rules.textContent = JSON.stringify({ prefetch: [{ urls: ["/"], eagerness: "immediate" }] });
  document.head.append(rules);
}

/** Runs in the page. */
async function postJson([path, body]: readonly [path: string, body: string]): Promise<number> {
  const headers = { "Content-Type": "application/json" };
  return (await fetch(path, { method: "POST", headers, body })).status;
}

describe("examples/ssr", () => {
  let example: Example;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    [example, browser] = await Promise.all([startExample("ssr"), startKeepingBrowser()]);
    page = await (await browser.newContext()).newPage();
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
    expect(await page.textContent("#problem")).toBe("Signing in did not work. E-mail or password is wrong.");
    await fillLogIn(page, ADMIN.password);
    await page.click("#login");
    await page.waitForSelector("#who");
    expect(page.url()).toBe(`${example.ssrUrl}/`);
    expect(await page.textContent("#who")).toBe("Admin");
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.click("#logout");
    await page.waitForSelector("#login");
  });

  test("shows whoever is signed in by now, when one goes back or to its tab", async () => {
    await fillLogIn(page, ADMIN.password);
    await page.click("#login");
    await page.waitForSelector("#who");
    await page.goto(`${example.ssrUrl}/portal/docs`);
    await page.click("#sign-out");
    await page.waitForSelector("#sign-in:visible");
    await goBack(page, `${example.ssrUrl}/`);
    await page.waitForSelector("#login");
    const other = await page.context().newPage();
    await other.goto(example.ssrUrl);
    await fillLogIn(other, ADMIN.password);
    await other.click("#login");
    await other.waitForSelector("#who");
    await other.close();
    await bringBack(page);
    await page.waitForSelector("#who");
    await page.click("#logout");
    await page.waitForSelector("#login");
  });

  test("shows whoever is signed in by now, though the browser had fetched the page before", async () => {
    for (const [path, body, shown] of [
      ["/portal/login", ADMIN, "#who"],
      ["/portal/logout", {}, "#login"],
    ] as const) {
      await page.evaluate(prefetchHome);
      // Nothing tells a page that its prefetch has come.
      await page.waitForTimeout(1_500);
      expect(await page.evaluate(postJson, [path, JSON.stringify(body)] as const)).toBe(200);
      const looksAgain = page.waitForRequest(/\/portal\/me\b/);
      await page.evaluate(() => void location.assign("/"));
      await looksAgain;
      await page.waitForSelector(shown);
    }
  });

  test("looks again also in a browser that tells no page how it was fetched", async () => {
    const context = await browser.newContext();
    const other = await context.newPage();
    await other.addInitScript(() => {
      performance.getEntriesByType = () => [];
    });
    await other.goto(example.ssrUrl);
    expect(await other.evaluate(postJson, ["/portal/login", JSON.stringify(ADMIN)] as const)).toBe(200);
    await bringBack(other);
    await other.waitForSelector("#who", { timeout: 10_000 });
    await context.close();
  });

  test("asks nothing when its tab is left", async () => {
    expect(await asksWhenLeft(page)).toEqual([]);
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

  test("says nothing of what a link with an error says", async () => {
    expect(await madeUp(page, example.ssrUrl)).toBe("Signing in did not work.");
  });

  test("refuses a log-in form of another page", async () => {
    const answer = await fetch(`${example.ssrUrl.replace("chat.localhost", "127.0.0.1")}/login`, {
      method: "POST",
      redirect: "manual",
      headers: { Origin: "https://evil.com", "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(ADMIN).toString(),
    });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
    expect(await answer.text()).toContain("Requests from the origin https://evil.com are refused here");
  });
});
