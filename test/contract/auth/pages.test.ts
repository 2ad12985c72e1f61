// Contract 3.3 and security rows D1 to D9: a request that relies on cookies must come from the right page.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { makeTable } from "../records/make.js";
import { Browser, type HeaderLines, setCookies } from "./jar.js";

const CHAT = "https://chat.example.com";

let stack: Stack;
/** Signed in on the app's own page. */
let browser: Browser;

beforeAll(async () => {
  stack = await startStack({ env: { ALLOWED_ORIGINS: CHAT } });
  await makeTable(await asAdmin(stack), { name: "notes", columns: [{ name: "text", type: "string" }] });
});

afterAll(() => stack.stop());

beforeEach(async () => {
  browser = new Browser(stack);
  await browser.logIn(stack.admin, ownPage());
});

const ownPage = (): HeaderLines => ({ Origin: stack.appUrl, "Sec-Fetch-Site": "same-origin" });

const WRONG_PAGES: [string, () => HeaderLines][] = [
  ["D1 another site", () => ({ Origin: "https://evil.com", "Sec-Fetch-Site": "cross-site" })],
  ["D1 another site without fetch metadata", () => ({ Origin: "https://evil.com" })],
  ["D1 another site that hides its origin", () => ({ "Sec-Fetch-Site": "cross-site" })],
  [
    "D1 another site that claims our origin",
    () => ({ Origin: stack.appUrl, "Sec-Fetch-Site": "cross-site" }),
  ],
  ["D4 a sibling", () => ({ Origin: stack.appUrl, "Sec-Fetch-Site": "same-site" })],
  ["D4 a sibling port", () => ({ Origin: "http://localhost:1" })],
  ["D5 the origin null", () => ({ Origin: "null" })],
  ["D5 an origin that begins like ours", () => ({ Origin: `${stack.appUrl}.evil.com` })],
  ["D5 an origin that begins like an allowed one", () => ({ Origin: `${CHAT}.evil.com` })],
  ["D5 two origins in one line", () => ({ Origin: `${stack.appUrl}, https://evil.com` })],
  ["D5 our origin in capitals", () => ({ Origin: stack.appUrl.toUpperCase() })],
  ["D5 our origin with a slash", () => ({ Origin: `${stack.appUrl}/` })],
  ["D5 our origin on https", () => ({ Origin: stack.appUrl.replace("http:", "https:") })],
  ["fetch metadata nobody sends", () => ({ Origin: stack.appUrl, "Sec-Fetch-Site": "same-origin, none" })],
];

describe("a write with cookies", () => {
  it("from the app's own page is done", async () => {
    expect((await browser.post("/notes", { text: "a" }, ownPage())).status).toBe(201);
  });

  it("D5 without Origin and Sec-Fetch-Site, which no browser sends, is done", async () => {
    expect((await browser.post("/notes", { text: "a" })).status).toBe(201);
  });

  it("typed by the user, Sec-Fetch-Site none, is done", async () => {
    expect((await browser.post("/notes", { text: "a" }, { "Sec-Fetch-Site": "none" })).status).toBe(201);
  });

  it.each(WRONG_PAGES)("from %s is 403, and nothing is written", async (_name, headers) => {
    const text = `forged ${_name}`;
    for (const [method, path] of [
      ["POST", "/notes"],
      ["PATCH", "/notes/1"],
      ["DELETE", "/notes/1"],
    ] as const) {
      const answer = await browser.send(method, path, method === "DELETE" ? undefined : { text }, headers());
      expect([method, answer.status, answer.body.error.code]).toEqual([method, 403, "FORBIDDEN"]);
    }
    const found = await browser.get(`/notes?filter=${encodeURIComponent(JSON.stringify({ text }))}`);
    expect(found.body.data).toEqual([]);
  });

  it("D1 from a wrong page refreshes nothing", async () => {
    const jar = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
    const answer = await jar.post("/notes", { text: "x" }, { Origin: "https://evil.com" });
    expect([answer.status, setCookies(answer)]).toEqual([403, []]);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])(
    "D2 with a body of type %j is 415",
    async (type) => {
      const answer = await browser.post("/notes", { text: "a" }, { ...ownPage(), "Content-Type": type });
      expect([answer.status, answer.body.error.code]).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
    },
  );

  it("from an allowed origin that the session was not made for is 403", async () => {
    const answer = await browser.post("/notes", { text: "a" }, { Origin: CHAT });
    expect(answer.status).toBe(403);
  });

  it("of a session made for an allowed origin is done from there, and from our own page is 403", async () => {
    const chat = new Browser(stack);
    await chat.logIn(stack.admin, { Origin: CHAT });
    expect((await chat.post("/notes", { text: "a" }, { Origin: CHAT })).status).toBe(201);
    expect((await chat.post("/notes", { text: "a" }, ownPage())).status).toBe(403);
  });

  it("has cookies as the origin takes them that receives them: secure on https, and only there", async () => {
    const spelled = async (headers: HeaderLines) => {
      const answer = await new Browser(stack).logIn(stack.admin, headers);
      return setCookies(answer)
        .filter(({ value }) => value !== "")
        .map(({ name, attributes }) => [name.startsWith("__Host-"), "secure" in attributes]);
    };
    expect(new Set((await spelled({ Origin: CHAT })).flat())).toEqual(new Set([true]));
    expect(new Set((await spelled(ownPage())).flat())).toEqual(new Set([false]));
  });

  it("keeps to the origin of its session after a refresh", async () => {
    const chat = new Browser(stack);
    await chat.logIn(stack.admin, { Origin: CHAT });
    const { "__Host-refreshToken": token } = chat.cookies;
    const later = () => Browser.with(stack, { "__Host-refreshToken": token });
    expect((await later().post("/notes", { text: "a" }, ownPage())).status).toBe(403);
    expect((await later().post("/notes", { text: "a" }, { Origin: CHAT })).status).toBe(201);
  });

  it("D7 is not turned into another method by a header or parameter", async () => {
    const { id } = (await browser.post("/notes", { text: "stays" })).body.data[0];
    for (const override of ["DELETE", "PATCH", "delete"]) {
      const headers = { "X-HTTP-Method-Override": override };
      expect((await browser.post(`/notes/${id}?_method=DELETE`, undefined, headers)).status).toBe(400);
      expect((await browser.get(`/notes/${id}`, headers)).status).toBe(200);
    }
    expect((await browser.get(`/notes/${id}`)).body.data[0].text).toBe("stays");
  });
});

describe("a read with cookies", () => {
  it.each(WRONG_PAGES)("from %s changes nothing and is answered", async (_name, headers) => {
    const answer = await browser.get("/me", headers());
    expect([answer.status, setCookies(answer)]).toEqual([200, []]);
  });

  it.each(["cross-site", "same-site"])(
    "D6 from a %s page is the user's, and leaves the refresh to the next one of the app's own",
    async (site) => {
      const { refreshToken } = browser.cookies;
      const later = Browser.with(stack, { refreshToken });
      const theirs = await later.get("/me", { "Sec-Fetch-Site": site });
      expect([theirs.status, theirs.body.data[0].email]).toEqual([200, stack.admin.email]);
      expect(later.cookies).toEqual({ refreshToken });
      expect((await later.get("/me", ownPage())).status).toBe(200);
      expect(later.cookies.refreshToken).not.toBe(refreshToken);
    },
  );
});

describe("a request with a Bearer", () => {
  it.each(WRONG_PAGES)("from %s is done: no cookie is relied on", async (_name, headers) => {
    const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
    const bearer = { Authorization: `Bearer ${body.accessToken}` };
    expect((await browser.post("/notes", { text: "a" }, { ...headers(), ...bearer })).status).toBe(201);
  });
});

describe("a log-in", () => {
  it.each(WRONG_PAGES)("D8 from %s is 403 without cookies", async (_name, headers) => {
    const answer = await new Browser(stack).post("/login", stack.admin, headers());
    expect([answer.status, answer.body.error.code, setCookies(answer)]).toEqual([403, "FORBIDDEN", []]);
  });

  it("from the app's own page, an allowed origin, or no browser is done", async () => {
    for (const headers of [ownPage(), { Origin: CHAT }, {}]) {
      expect((await new Browser(stack).post("/login", stack.admin, headers)).status).toBe(200);
    }
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
    "D2 with a body of type %s is 415 without cookies",
    async (type) => {
      const answer = await new Browser(stack).post("/login", stack.admin, { "Content-Type": type });
      expect([answer.status, setCookies(answer)]).toEqual([415, []]);
    },
  );
});

describe("a log-out", () => {
  it.each(WRONG_PAGES)("from %s is 403, and the session lives on", async (_name, headers) => {
    const answer = await browser.post("/logout", undefined, headers());
    expect([answer.status, setCookies(answer)]).toEqual([403, []]);
    expect((await browser.get("/me")).status).toBe(200);
  });

  it("of a session that was begun without a browser is a matter of the app's own page", async () => {
    const script = new Browser(stack);
    await script.logIn(stack.admin);
    expect((await script.post("/logout", undefined, { Origin: CHAT })).status).toBe(403);
    expect((await script.get("/me")).status).toBe(200);
    expect((await script.post("/logout", undefined, ownPage())).status).toBe(200);
  });

  it("from an allowed page that is not the session's is 403 after the access cookie is gone as well", async () => {
    const { refreshToken } = browser.cookies;
    for (const headers of [{ Origin: CHAT }, { Origin: CHAT, "Sec-Fetch-Site": "same-origin" }]) {
      const answer = await Browser.with(stack, { refreshToken }).post("/logout", undefined, headers);
      expect([answer.status, answer.body.error.message, setCookies(answer)]).toEqual([
        403,
        `Requests from the origin ${CHAT} are refused here; this session was begun on ${stack.appUrl}.`,
        [],
      ]);
    }
    expect((await browser.get("/me")).status).toBe(200);
    const own = await Browser.with(stack, { refreshToken }).post("/logout", undefined, ownPage());
    expect([own.status, (await browser.get("/me")).status]).toEqual([200, 401]);
  });

  it("D6 by GET is 405, and the session lives on", async () => {
    expect((await browser.get("/logout")).status).toBe(405);
    expect((await browser.get("/login")).status).toBe(405);
    expect((await browser.get("/auth/refresh-token")).status).toBe(405);
    expect((await browser.get("/me")).status).toBe(200);
  });
});

describe("D9 cross-origin answers", () => {
  it("carry no permission for a foreign origin or for null", async () => {
    for (const origin of ["https://evil.com", "null", `${CHAT}.evil.com`]) {
      const { headers } = await browser.get("/me", { Origin: origin });
      expect(headers.get("access-control-allow-origin")).toBeNull();
      expect(headers.get("access-control-allow-credentials")).toBeNull();
    }
  });

  it("name an allowed origin exactly, with credentials, and vary by it", async () => {
    const { headers } = await browser.get("/me", { Origin: CHAT });
    expect(headers.get("access-control-allow-origin")).toBe(CHAT);
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("vary")).toMatch(/\bOrigin\b/i);
  });

  it("to a preflight of a foreign origin permit nothing", async () => {
    const { headers } = await browser.send("OPTIONS", "/notes", undefined, {
      Origin: "https://evil.com",
      "Access-Control-Request-Method": "POST",
    });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});

describe("D11 a path that poses as a file", () => {
  it.each(["/me/x.css", "/me;.css", "/me%2fx.css", "/me.css"])("%s is not /me", async (path) => {
    const { status, body } = await browser.get(path);
    expect([status === 404 || status === 400, JSON.stringify(body).includes(stack.admin.email)]).toEqual([
      true,
      false,
    ]);
  });
});

describe("D12 headers of isolation", () => {
  it("are on every answer, refusals included", async () => {
    for (const answer of [
      await browser.get("/me"),
      await browser.get("/nothing"),
      await new Browser(stack).get("/me"),
    ]) {
      expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(answer.headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    }
  });
});
