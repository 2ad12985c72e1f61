// A page of the app follows changes with the browser's own EventSource and nothing but its cookies.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { type Api, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";
import { startBrowser } from "./browser.js";

declare global {
  interface Window {
    /** What the page was told, short. */
    told: string[];
  }
}

jest.setTimeout(120_000);

const ACCESS_TOKEN_SECONDS = 2;

describe("a page that follows changes", () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    [stack, browser] = await Promise.all([
      startStack({ env: { ACCESS_TOKEN_TTL_SECONDS: String(ACCESS_TOKEN_SECONDS) } }),
      startBrowser(),
    ]);
    await admin().then((api) =>
      api.post("/svc_table", { name: "tasks", changes: true, columns: [{ name: "title", type: "string" }] }),
    );
    page = await browser.newPage();
    await page.goto(stack.appUrl);
    const status = await page.evaluate(async (credentials) => {
      const body = JSON.stringify(credentials);
      const headers = { "Content-Type": "application/json" };
      return (await fetch("/api/login", { method: "POST", headers, body })).status;
    }, stack.admin);
    expect(status).toBe(200);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  /** Its token does not live long here. */
  function admin(): Promise<Api> {
    return asAdmin(stack);
  }

  async function make(title: string): Promise<void> {
    const { status } = await (await admin()).post("/tasks", { title });
    expect(status).toBe(201);
  }

  const until = (count: number) => page.waitForFunction((wanted) => window.told.length >= wanted, count);

  test("is told, also after its token has run out and after the service was away, and misses nothing", async () => {
    await page.evaluate(() => {
      window.told = [];
      let last = "";
      const open = (): void => {
        const source = new EventSource(`/api/tasks/changes?fields=title&lastEventId=${last}`);
        const tell = (what: string, id: string): void => {
          last = id;
          window.told.push(what);
        };
        source.addEventListener("ready", ({ lastEventId }) => tell("ready", lastEventId));
        source.addEventListener("created", ({ data, lastEventId }) =>
          tell(JSON.parse(data).record.title, lastEventId),
        );
        // The browser has met an answer that is not 200, and does not come back by itself.
        source.addEventListener("error", () => source.readyState === source.CLOSED && setTimeout(open, 100));
      };
      open();
    });
    await until(1);
    await make("first");
    await until(2);
    await page.waitForTimeout((ACCESS_TOKEN_SECONDS + 1) * 1_000);
    await make("after the token");
    await until(3);
    await stack.dataService.stop("SIGKILL");
    await stack.restartDataService();
    // The page comes back a second later, or has met a 502 meanwhile: this is made while nobody listens.
    await make("meanwhile");
    await until(5);
    await make("last");
    await until(6);
    expect(await page.evaluate(() => window.told)).toEqual([
      ...["ready", "first", "after the token", "ready", "meanwhile", "last"],
    ]);
  });
});
