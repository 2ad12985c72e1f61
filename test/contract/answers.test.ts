// Contract 2 and 8: the shape of every answer, from both services.
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../support/api.js";
import { loggedByNow } from "../support/process-facts.js";
import { type RunningService, type Stack, startStack } from "../support/stack.js";

const BODY_MAX_BYTES = 16_384;
const JSON_TYPE = { "Content-Type": "application/json" };
const MADE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let stack: Stack;
let admin: Api;
let anyone: Api;
let inside: Api;

beforeAll(async () => {
  stack = await startStack({ env: { BODY_MAX_BYTES: String(BODY_MAX_BYTES) } });
  admin = await asAdmin(stack);
  anyone = apiOf(`${stack.appUrl}/api`);
  inside = await signIn(stack.dataUrl, stack.admin);
  const { status } = await admin.post("/svc_table", {
    name: "notes",
    columns: [{ name: "title", type: "string" }],
  });
  if (status !== 201) throw new Error(`no table: ${status}`);
});

afterAll(() => stack.stop());

describe("what the gateway answers by itself", () => {
  it.each([
    ["POST", "/login"],
    ["POST", "/logout"],
    ["GET", "/docs"],
    ["GET", "/auth/providers"],
  ])("%s %s is not at the data service, which says where it is", async (method, path) => {
    const { status, body } = await apiOf(stack.dataUrl).send(method, path);
    const message = `/api${path} is answered by the gateway: ask ${stack.appUrl}/api${path}.`;
    expect([status, body.message]).toEqual([404, message]);
  });
});

describe("a path with /api where there is none", () => {
  it("is told to leave it out, at the data service as behind the gateway's own", async () => {
    for (const base of [stack.dataUrl, `${stack.appUrl}/api`]) {
      const { status, body } = await apiOf(base).get("/api/posts?limit=1");
      const message = 'There is one "/api" too many in this path; leave it out.';
      expect([status, body.message]).toEqual([404, message]);
    }
  });
});

/** Everything section 2 promises of a refusal with this status and code. */
function expectError(
  answer: Answer,
  expected: { status: number; code: string; path: string; method: string },
): void {
  const { status, code, path, method } = expected;
  expect(answer.body).toEqual({
    success: false,
    statusCode: status,
    message: expect.stringMatching(/\w+ \w+/),
    error: {
      code,
      message: answer.body.message,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      path,
      method,
      correlationId: answer.headers.get("x-correlation-id"),
    },
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
}

describe("a success", () => {
  it("of a create is 201 with a list of one record and its address", async () => {
    const { status, headers, body } = await admin.post("/notes", { title: "a" });
    expect(status).toBe(201);
    expect(body).toEqual({
      statusCode: 201,
      message: "Success",
      data: [expect.objectContaining({ title: "a" })],
    });
    expect(headers.get("location")).toBe(`/api/notes/${body.data[0].id}`);
    const direct = await inside.post("/notes", { title: "b" });
    expect(direct.headers.get("location")).toBe(`/api/notes/${direct.body.data[0].id}`);
  });

  it("of a create of several is their list in the order of the body, without one address", async () => {
    const titles = ["z", "a", "m"];
    const { status, headers, body } = await admin.post(
      "/notes",
      titles.map((title) => ({ title })),
    );
    expect([status, headers.get("location")]).toEqual([201, null]);
    expect(body.data.map(({ title }: { title: string }) => title)).toEqual(titles);
  });

  it("of a list is data and nothing else unless meta is asked for", async () => {
    const { body } = await admin.get("/notes", { limit: "1" });
    expect(Object.keys(body)).toEqual(["statusCode", "message", "data"]);
  });

  it("of a list carries meta when it is asked for", async () => {
    const { body } = await admin.get("/notes", { limit: "1", meta: "*" });
    expect(body.meta).toEqual({ totalCount: expect.any(Number), filterCount: expect.any(Number) });
  });

  it("of read-one, update and /me is a list of one record", async () => {
    const { body } = await admin.post("/notes", { title: "b" });
    const path = `/notes/${body.data[0].id}`;
    const answers = [await admin.get(path), await admin.patch(path, { title: "c" }), await admin.get("/me")];
    for (const answer of answers) {
      expect(answer.body).toEqual({
        statusCode: 200,
        message: "Success",
        data: [expect.objectContaining({ id: expect.any(String) })],
      });
    }
  });

  it("of a delete has no data", async () => {
    const { body } = await admin.post("/notes", { title: "d" });
    const answer = await admin.delete(`/notes/${body.data[0].id}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ statusCode: 200, message: "Success" });
  });

  it("of a log-in has its keys at the top level", async () => {
    const { body } = await anyone.post("/auth/login", stack.admin);
    expect(body).toEqual({
      statusCode: 200,
      message: "Success",
      loginProvider: null,
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expTime: expect.any(Number),
      refreshExpTime: expect.any(Number),
    });
  });

  it("is sent with nosniff and is not to be stored", async () => {
    const { headers } = await admin.get("/notes");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("shows dates as ISO 8601 in UTC with milliseconds", async () => {
    const { body } = await admin.post("/notes", { title: "e" });
    expect(body.data[0].createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });
});

describe("Cache-Control", () => {
  const preflight = { Origin: "https://other.example", "Access-Control-Request-Method": "POST" };

  it.each<[method: string, path: string, headers?: Record<string, string>]>([
    ["GET", "/api/notes"],
    ["HEAD", "/api/notes"],
    ["GET", "/api/me"],
    ["GET", "/api/metadata"],
    ["GET", "/api/openapi.json"],
    ["GET", "/api/types.ts"],
    ["GET", "/api/svc_folder/tree"],
    ["GET", "/api/notes?format=csv"],
    ["GET", "/api/nothing"],
    ["GET", "/api/notes/1/2"],
    ["PUT", "/api/notes"],
    ["GET", "/api/assets/0123456789abcdef01234567"],
    ["GET", "/api/auth/providers"],
    ["GET", "/api/auth/google"],
    ["GET", "/api/auth/set-cookies"],
    ["POST", "/api/auth/google/link"],
    ["POST", "/api/auth/login"],
    ["POST", "/api/login"],
    ["GET", "/api/login"],
    ["OPTIONS", "/api/logout"],
    ["GET", "/api/docs/"],
    ["GET", "/api/docs/nothing.js"],
    ["OPTIONS", "/api/notes"],
    ["OPTIONS", "/api/login"],
    ["OPTIONS", "/api/docs"],
    ["OPTIONS", "/api/notes", preflight],
    ["OPTIONS", "/api/login", preflight],
    ["OPTIONS", "/api/docs/docs.js", preflight],
    ["GET", "/%ZZ"],
    ["GET", "/nothing/here"],
    ["GET", "/healthz"],
    ["GET", "/readyz"],
  ])("of %s %s says that nobody may keep the answer", async (method, path, headers = {}) => {
    const anywhere = apiOf(stack.appUrl);
    const isCall = path.startsWith("/api/");
    const answers = [
      await anywhere.send(method, path, { headers }),
      ...(isCall ? [await admin.send(method, path.slice(4)), await inside.send(method, path.slice(4))] : []),
    ];
    for (const answer of answers) expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it.each([
    ["/api/.well-known/jwks.json", "public, max-age=5"],
    ["/api/docs", "no-cache"],
    ["/api/docs/docs.js", "no-cache"],
    ["/", "no-cache"],
  ])("of %s is %s", async (path, expected) => {
    const { status, headers } = await apiOf(stack.appUrl).get(path);
    expect([status, headers.get("cache-control")]).toEqual([200, expected]);
  });
});

describe("the page of the API's description", () => {
  it("is shown whatever the Authorization header says: its calls are what that is for", async () => {
    const nobody = apiOf(stack.appUrl, { Authorization: "Bearer nonsense" });
    for (const path of ["/api/docs", "/api/docs/docs.js"]) expect((await nobody.get(path)).status).toBe(200);
    expect((await nobody.get("/api/openapi.json")).status).toBe(401);
  });
});

describe("HEAD", () => {
  it("is answered like GET, without a body", async () => {
    const { id } = (await admin.post("/notes", { title: "h" })).body.data[0];
    for (const path of ["/notes", `/notes/${id}`, "/me", "/.well-known/jwks.json"]) {
      const { status, headers, body } = await admin.send("HEAD", path);
      expect([path, status, body]).toEqual([path, 200, null]);
      expect(headers.get("content-type")).toMatch(/^application\/json/);
    }
    expect((await admin.send("HEAD", "/nothing")).status).toBe(404);
  });
});

describe("OPTIONS", () => {
  it("names the methods of a path and changes nothing", async () => {
    for (const [path, methods] of [
      ["/notes", ["GET", "POST", "QUERY"]],
      ["/notes/1", ["GET", "PATCH", "DELETE"]],
      ["/me", ["GET"]],
      ["/auth/login", ["POST"]],
      ["/login", ["POST"]],
    ] as const) {
      const { status, headers, body } = await admin.send("OPTIONS", path);
      expect([path, status, body]).toEqual([path, 204, null]);
      expect((headers.get("allow") ?? "").split(", ")).toEqual(expect.arrayContaining([...methods]));
    }
  });
});

describe("a refusal", () => {
  it("of an unknown table is 404 from both services, with the path the client called", async () => {
    const expected = { status: 404, code: "NOT_FOUND", path: "/api/nothing", method: "GET" };
    expectError(await admin.get("/nothing"), expected);
    expectError(await inside.get("/nothing"), expected);
  });

  it("of an unknown record is 404", async () => {
    const path = "/notes/0123456789abcdef01234567";
    const expected = { status: 404, code: "NOT_FOUND", path: `/api${path}`, method: "GET" };
    expectError(await admin.get(path), expected);
  });

  it("of a text that can be no id is 404", async () => {
    expectError(await admin.get("/notes/nonsense"), {
      status: 404,
      code: "NOT_FOUND",
      path: "/api/notes/nonsense",
      method: "GET",
    });
  });

  it("of a path with three segments is 404", async () => {
    expectError(await admin.get("/notes/1/2"), {
      status: 404,
      code: "NOT_FOUND",
      path: "/api/notes/1/2",
      method: "GET",
    });
  });

  it("of a gateway page that does not exist is 404 in the same shape", async () => {
    const answer = await apiOf(stack.appUrl).get("/nothing/here");
    expectError(answer, { status: 404, code: "NOT_FOUND", path: "/nothing/here", method: "GET" });
  });

  it("of a path that can not be decoded is 400 from both services", async () => {
    const expected = { status: 400, code: "BAD_REQUEST", method: "GET" };
    expectError(await admin.get("/%ZZ"), { ...expected, path: "/api/%ZZ" });
    expectError(await inside.get("/%ZZ"), { ...expected, path: "/api/%ZZ" });
  });

  it.each([
    ["a broken object", '{"title":'],
    ["text that is no JSON", "title=a"],
    ["nothing at all but spaces", "  "],
  ])("of malformed JSON is 400: %s", async (_name, body) => {
    const expected = { status: 400, code: "BAD_REQUEST", path: "/api/notes", method: "POST" };
    expectError(await admin.send("POST", "/notes", { body, headers: JSON_TYPE }), expected);
    expectError(await inside.send("POST", "/notes", { body, headers: JSON_TYPE }), expected);
  });

  it("of JSON that is not UTF-8 is 400", async () => {
    const body = Buffer.from('{"title":"\xe4"}', "latin1");
    const answer = await admin.send("POST", "/notes", { body, headers: JSON_TYPE });
    expectError(answer, { status: 400, code: "BAD_REQUEST", path: "/api/notes", method: "POST" });
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"])(
    "of the media type %s is 415",
    async (type) => {
      const init = { body: '{"title":"a"}', headers: { "Content-Type": type } };
      const expected = { status: 415, code: "UNSUPPORTED_MEDIA_TYPE", path: "/api/notes", method: "POST" };
      expectError(await admin.send("POST", "/notes", init), expected);
      expectError(await inside.send("POST", "/notes", init), expected);
    },
  );

  it("of a compressed body is 415, so that no small body becomes a large one", async () => {
    const headers = { ...JSON_TYPE, "Content-Encoding": "gzip" };
    const answer = await admin.send("POST", "/notes", { body: "{}", headers });
    expectError(answer, {
      status: 415,
      code: "UNSUPPORTED_MEDIA_TYPE",
      path: "/api/notes",
      method: "POST",
    });
  });

  it("of a body over the limit is 413 from both services", async () => {
    const body = JSON.stringify({ title: "x".repeat(BODY_MAX_BYTES) });
    const expected = { status: 413, code: "PAYLOAD_TOO_LARGE", path: "/api/notes", method: "POST" };
    expectError(await admin.send("POST", "/notes", { body, headers: JSON_TYPE }), expected);
    expectError(await inside.send("POST", "/notes", { body, headers: JSON_TYPE }), expected);
  });

  it("of a body over the limit that does not say its length is 413", async () => {
    const pieces = ['{"title":"', ...Array.from({ length: 8 }, () => "x".repeat(4096)), '"}'];
    const body = new ReadableStream({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(Buffer.from(piece));
      },
    });
    const init: RequestInit & { duplex: "half" } = { body, headers: JSON_TYPE, duplex: "half" };
    const expected = { status: 413, code: "PAYLOAD_TOO_LARGE", path: "/api/notes", method: "POST" };
    expectError(await admin.send("POST", "/notes", init), expected);
  });

  it("of a log-in body over 16 KB is 413", async () => {
    const answer = await anyone.post("/auth/login", { email: "a@b.example", password: "x".repeat(20_000) });
    expect([answer.status, answer.body.error.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
  });

  it.each([
    ["PUT", "/notes", ["GET", "POST"]],
    ["POST", "/notes/0123456789abcdef01234567", ["GET", "PATCH", "DELETE"]],
    ["DELETE", "/me", ["GET"]],
    ["GET", "/auth/login", ["POST"]],
    ["GET", "/auth/refresh-token", ["POST"]],
    ["GET", "/auth/logout", ["POST"]],
    ["POST", "/.well-known/jwks.json", ["GET"]],
    ["GET", "/login", ["POST"]],
    ["GET", "/logout", ["POST"]],
  ])("of the method %s on %s is 405 with the methods that would do", async (method, path, allowed) => {
    const answer = await admin.send(method, path);
    expectError(answer, { status: 405, code: "METHOD_NOT_ALLOWED", path: `/api${path}`, method });
    const allow = (answer.headers.get("allow") ?? "").split(", ");
    for (const each of allowed) expect(allow).toContain(each);
    expect(answer.body.message).toMatch(`${method} is not allowed here, but ${allowed[0]}`);
    expect(allow).not.toContain(method);
  });

  it("of an invalid body is a list with one entry per violation, beginning with the field", async () => {
    const { body } = await admin.post("/notes", { title: 5, titel: "a" });
    expect(body.statusCode).toBe(400);
    expect(body.error.code).toBe("VALIDATION_ERROR");
    expect(body.message).toEqual([expect.stringMatching(/^title: /), expect.stringMatching(/^titel: /)]);
  });

  it("of a wrong query names the parameter in one text", async () => {
    const { body } = await admin.get("/notes", { filter: { titel: "a" } });
    expect(body.error.code).toBe("BAD_REQUEST");
    expect(body.message).toMatch(/^filter\.titel: /);
  });

  it("shows no stack, driver text or inner address, whatever was wrong", async () => {
    const answers = [
      await admin.get("/notes", { filter: "{" }),
      await admin.get("/notes", { filter: { $where: "1" } }),
      await admin.post("/notes", { $set: { title: "a" } }),
      await admin.get("/notes/%00"),
      await admin.send("POST", "/notes", { body: "{", headers: JSON_TYPE }),
      await anyone.get("/notes"),
    ];
    for (const { status, body } of answers) {
      expect(status).toBeLessThan(500);
      expect(JSON.stringify(body)).not.toMatch(
        /mongo|E11000|node_modules|dist\/|\.js:|127\.0\.0\.1|at async|SyntaxError|position \d/i,
      );
    }
  });

  it.each(["gateway", "dataService"] as const)(
    "of bytes that are no HTTP request, or name no host, is JSON in the same shape from the %s",
    async (service) => {
      for (const bytes of ["NONSENSE\r\n\r\n", "GET /notes HTTP/1.1\r\nConnection: close\r\n\r\n"]) {
        const answer = await rawExchange(stack[service].url, bytes);
        expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"/s);
        expect(answer).toMatch(/\r\nX-Content-Type-Options: nosniff\r\n/i);
      }
    },
  );
});

describe("a write that is whole, with more behind it than its Content-Length says", () => {
  // Were it refused, its client would send it again, and have it twice.
  it.each([
    ["gateway", "/api"],
    ["dataService", ""],
  ] as const)(
    "is answered by the %s with what was done, which ends the connection",
    async (service, prefix) => {
      const signedIn = await anyone.post("/auth/login", stack.admin);
      const title = `counted in characters for the ${service}`;
      const body = JSON.stringify({ title });
      const head = [
        `POST ${prefix}/notes HTTP/1.1`,
        "Host: localhost",
        `Authorization: Bearer ${signedIn.body.accessToken}`,
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
      ];
      const answer = await rawExchange(stack[service].url, `${head.join("\r\n")}\r\n\r\n${body}"}`);
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 201"]);
      expect(answer).toMatch(/\r\nConnection: close\r\n/i);
      const { body: found } = await admin.get("/notes", { filter: { title } });
      expect(found.data).toHaveLength(1);
    },
  );
});

describe("address and headers of a request", () => {
  const KIB = 1024;
  const ask = (api: Api, addressBytes: number, headerBytes: number): Promise<Answer> =>
    api.send("GET", `/notes?padding=${"%7B".repeat(addressBytes / 3)}`, {
      headers: { "X-Padding": "x".repeat(headerBytes) },
    });

  it("may take 32 KiB together, at both services", async () => {
    for (const api of [admin, inside]) {
      expect((await ask(api, 28 * KIB, 0)).status).toBe(200);
      expect((await ask(api, 14 * KIB, 14 * KIB)).status).toBe(200);
    }
  });

  it("may take them with what a path holds without encoding", async () => {
    for (const api of [admin, inside])
      expect((await api.get(`/notes/${":@".repeat(14 * KIB)}`)).status).toBe(404);
  });

  it("are refused beyond it with 400", async () => {
    for (const api of [admin, inside]) {
      const { status, body } = await ask(api, 20 * KIB, 16 * KIB);
      expect([status, body.message]).toEqual([
        400,
        "The request's address and headers are too large together.",
      ]);
    }
  });
});

describe("a header behind thousands of others", () => {
  const FILLER = "X:\r\n".repeat(5_000);

  it.each(["gateway", "dataService"] as const)("counts like any other at the %s", async (service) => {
    const { body: made } = await admin.post("/notes", { title: "written once" });
    const { body: signedIn } = await anyone.post("/auth/login", stack.admin);
    const path = `${service === "gateway" ? "/api" : ""}/notes/${made.data[0].id}`;
    const body = JSON.stringify({ title: "written over" });
    const known = `Host: localhost\r\nAuthorization: Bearer ${signedIn.accessToken}`;
    const typed = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
    const head = `PATCH ${path} HTTP/1.1\r\n${known}\r\n${typed}\r\n${FILLER}If-Match: "no"\r\nConnection: close`;
    const answer = await rawExchange(stack[service].url, `${head}\r\n\r\n${body}`);
    expect(answer).toMatch(/^HTTP\/1\.1 412 /);
  });
});

describe("a parameter of ours that does not apply", () => {
  const NONE = "0123456789abcdef01234567";

  it.each<[method: string, path: string]>([
    ["GET", "/me/sessions?limit=1"],
    ["GET", "/me/sessions?filter={bad"],
    ["DELETE", `/me/sessions/${NONE}?dryRun=true`],
    ["GET", "/me/oauth-accounts?fields=id"],
    ["DELETE", `/me/oauth-accounts/${NONE}?dryRun=true`],
    ["GET", "/auth/api-tokens?fields=id"],
    ["POST", "/auth/api-tokens?dryRun=true"],
    ["GET", `/auth/api-tokens/${NONE}?deep={}`],
    ["DELETE", `/auth/api-tokens/${NONE}?dryRun=true`],
    ["POST", "/auth/keys/rotate?dryRun=true"],
    ["POST", "/auth/login?dryRun=true"],
    ["POST", "/auth/refresh-token?dryRun=true"],
    ["POST", "/auth/logout?dryRun=true"],
    ["GET", "/auth/providers?limit=1"],
    ["POST", "/auth/google/link?dryRun=true"],
    ["POST", "/login?dryRun=true"],
    ["POST", "/logout?dryRun=true"],
    ["GET", "/.well-known/jwks.json?fields=keys"],
  ])("is refused by %s %s", async (method, path) => {
    const { status, body } = await admin.send(method, path);
    const name = /[?](\w+)/.exec(path)?.[1];
    expect([status, body.message]).toEqual([400, `${name}: does not apply to this call`]);
  });

  it("ends no session, revokes no token and makes no key", async () => {
    const victim = await signIn(`${stack.appUrl}/api`, stack.admin);
    const [session] = (await victim.get("/me/sessions")).body.data.filter(
      (each: { current: boolean }) => each.current,
    );
    const [token] = (await admin.post("/auth/api-tokens", { name: "ci", expiresAt: "never" })).body.data;
    const keys = async () => (await admin.get("/.well-known/jwks.json")).body.keys.length;
    const before = await keys();
    for (const [method, path] of [
      ["DELETE", `/me/sessions/${session.id}`],
      ["DELETE", `/auth/api-tokens/${token.id}`],
      ["POST", "/auth/keys/rotate"],
    ] as const)
      for (const name of ["dryRun", "dry_run"])
        expect((await admin.send(method, `${path}?${name}=true`)).status).toBe(400);
    expect((await victim.post("/auth/logout?dryRun=true", {})).status).toBe(400);
    expect((await victim.get("/me")).status).toBe(200);
    expect((await admin.get(`/auth/api-tokens/${token.id}`)).status).toBe(200);
    expect(await keys()).toBe(before);
  });

  it("is no hindrance where it is not ours", async () => {
    for (const path of ["/me/sessions?_=1", "/auth/providers?utm_source=x"])
      expect((await admin.get(path)).status).toBe(200);
  });
});

describe("a trailing slash", () => {
  it.each(["/notes/", "/me/", "/.well-known/jwks.json/"])("is ignored in %s", async (path) => {
    expect((await admin.get(path)).status).toBe(200);
    expect((await inside.get(path)).status).toBe(200);
  });

  it("is ignored before the parameters", async () => {
    expect((await admin.get("/notes/?limit=1")).status).toBe(200);
  });

  it("is ignored in /healthz/ of both services", async () => {
    expect((await apiOf(stack.appUrl).get("/healthz/")).status).toBe(200);
    expect((await apiOf(stack.dataUrl).get("/healthz/")).status).toBe(200);
  });
});

describe("the correlation id", () => {
  it("of the caller comes back in the header and the error body", async () => {
    const id = "trace.1:a-B_9";
    const answer = await admin.send("GET", "/nothing", { headers: { "X-Correlation-ID": id } });
    expect(answer.headers.get("x-correlation-id")).toBe(id);
    expect(answer.body.error.correlationId).toBe(id);
  });

  it("is made when the caller sends none", async () => {
    const answer = await admin.get("/nothing");
    expect(answer.headers.get("x-correlation-id")).toMatch(MADE_ID);
    expect(answer.body.error.correlationId).toBe(answer.headers.get("x-correlation-id"));
  });

  it.each([
    ["has a space", "two words"],
    ["has 129 characters", "x".repeat(129)],
    ["has markup", "<b>"],
  ])("is made anew when the caller's %s", async (_name, id) => {
    const answer = await admin.send("GET", "/nothing", { headers: { "X-Correlation-ID": id } });
    expect(answer.headers.get("x-correlation-id")).toMatch(MADE_ID);
  });

  it("of 128 characters is accepted", async () => {
    const id = "x".repeat(128);
    const answer = await admin.send("GET", "/notes", { headers: { "X-Correlation-ID": id } });
    expect(answer.headers.get("x-correlation-id")).toBe(id);
  });

  it("is the same in the logs of both services", async () => {
    const { headers } = await admin.get("/nothing");
    const id = headers.get("x-correlation-id") ?? "";
    const line = expect.objectContaining({ correlationId: id, method: "GET", status: 404 });
    expect(await linesWith(stack.gateway, id)).toEqual([line]);
    expect(await linesWith(stack.dataService, id)).toEqual([line]);
  });

  it("follows a log-in by cookie to the data service", async () => {
    const headers = { "X-Correlation-ID": "cookie-log-in" };
    await anyone.send("POST", "/login", {
      body: JSON.stringify(stack.admin),
      headers: { ...JSON_TYPE, ...headers },
    });
    expect(await linesWith(stack.dataService, "cookie-log-in", 2)).toEqual([
      expect.objectContaining({ message: "audit", event: "sign-in" }),
      expect.objectContaining({ path: "/auth/login", status: 200 }),
    ]);
  });
});

describe("a log", () => {
  it("is one JSON object a line with service, level, time and message", async () => {
    await admin.get("/notes");
    for (const [name, service] of Object.entries({
      gateway: stack.gateway,
      "data-service": stack.dataService,
    })) {
      const log = service.log();
      const lines = log.slice(0, log.lastIndexOf("\n")).split("\n");
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) {
        expect(JSON.parse(line)).toMatchObject({
          service: name,
          level: expect.any(String),
          time: expect.stringMatching(/^\d{4}-.*Z$/),
          message: expect.any(String),
        });
      }
    }
  });

  it("holds neither passwords nor tokens", async () => {
    const { body } = await anyone.post("/auth/login", { ...stack.admin, remember: true });
    await anyone.post("/auth/login", { email: "a@b.example", password: "canary-password-1" });
    await anyone.post("/auth/refresh-token", { refreshToken: body.refreshToken });
    await apiOf(`${stack.appUrl}/api`, { Authorization: "Bearer canary-token-2" }).get("/me");
    await admin.get("/notes?access_token=canary-token-3");
    const logs = await loggedByNow(stack);
    for (const secret of [
      ...[stack.admin.password, body.accessToken, body.refreshToken],
      ...["canary-password-1", "canary-token-2", "canary-token-3"],
    ]) {
      expect(logs).not.toContain(secret);
    }
  });

  it("keeps a name with line breaks in one line", async () => {
    const { headers } = await admin.get("/a%0D%0Ab");
    const id = headers.get("x-correlation-id") ?? "";
    expect((await linesWith(stack.gateway, id)).length).toBe(1);
  });
});

describe("operations", () => {
  it("answer liveness and readiness on both services without facts about the system", async () => {
    for (const base of [stack.appUrl, stack.dataUrl]) {
      for (const path of ["/healthz", "/readyz"]) {
        const { status, body } = await apiOf(base).get(path);
        expect(status).toBe(200);
        expect(Object.keys(body)).toEqual(["status"]);
      }
    }
  });

  it.each(["gateway", "dataService"] as const)(
    "send nosniff with liveness and readiness of the %s",
    async (service) => {
      for (const path of ["/healthz", "/readyz"]) {
        const { headers } = await apiOf(stack[service].url).get(path);
        expect([path, headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
      }
    },
  );

  it.each(["/metrics", "/readyz", "/healthz", "/%6Detrics", "/metrics/", "/readyz/"])(
    "are not exposed through the API as %s",
    async (path) => {
      const answer = await admin.get(path);
      expect([answer.status, answer.body.error.code]).toEqual([404, "NOT_FOUND"]);
    },
  );
});

describe("when the data service can't be reached", () => {
  it("the gateway answers 502 with the error body, keeps the cookies, and recovers by itself", async () => {
    const login = await anyone.post("/login", stack.admin);
    const cookies = login.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const refreshOnly = cookies.split("; ").filter((pair) => pair.startsWith("refreshToken="));
    const browser = apiOf(`${stack.appUrl}/api`, { Cookie: cookies });
    const expired = apiOf(`${stack.appUrl}/api`, { Cookie: refreshOnly.join("; ") });
    await stack.dataService.stop("SIGKILL");

    const answers = {
      signedIn: await browser.get("/notes"),
      expired: await expired.get("/notes"),
      logIn: await anyone.post("/login", stack.admin),
      logOut: await browser.send("POST", "/logout"),
      ready: await apiOf(stack.appUrl).get("/readyz"),
      alive: await apiOf(stack.appUrl).get("/healthz"),
    };
    await stack.restartDataService();

    const expected = { status: 502, code: "BAD_GATEWAY" };
    expectError(answers.signedIn, { ...expected, path: "/api/notes", method: "GET" });
    expectError(answers.expired, { ...expected, path: "/api/notes", method: "GET" });
    expectError(answers.logIn, { ...expected, path: "/api/login", method: "POST" });
    expectError(answers.logOut, { ...expected, path: "/api/logout", method: "POST" });
    for (const answer of Object.values(answers)) expect(answer.headers.getSetCookie()).toEqual([]);
    expect(JSON.stringify(answers)).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
    expect(answers.ready.status).toBe(503);
    expect(answers.ready.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(answers.alive.status).toBe(200);
    expect((await browser.get("/notes")).status).toBe(200);
  });
});

/** Lines of a service's log with this correlation id; waits for so many, the last of which is written after the answer. */
async function linesWith(service: RunningService, id: string, count = 1): Promise<unknown[]> {
  for (let attempt = 0; ; attempt += 1) {
    const lines = service
      .log()
      .split("\n")
      .filter((line) => line.includes(`"${id}"`) && line.endsWith("}"));
    if (lines.length >= count || attempt === 50) return lines.map((line) => JSON.parse(line) as unknown);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Sends the bytes as they are; resolves with all that came back when the connection is closed. */
function rawExchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = "";
    socket.setTimeout(3_000, () => socket.destroy());
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
}
