// Request lines and framing that must never reach the data service, over raw sockets.
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { openSocket, sendRaw, statuses } from "./support/raw-http.js";
import { OTHER_ORIGIN, type Rig, readError, startRig } from "./support/rig.js";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterEach(() => rig.upstream.forget());
afterAll(() => rig.stop());

const request = (line: string, ...headers: string[]): string =>
  `${[line, "Host: localhost:3000", ...headers].join("\r\n")}\r\n\r\n`;

/** A refusal is ours, whoever of us noticed. */
function expectOurs(answer: string, code = "BAD_REQUEST"): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(/^Content-Type: application\/json; charset=utf-8$/im);
  expect(head).toMatch(/^X-Content-Type-Options: nosniff$/im);
  expect(head).toMatch(/^Cache-Control: no-store$/im);
  expect(head).toMatch(/^Content-Security-Policy: .*frame-ancestors 'none'/im);
  expect(head).toMatch(/^Cross-Origin-Resource-Policy: same-origin$/im);
  expect(head).toMatch(/^Referrer-Policy: no-referrer$/im);
  const id = /^X-Correlation-ID: (.+)$/im.exec(head)?.[1]?.trim();
  expect(body).toContain(`"code":"${code}"`);
  expect(body).toContain(`"correlationId":"${id}"`);
}

describe("request targets that lead astray", () => {
  it.each([
    "//evil.com/x",
    "//evil.com/api/me",
    "http://evil.com/api/me",
    "http://%@a/",
    "http://[a/",
    "/\\evil.com",
    "/api/\\evil.com",
    "/api/..%2f..%2fadmin",
    "/api/..%2F..%2Fadmin",
    "/api/%2e%2e/admin",
    "/api/%2E%2E/admin",
    "/api/../admin",
    "/api/./me",
    "/api/.%2e/admin",
    "/api/posts%2f1",
    "/api/posts%5c1",
    "/api/posts%00",
    "/api/posts%0d%0aX: y".replace(" ", "%20"),
    "/api/posts%7f",
    "/api/%",
    "/api/%zz",
    "/api/%c3%28",
    "/api//me",
    "/api/me//",
    "/api/me#fragment",
    "//a@b#",
    "//a@[#",
    "//%@a#",
    "*",
    "evil.com:80",
  ])("%s is refused with 400, and nothing goes upstream", async (target) => {
    const answer = await sendRaw(rig.url, request(`GET ${target} HTTP/1.1`, "Connection: close"));
    expect(statuses(answer)).toEqual([400]);
    expectOurs(answer);
    expect(rig.upstream.heads).toEqual([]);
  });

  it.each([
    ["/api/metrics", 404],
    ["/api/%6Detrics", 404],
    ["/api/healthz/", 404],
    ["/api/readyz?x=1", 404],
    ["/%61pi/readyz", 404],
  ])("%s is %d: operators' pages are not for clients, in any spelling", async (target, status) => {
    const answer = await sendRaw(rig.url, request(`GET ${target} HTTP/1.1`, "Connection: close"));
    expect(statuses(answer)).toEqual([status]);
    expect(rig.upstream.heads).toEqual([]);
  });
});

describe("the path of a call", () => {
  it.each([
    ["/api/p/a:b@c!$&'()*+,=-._~", "/p/a:b@c!$&'()*+,=-._~"],
    ["/api/p/%3a%2B%41/", "/p/:+A"],
    ['/api/p/"|', "/p/%22%7C"],
    ["/api/p/%c3%a9%25%3f%23", "/p/%C3%A9%25%3F%23"],
  ])("%s goes to the data service as %s: encoded only where it must be", async (target, path) => {
    const answer = await sendRaw(rig.url, request(`GET ${target} HTTP/1.1`, "Connection: close"));
    expect(statuses(answer)).toEqual([200]);
    expect(rig.upstream.heads).toEqual([`GET ${path}`]);
  });

  it("is refused where it is too long when that is encoded", async () => {
    const line = `GET /api/p/${"|".repeat(12_000)} HTTP/1.1`;
    const answer = await sendRaw(rig.url, request(line, "Connection: close", "X-Correlation-ID: mine-1"));
    expect(statuses(answer)).toEqual([400]);
    expectOurs(answer);
    expect(answer).toContain('"method":"GET","correlationId":"mine-1"');
    expect(rig.upstream.heads).toEqual([]);
  });
});

describe("request lines and framing", () => {
  it.each([
    ["two Host headers", request("GET /api/me HTTP/1.1", "Host: evil.com")],
    ["a Host that is no host", "GET /api/me HTTP/1.1\r\nHost: a/b\r\n\r\n"],
    ["no Host", "GET /api/me HTTP/1.1\r\n\r\n"],
    ["HTTP/1.0", request("GET /api/me HTTP/1.0")],
    ["no version", request("GET /api/me")],
    ["HTTP/2.0 in words", request("GET /api/me HTTP/2.0")],
    [
      "length and chunks",
      `${request("POST /api/p HTTP/1.1", "Content-Length: 4", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    ],
    [
      "chunks and length",
      `${request("POST /api/p HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 4")}0\r\n\r\n`,
    ],
    ["two lengths", `${request("POST /api/p HTTP/1.1", "Content-Length: 1", "Content-Length: 2")}ab`],
    ["a signed length", `${request("POST /api/p HTTP/1.1", "Content-Length: +1")}a`],
    [
      "another transfer coding",
      `${request("POST /api/p HTTP/1.1", "Transfer-Encoding: gzip, chunked")}0\r\n\r\n`,
    ],
    [
      "chunked twice",
      `${request("POST /api/p HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked")}0\r\n\r\n`,
    ],
    ["an unknown coding", `${request("POST /api/p HTTP/1.1", "Transfer-Encoding: xchunked")}0\r\n\r\n`],
    ["a folded header", request("GET /api/me HTTP/1.1", "X-A: b\r\n c")],
    ["a blank before the colon", request("GET /api/me HTTP/1.1", "Content-Length : 0")],
    ["a tab in the query", request("GET /api/p?a=b\tc HTTP/1.1")],
    ["a form feed in the query", request("GET /api/p?a=b\fc HTTP/1.1")],
    ["a host after a backslash", request("GET /\\a@b# HTTP/1.1")],
    ["a bare line feed", "GET /api/me HTTP/1.1\nHost: localhost\n\n"],
    ["a websocket upgrade", request("GET /api/me HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket")],
  ])("%s: refused with 400, and nothing goes upstream", async (_what, bytes) => {
    const answer = await sendRaw(rig.url, bytes);
    expect(statuses(answer).at(0)).toBe(400);
    expectOurs(answer);
    expect(rig.upstream.heads).toEqual([]);
  });

  it.each([
    ["length and chunks", "Content-Length: 6\r\nTransfer-Encoding: chunked"],
    ["chunks and length", "Transfer-Encoding: chunked\r\nContent-Length: 6"],
    ["a hidden coding", "Content-Length: 6\r\nTransfer-Encoding: \x0bchunked"],
    ["a coding in another line", "Content-Length: 6\r\nTransfer-Encoding:\r\n chunked"],
  ])("hides no second request behind %s", async (_what, framing) => {
    const hidden = request("GET /api/hidden HTTP/1.1");
    await sendRaw(rig.url, `${request("POST /api/p HTTP/1.1", framing)}0\r\n\r\n${hidden}`);
    expect(rig.upstream.heads).not.toContain("GET /hidden");
  });

  it("hides no request in the chunked body of a GET", async () => {
    const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
    const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    const bytes = `${request("GET /api/p HTTP/1.1", "Transfer-Encoding: chunked", "Connection: close")}${chunk}`;
    expect(statuses(await sendRaw(rig.url, bytes))).toEqual([200]);
    await sendRaw(rig.url, request("GET /api/next HTTP/1.1", "Connection: close"));
    expect(rig.upstream.heads).toEqual(["GET /p", "GET /next"]);
    expect(rig.upstream.arrived[0]?.body.toString()).toBe(hidden);
  });

  it.each([
    ["a stray byte", "X"],
    ["the rest of a body whose length was counted in characters", '"}'],
    ["what is no request, and one that is", `X\r\n\r\n${request("GET /api/hidden HTTP/1.1")}`],
    [
      "a wish for a tunnel, and a request",
      `CONNECT a:1 HTTP/1.1\r\n\r\n${request("GET /api/hidden HTTP/1.1")}`,
    ],
  ])("a whole request with %s behind it gets its own answer, as the last one", async (_what, rest) => {
    rig.upstream.on("POST /p", (_arrived, response) => void response.writeHead(201).end("made"));
    const answer = await sendRaw(rig.url, `${request("POST /api/p HTTP/1.1", "Content-Length: 2")}{}${rest}`);
    expect(statuses(answer)).toEqual([201]);
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    expect(rig.upstream.heads).toEqual(["POST /p"]);
    expect(rig.upstream.last().body.toString()).toBe("{}");
  });

  it("a whole request with a wish for a tunnel behind it gets a long answer to its end", async () => {
    const long = "x".repeat(100_000);
    rig.upstream.on("GET /long", (_arrived, response) => void response.end(long));
    const bytes = `${request("GET /api/long HTTP/1.1")}CONNECT a:1 HTTP/1.1\r\n\r\n`;
    const answer = await sendRaw(rig.url, bytes, 1_000);
    expect(statuses(answer)).toEqual([200]);
    expect(answer.split("\r\n\r\n")[1]?.length).toBe(long.length);
  });

  it("a request whose own chunks are malformed is refused with 400", async () => {
    const bytes = `${request("POST /api/p HTTP/1.1", "Transfer-Encoding: chunked")}2\r\n{}\r\nx\r\n`;
    const answer = await sendRaw(rig.url, bytes);
    expect(statuses(answer)).toEqual([400]);
    expectOurs(answer);
    expect(rig.upstream.arrived).toEqual([]);
  });

  it.each(["TRACE", "CONNECT", "PROPFIND"])("%s is refused with 405 and Allow", async (method) => {
    const target = method === "CONNECT" ? "evil.com:443" : "/api/me";
    const answer = await sendRaw(rig.url, request(`${method} ${target} HTTP/1.1`, "Connection: close"));
    expect(statuses(answer)).toEqual([405]);
    expect(answer).toMatch(/\r\nAllow: GET, HEAD, POST, PATCH, DELETE, OPTIONS, QUERY\r\n/);
    expectOurs(answer, "METHOD_NOT_ALLOWED");
    expect(rig.upstream.heads).toEqual([]);
  });

  it("an expectation that nobody knows is refused with 400", async () => {
    const answer = await sendRaw(
      rig.url,
      request("GET /api/me HTTP/1.1", "Expect: foo", "X-Correlation-ID: probe-1", "Connection: close"),
    );
    expect(statuses(answer)).toEqual([400]);
    expectOurs(answer);
    expect(answer).toMatch(/\r\nX-Correlation-ID: probe-1\r\n.*"correlationId":"probe-1"/s);
  });

  it("whoever asks for a tunnel, is refused and resets the connection, ends nothing else", async () => {
    for (let at = 0; at < 5; at += 1) {
      const socket = await openSocket(rig.url);
      socket.write(request("CONNECT evil.com:443 HTTP/1.1"));
      const [answer] = await once(socket, "data");
      expect(statuses(String(answer))).toEqual([405]);
      socket.resetAndDestroy();
    }
    expect((await rig.call("/healthz")).status).toBe(200);
  });

  it("whoever asks for a tunnel, is refused and stays, does not keep the gateway from stopping", async () => {
    const own = await startRig();
    const { hostname, port } = new URL(own.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.write(request("CONNECT evil.com:443 HTTP/1.1"));
    await once(socket, "data");
    // Without an end this would wait for ever.
    await own.stop();
    socket.destroy();
  });

  it("answers what is no HTTP at all with the error body", async () => {
    const answer = await sendRaw(rig.url, "\x16\x03\x01 hello\r\n\r\n");
    expect(statuses(answer)).toEqual([400]);
    expect(answer).toContain('"success":false');
  });

  it("says of a method in small letters that it needs capitals: browsers do not write PATCH so by themselves", async () => {
    const answer = await sendRaw(rig.url, request("patch /api/me HTTP/1.1"));
    expect(statuses(answer)).toEqual([400]);
    expectOurs(answer);
    expect(answer).toMatch(/names of methods are written in capitals/);
  });

  it("ignores an offer of cleartext HTTP/2", async () => {
    const bytes = request("GET /api/me HTTP/1.1", "Connection: Upgrade, close", "Upgrade: h2c");
    expect(statuses(await sendRaw(rig.url, bytes))).toEqual([200]);
    expect(rig.upstream.last().headers.upgrade).toBeUndefined();
  });
});

describe("a page that is refused for its request line", () => {
  const PATHS = ["/api/posts%2f1", "/api/%", "/api//me"];
  const allowed = (answer: Response) => answer.headers.get("access-control-allow-origin");

  it.each(PATHS)("of ALLOWED_ORIGINS reads why: %s", async (path) => {
    const preflight = { Origin: OTHER_ORIGIN, "Access-Control-Request-Method": "PATCH" };
    const leave = await rig.call(path, { method: "OPTIONS", headers: preflight });
    expect([leave.status, allowed(leave)]).toEqual([204, OTHER_ORIGIN]);
    const answer = await rig.call(path, { method: "PATCH", headers: { Origin: OTHER_ORIGIN } });
    expect([answer.status, allowed(answer)]).toEqual([400, OTHER_ORIGIN]);
    expect((await readError(answer)).error).toMatchObject({ code: "BAD_REQUEST", path });
    expect(rig.upstream.heads).toEqual([]);
  });

  it("for its framing gets no other answer than anybody, which no browser sends", async () => {
    const lines = [`Origin: ${OTHER_ORIGIN}`, "Access-Control-Request-Method: PATCH", "Connection: close"];
    for (const [version, host] of [
      ["1.1", ["Host: a", "Host: b"]],
      ["1.0", ["Host: a"]],
    ] as const) {
      const bytes = `OPTIONS /api/posts HTTP/${version}\r\n${[...host, ...lines].join("\r\n")}\r\n\r\n`;
      expect(statuses(await sendRaw(rig.url, bytes))).toEqual([400]);
    }
  });

  it("of another origin does not", async () => {
    for (const method of ["OPTIONS", "PATCH"]) {
      const preflight = { Origin: "https://evil.example", "Access-Control-Request-Method": "PATCH" };
      const answer = await rig.call("/api/posts%2f1", { method, headers: preflight });
      expect([allowed(answer), answer.headers.get("vary")]).toEqual([null, "Origin"]);
    }
  });
});

describe("targets that are fine", () => {
  it.each([
    ["/api/posts", "/posts"],
    ["/api/posts/", "/posts"],
    ["/api/posts/a%20b", "/posts/a%20b"],
    ["/api/p%6Fsts", "/posts"],
    ["/api/posts?filter=%7B%22a%22:1%7D&&x==", "/posts?filter=%7B%22a%22:1%7D&&x=="],
    ["/api/posts?sort=a/../b&u=http://evil.com", "/posts?sort=a/../b&u=http://evil.com"],
    ["/api/posts/?filter[a][_eq]=1", "/posts?filter[a][_eq]=1"],
    ["/api/posts/%252e%252e", "/posts/%252e%252e"],
    ["/api/me;.css", "/me%3B.css"],
  ])("%s arrives as %s", async (target, expected) => {
    await sendRaw(rig.url, request(`GET ${target} HTTP/1.1`, "Connection: close"));
    expect(rig.upstream.last().url).toBe(expected);
  });

  it("go to the same data service whatever Host says", async () => {
    const bytes = "GET /api/me HTTP/1.1\r\nHost: evil.com\r\nConnection: close\r\n\r\n";
    expect(statuses(await sendRaw(rig.url, bytes))).toEqual([200]);
    expect(rig.upstream.last().headers.host).toBe(new URL(rig.upstream.url).host);
    expect(rig.upstream.last().headers["x-forwarded-host"]).toBe("localhost:3000");
  });

  it("pass every method of the API, QUERY with its body included", async () => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]) {
      const bytes = `${request(`${method} /api/posts HTTP/1.1`, "Content-Length: 2", "Connection: close")}{}`;
      expect(statuses(await sendRaw(rig.url, bytes))).toEqual([200]);
      expect(rig.upstream.last()).toMatchObject({ method, body: Buffer.from("{}") });
    }
  });
});
