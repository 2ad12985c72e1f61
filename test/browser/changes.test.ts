// A page of the app follows changes with the browser's own EventSource and nothing but its cookies.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { type Api, asAdmin } from "../support/api.js";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";
import { startBrowser } from "./browser.js";

declare global {
  interface Window {
    /** What the page was told, short. */
    told: string[];
    /** The titles that the page shows, by id. */
    shown: Map<string, string>;
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
    const columns = [
      { name: "title", type: "string" },
      { name: "done", type: "boolean", default: false },
    ];
    await admin().then((api) => api.post("/svc_table", { name: "tasks", changes: true, columns }));
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

  test("shows what there is, as the README's lines do it, also where the list fails, or is older than what was told", async () => {
    const api = await admin();
    const [{ id: ghost }] = (await api.post("/tasks", { title: "ghost" })).body.data;
    const errors: string[] = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    const [asked, answered] = [signal(), signal()];
    let isFirst = true;
    await page.route(/\/api\/tasks\?/, async (route) => {
      if (isFirst) {
        isFirst = false;
        return await route.fulfill({ status: 503, body: "" });
      }
      const response = await route.fetch();
      asked.give();
      await answered.given;
      await route.fulfill({ response });
    });
    await page.evaluate(aroundTheLines);
    await page.evaluate(`(() => { ${await readmeLines()} })()`);
    await asked.given;
    expect((await api.delete(`/tasks/${ghost}`)).status).toBe(200);
    for (const title of ["one", "two", "three"]) {
      const [{ id }] = (await api.post("/tasks", { title })).body.data;
      if (title !== "three") await api.delete(`/tasks/${id}`);
    }
    // Ready, and that one is gone, three are there, and two of them gone.
    await until(7);
    answered.give();
    await page.waitForFunction(() => window.shown.size > 0);
    await make("at last");
    await page.waitForFunction(() => [...window.shown.values()].includes("at last"));
    const shown = await page.evaluate(() => [...window.shown.values()]);
    const { data } = (await api.get("/tasks", { fields: "title", limit: "0" })).body;
    expect(shown.sort()).toEqual(data.map(({ title }: { title: string }) => title).sort());
    expect(shown).not.toContain("ghost");
    expect(errors).toEqual([]);
  });
});

function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give() };
}

/** The page that the README's lines belong to, and a stream that tells when all is told. */
function aroundTheLines(): void {
  window.told = [];
  window.shown = new Map();
  const show = ({ id, title }: { id: string; title: string }) => void window.shown.set(id, title);
  const showAll = (list: { id: string; title: string }[]): void => {
    window.shown.clear();
    for (const each of list) show(each);
  };
  const hide = (id: string) => void window.shown.delete(id);
  const readTheList = async () => {
    const filter = encodeURIComponent(JSON.stringify({ done: false }));
    const response = await fetch(`/api/tasks?limit=0&filter=${filter}`);
    if (!response.ok) throw new Error(`the list is answered with ${response.status}`);
    return (await response.json()).data;
  };
  Object.assign(window, { show, showAll, hide, readTheList });
  const source = new EventSource("/api/tasks/changes");
  for (const event of ["ready", "created", "deleted"])
    source.addEventListener(event, () => window.told.push(event));
}

async function readmeLines(): Promise<string> {
  const readme = await readFile(join(projectRoot, "README.md"), "utf8");
  const [lines] = [...readme.matchAll(/```js\n(.*?)```/gs)].flatMap(([, block]) => block ?? []);
  if (lines === undefined) throw new Error("the README shows no lines that follow changes");
  return lines;
}
