// What crosses between client and data service, and what stays: headers, bytes, broken transfers.
import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { until } from "../support/wait.js";
import { openSocket, sendRaw, statuses } from "./support/raw-http.js";
import { APP_URL, cookies, OTHER_ORIGIN, type Rig, readEcho, readError, startRig } from "./support/rig.js";
import { accessToken, grants, session } from "./support/tokens.js";
import { foreignJson, html, json } from "./support/upstream.js";

let rig: Rig;
const rigs: Rig[] = [];
beforeEach(async () => {
  rig = await startRig();
  rigs.push(rig);
});
afterAll(() => Promise.all(rigs.map((each) => each.stop())));

const none = (count: number) => count === 0;

describe("request headers", () => {
  it("of identity, forwarding and connection stay behind, in every spelling", async () => {
    const lines = [
      "GET /api/me HTTP/1.1",
      "Host: localhost:3000",
      "X-User-Id: 1",
      "x-user-id: 2",
      "X_User_Id: 3",
      "X-Internal-Secret: s",
      "X-Role: admin",
      "X-Portico-Origin: https://evil.com",
      "X-Forwarded-For: 6.6.6.6",
      "X-Forwarded-Host: evil.com",
      "X-Forwarded-Proto: https",
      "X-Real-IP: 6.6.6.6",
      "Forwarded: for=6.6.6.6",
      "X-Original-URL: /admin",
      "X-HTTP-Method-Override: DELETE",
      "Proxy-Authorization: Basic eA==",
      "Keep-Alive: timeout=9",
      "TE: trailers",
      "Cookie: theme=dark",
      "Accept: application/json",
      "Connection: close, x-user-id, accept",
    ];
    await sendRaw(rig.url, `${lines.join("\r\n")}\r\n\r\n`);
    const { connection, ...headers } = rig.upstream.last().headers;
    expect(headers).toEqual({
      host: new URL(rig.upstream.url).host,
      via: "1.1 portico",
      "x-correlation-id": expect.stringMatching(/^[\w-]{36}$/),
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "localhost:3000",
      "x-forwarded-proto": "http",
    });
    expect(connection).toBe("keep-alive");
  });

  it.each([
    ["a log-in by a page that is served", "/api/auth/login", OTHER_ORIGIN, OTHER_ORIGIN],
    ["a log-in by any other page", "/api/auth/login", "https://evil.example", undefined],
    ["a log-in by no page", "/api/auth/login", undefined, undefined],
    ["any other call", "/api/posts", OTHER_ORIGIN, undefined],
  ])("name the page that a session is for: of %s", async (_what, path, page, named) => {
    const headers = { "X-Portico-Origin": APP_URL, ...(page && { Origin: page }) };
    await rig.call(path, { method: "POST", headers });
    expect(rig.upstream.last().headers["x-portico-origin"]).toBe(named);
  });

  it("keep the caller's token even when Connection names it", async () => {
    const bytes = [
      "GET /api/me HTTP/1.1",
      "Host: localhost:3000",
      "Authorization: Bearer abc",
      "Connection: close, authorization",
    ].join("\r\n");
    await sendRaw(rig.url, `${bytes}\r\n\r\n`);
    expect(rig.upstream.last().headers.authorization).toBe("Bearer abc");
  });

  it("with two tokens are refused: nobody guesses which one is meant", async () => {
    const bytes =
      "GET /api/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n";
    const answer = await sendRaw(rig.url, bytes);
    expect(statuses(answer)).toEqual([401]);
    expect(rig.upstream.heads).toEqual([]);
  });

  it("pass the conditional, range and idempotency headers and the QUERY override", async () => {
    const headers = {
      "Content-Type": "application/json",
      "If-Match": '"3"',
      "If-None-Match": '"4"',
      Range: "bytes=0-1",
      "Idempotency-Key": "k1",
      "X-HTTP-Method-Override": "QUERY",
      "X-Correlation-ID": "a.b:c-1",
    };
    const echo = await readEcho(await rig.call("/api/posts", { method: "POST", headers, body: "{}" }));
    for (const [name, value] of Object.entries(headers)) expect(echo.headers[name.toLowerCase()]).toBe(value);
  });

  it("name the client that a trusted proxy names, and only then", async () => {
    const trusting = await startRig({ TRUST_PROXY: "loopback" });
    const headers = { "X-Forwarded-For": "203.0.113.9" };
    expect((await readEcho(await trusting.call("/api/me", { headers }))).headers["x-forwarded-for"]).toBe(
      "203.0.113.9",
    );
    expect((await readEcho(await rig.call("/api/me", { headers }))).headers["x-forwarded-for"]).toBe(
      "127.0.0.1",
    );
    await trusting.stop();
  });

  // docs/operations.md, "Whose word counts": through a proxy that adds who has connected to it to what it was told.
  it.each([
    [
      "of an app's server that is trusted",
      "loopback,203.0.113.7",
      "198.51.100.9, 203.0.113.7",
      "198.51.100.9",
    ],
    [
      "of such a server, named with the port of its connection",
      "loopback,203.0.113.7",
      "198.51.100.9, 203.0.113.7:51234",
      "198.51.100.9",
    ],
    ["who claims another address", "loopback,203.0.113.7", "203.0.113.66, 198.51.100.9", "198.51.100.9"],
    [
      "as that server where the proxy alone is trusted",
      "loopback",
      "198.51.100.9, 203.0.113.7",
      "203.0.113.7",
    ],
    ["as that server where one proxy is counted", "1", "198.51.100.9, 203.0.113.7", "203.0.113.7"],
    ["as claimed where two proxies are counted", "2", "203.0.113.66, 198.51.100.9", "203.0.113.66"],
  ])("name the client %s", async (_case, TRUST_PROXY, told, named) => {
    const trusting = await startRig({ TRUST_PROXY });
    rigs.push(trusting);
    const echo = await readEcho(await trusting.call("/api/me", { headers: { "X-Forwarded-For": told } }));
    expect(echo.headers["x-forwarded-for"]).toBe(named);
  });
});

describe("response headers", () => {
  it("leave cookies, software names and foreign addresses behind", async () => {
    rig.upstream.on("POST /posts", (_arrived, response) => {
      response.writeHead(201, {
        "Set-Cookie": ["a=b", "c=d"],
        Server: "secret/1",
        "X-Powered-By": "secret",
        "X-Internal": "10.0.0.1",
        "Access-Control-Allow-Origin": "*",
        "X-Correlation-ID": "of-the-upstream",
        Location: "https://evil.com/api/x",
        ETag: '"1"',
        "Content-Type": "application/json",
        Vary: "Accept",
      });
      response.end("{}");
    });
    const response = await rig.call("/api/posts", {
      method: "POST",
      headers: { "X-Correlation-ID": "mine" },
    });
    expect(response.status).toBe(201);
    for (const name of ["set-cookie", "server", "x-powered-by", "x-internal", "location"]) {
      expect([name, response.headers.get(name)]).toEqual([name, null]);
    }
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("x-correlation-id")).toBe("mine");
    expect(response.headers.get("etag")).toBe('"1"');
    expect(response.headers.get("vary")).toBe("Origin, Accept");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("keep the address of a new record", async () => {
    rig.upstream.on("POST /posts", (_arrived, response) => {
      response.writeHead(201, { Location: "/api/posts/1" }).end("{}");
    });
    const response = await rig.call("/api/posts", { method: "POST" });
    expect(response.headers.get("location")).toBe("/api/posts/1");
  });

  it("and the page of an error that is no word of the data service are not passed on", async () => {
    rig.upstream.on("GET /posts", (_arrived, response) => {
      response.writeHead(503, { "Content-Type": "text/html", Server: "balancer", "Retry-After": "3" });
      response.end("<p>no upstream at 10.0.3.7</p>");
    });
    const response = await rig.call("/api/posts");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "3"]);
    expect((await readError(response)).error).toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      path: "/api/posts",
    });
    expect(response.headers.get("server")).toBe(null);
  });

  it.each([404, 502])(
    "of a balancer that says %i in JSON are not passed on, nor is what it says",
    async (status) => {
      rig.upstream.on("GET /posts", foreignJson(status));
      const response = await rig.call("/api/posts");
      const { error, message } = await readError(response);
      expect([response.status, error.code, message]).toEqual([
        ...[502, "BAD_GATEWAY"],
        "The data service gave no valid answer.",
      ]);
    },
  );

  it.each([
    ["/api/me", 200],
    ["/api/nothing/here", 404],
    ["/healthz", 200],
    ["/nowhere", 404],
    ["/api/%2e%2e/x", 400],
  ])("carry the security headers on %s (%d)", async (path, status) => {
    rig.upstream.on("GET /nothing/here", json(404, {}));
    const answer = await sendRaw(rig.url, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(statuses(answer)).toEqual([status]);
    for (const line of [
      "X-Content-Type-Options: nosniff",
      "Referrer-Policy: no-referrer",
      "Cross-Origin-Opener-Policy: same-origin",
      "Cross-Origin-Resource-Policy: same-origin",
      "Content-Security-Policy: default-src 'self';",
      "frame-ancestors 'none'",
      "X-Correlation-ID: ",
    ]) {
      expect(answer).toContain(line);
    }
    expect(answer).not.toMatch(/X-Powered-By|Strict-Transport-Security|unsafe-inline/);
  });
});

describe("CORS", () => {
  it("with credentials is for listed origins only", async () => {
    const listed = await rig.call("/api/me", { headers: { Origin: OTHER_ORIGIN } });
    expect(listed.headers.get("access-control-allow-origin")).toBe(OTHER_ORIGIN);
    expect(listed.headers.get("access-control-allow-credentials")).toBe("true");
    for (const Origin of ["https://evil.com", "null", `${OTHER_ORIGIN}.evil.com`]) {
      const response = await rig.call("/api/me", { headers: { Origin } });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect(response.headers.get("vary")).toContain("Origin");
    }
  });

  it("answers a preflight itself", async () => {
    const preflight = (Origin: string): Promise<Response> =>
      rig.call("/api/posts", {
        method: "OPTIONS",
        headers: { Origin, "Access-Control-Request-Method": "PATCH" },
      });
    const listed = await preflight(OTHER_ORIGIN);
    expect(listed.status).toBe(204);
    expect(listed.headers.get("access-control-allow-methods")).toContain("PATCH");
    expect(listed.headers.get("access-control-max-age")).toBe("600");
    const headers = listed.headers.get("access-control-allow-headers")?.split(", ");
    expect(headers).toEqual(
      expect.arrayContaining([
        "Authorization",
        "If-Match",
        "If-Range",
        "Last-Event-ID",
        "traceparent",
        "tracestate",
      ]),
    );
    const foreign = await preflight("https://evil.com");
    for (const name of ["allow-methods", "max-age"])
      expect(foreign.headers.get(`access-control-${name}`)).toBeNull();
    expect(rig.upstream.heads).toEqual([]);
  });
});

describe("bytes", () => {
  it("arrive as they were sent: duplicate keys, odd blanks, invalid UTF-8", async () => {
    const body = Buffer.concat([
      Buffer.from('{"a":1,  "a":2,\t"b":"'),
      Buffer.from([0xff, 0xfe, 0x00]),
      Buffer.from('"}'),
    ]);
    await rig.call("/api/posts", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    expect(rig.upstream.last().body.equals(body)).toBe(true);
  });

  it("stream both ways without being collected", async () => {
    rig.upstream.onHead("POST /stream", (request, response) => {
      response.writeHead(200);
      request.pipe(response);
    });
    const socket = await openSocket(rig.url);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.write("POST /api/stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    await until(
      () => received,
      (text) => text.includes("first"),
    );
    socket.write("6\r\nsecond\r\n0\r\n\r\n");
    await until(
      () => received,
      (text) => text.includes("second") && text.endsWith("0\r\n\r\n"),
    );
    socket.destroy();
  });

  it("come back large and whole", async () => {
    const large = randomBytes(5_000_000);
    rig.upstream.on("GET /large", (_arrived, response) => response.end(large));
    const response = await rig.call("/api/large");
    expect(Buffer.from(await response.arrayBuffer()).equals(large)).toBe(true);
  });

  it("travel over kept-alive connections", async () => {
    for (let i = 0; i < 5; i++) await (await rig.call("/api/me")).text();
    expect(rig.upstream.connectionCount()).toBe(1);
  });
});

/** A file of the stand-in, which answers the tag that it is asked with. */
function serveFile(content: { etag: string; body: string }, extra: Record<string, string> = {}) {
  rig.upstream.on("GET /assets/1", ({ headers }, response) => {
    const head = { ETag: content.etag, "Cache-Control": "private, no-cache", ...extra };
    if (headers["if-none-match"] === content.etag) return void response.writeHead(304, head).end();
    response.writeHead(200, { ...head, "Content-Type": "image/png", "Content-Length": content.body.length });
    response.end(content.body);
  });
}

describe("a small file", () => {
  const LARGE = "x".repeat(200_000);

  it("that has passed by comes from memory once the data service says that it is the same", async () => {
    serveFile({ etag: '"a"', body: LARGE });
    const first = await rig.call("/api/assets/1");
    expect([first.status, await first.text()]).toEqual([200, LARGE]);
    serveFile({ etag: '"a"', body: "never sent" }, { "Content-Disposition": "inline; filename=new.png" });
    const second = await rig.call("/api/assets/1");
    expect([second.status, await second.text()]).toEqual([200, LARGE]);
    expect(rig.upstream.last().headers["if-none-match"]).toBe('"a"');
    expect(Object.fromEntries(second.headers)).toMatchObject({
      etag: '"a"',
      "content-type": "image/png",
      "content-length": "200000",
      "content-disposition": "inline; filename=new.png",
      "cache-control": "private, no-cache",
    });
  });

  it("is refused to who may not have it, though others had it", async () => {
    serveFile({ etag: '"a"', body: LARGE });
    await (await rig.call("/api/assets/1")).text();
    rig.upstream.on("GET /assets/1", json(404, { success: false, statusCode: 404 }));
    const answer = await rig.call("/api/assets/1");
    expect([answer.status, await answer.json()]).toEqual([404, { success: false, statusCode: 404 }]);
  });

  it("that has become another one comes new, now and later", async () => {
    serveFile({ etag: '"a"', body: "old" });
    await (await rig.call("/api/assets/1")).text();
    serveFile({ etag: '"b"', body: "new" });
    const texts = [];
    for (let at = 0; at < 2; at++) texts.push(await (await rig.call("/api/assets/1")).text());
    expect([texts, rig.upstream.last().headers["if-none-match"]]).toEqual([["new", "new"], '"b"']);
  });

  it("that the client has is left to the client", async () => {
    serveFile({ etag: '"a"', body: "abc" });
    await (await rig.call("/api/assets/1")).text();
    const answer = await rig.call("/api/assets/1", { headers: { "if-none-match": '"a"' } });
    expect([answer.status, await answer.text()]).toEqual([304, ""]);
  });

  it("that was cut off is not kept", async () => {
    rig.upstream.on("GET /assets/1", (_arrived, response) => {
      response.writeHead(200, { ETag: '"a"', "Content-Type": "image/png", "Content-Length": "6" });
      response.write("abc", () => response.destroy());
    });
    await expect(rig.call("/api/assets/1").then((answer) => answer.text())).rejects.toThrow();
    await rig.call("/api/assets/1").catch(() => {});
    expect(rig.upstream.last().headers["if-none-match"]).toBeUndefined();
  });

  it("keeps its condition when the token is renewed", async () => {
    serveFile({ etag: '"a"', body: LARGE });
    await (await rig.call("/api/assets/1")).text();
    const asked: (string | undefined)[] = [];
    rig.upstream.on("POST /auth/refresh-token", grants(accessToken(), "svc_rt_2"));
    rig.upstream.on("GET /assets/1", ({ headers }, response) => {
      asked.push(headers["if-none-match"]);
      if (asked.length > 1) return void response.writeHead(304, { ETag: '"a"' }).end();
      const challenge = { "WWW-Authenticate": 'Bearer error="invalid_token"' };
      response.writeHead(401, { ...challenge, "Content-Type": "application/json" }).end("{}");
    });
    const cookie = cookies({ accessToken: accessToken(), refreshToken: "svc_rt_1" });
    const answer = await rig.call("/api/assets/1", { headers: { cookie } });
    expect([answer.status, await answer.text(), asked]).toEqual([200, LARGE, ['"a"', '"a"']]);
  });
});

describe("body size", () => {
  const post = (body: BodyInit, path = "/api/posts", type = "application/json"): Promise<Response> =>
    rig.call(path, { method: "POST", body, headers: { "Content-Type": type }, duplex: "half" });
  const chunked = (bytes: number): ReadableStream => {
    let left = bytes;
    return new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(Math.min(left, 8192)));
        left -= 8192;
        if (left <= 0) controller.close();
      },
    });
  };

  it("over the limit is refused by its Content-Length, before anything is forwarded", async () => {
    const response = await post("x".repeat(65_537));
    expect(response.status).toBe(413);
    expect((await readError(response)).error).toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      path: "/api/posts",
    });
    expect(rig.upstream.heads).toEqual([]);
  });

  it("is not what is wrong with a file at an address that takes none", async () => {
    const response = await post("x".repeat(100_000), "/api/posts", "multipart/form-data; boundary=x");
    expect([response.status, (await readError(response)).message]).toEqual([
      415,
      "Send the body as application/json.",
    ]);
  });

  it("is counted where no length is given", async () => {
    expect((await post(chunked(65_536))).status).toBe(200);
    rig.upstream.forget();
    const response = await post(chunked(100_000));
    expect(response.status).toBe(413);
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("refused early does not keep a client that goes on sending for ever", async () => {
    const strict = await startRig({}, { lingerMs: 200 });
    strict.upstream.onHead("POST /refuses", (request, response) => {
      request.resume();
      response.writeHead(403, { "Content-Type": "application/json" }).end("{}");
    });
    for (const [path, length, status] of [
      ["/api/posts", 100_000, 413],
      ["/api/refuses", 60_000, 403],
    ]) {
      const socket = await openSocket(strict.url);
      let received = "";
      socket
        .on("error", () => {})
        .on("data", (chunk) => {
          received += chunk;
        });
      let closed = false;
      socket.once("close", () => {
        closed = true;
      });
      const head = `Host: a\r\nContent-Type: application/json\r\nContent-Length: ${length}`;
      socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\nbegun`);
      await until(
        () => statuses(received),
        ([first]) => first === status,
      );
      await until(() => closed);
    }
    await strict.stop();
  });

  it("may reach the upload limit on the upload routes", async () => {
    const type = "multipart/form-data; boundary=x";
    expect((await post("x".repeat(100_000), "/api/svc_file", type)).status).toBe(200);
    expect((await post("x".repeat(100_000), "/api/svc_file")).status).toBe(413);
  });

  it("over the upload limit is refused by the name of what the setting allows", async () => {
    const small = await startRig({ UPLOAD_MAX_BYTES: "2048" });
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    for (const body of ["x".repeat(70_000), chunked(70_000)]) {
      const response = await small.call("/api/svc_file", { method: "POST", body, headers, duplex: "half" });
      expect([response.status, (await readError(response)).message]).toEqual([
        413,
        "file: must have at most 2048 bytes, and the rest of the body 65536",
      ]);
    }
    await small.stop();
  });
});

describe("a data service that misbehaves", () => {
  it("and is down gives 502 with the error body and no inside address", async () => {
    await rig.upstream.close();
    const response = await rig.call("/api/posts?x=1", { headers: { "X-Correlation-ID": "c-1" } });
    expect(response.status).toBe(502);
    const body = await readError(response);
    expect(body.error).toMatchObject({ code: "BAD_GATEWAY", path: "/api/posts", correlationId: "c-1" });
    expect(JSON.stringify(body)).not.toMatch(/127\.0\.0\.1|ECONNREFUSED/);
  });

  it("and is there is not taken for down by a gateway that was held up itself", async () => {
    const hasty = await startRig({}, { connectTimeoutMs: 20 });
    rigs.push(hasty);
    // At once after a connection was begun, and whoever began it knows of it.
    const holdUp = (): void => process.nextTick(() => process.nextTick(busy, 100));
    const busy = (milliseconds: number): void => {
      const end = performance.now() + milliseconds;
      while (performance.now() < end);
    };
    subscribe("net.client.socket", holdUp);
    // More than there may be connections already.
    const calls = Array.from({ length: 8 }, () => hasty.call("/api/posts?x=1"));
    const answers = await Promise.all(calls).finally(() => unsubscribe("net.client.socket", holdUp));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it("and is down gives 502 to a request with a body, too", async () => {
    await rig.upstream.close();
    const response = await rig.call("/api/posts", { method: "POST", body: "x".repeat(60_000) });
    expect(response.status).toBe(502);
    const { message, error } = await readError(response);
    expect([message, error.details]).toEqual(["The data service can not be reached.", undefined]);
  });

  it("and is down gives 502 to a client that has not begun with its body, and reads on", async () => {
    await rig.upstream.close();
    const socket = await openSocket(rig.url);
    let received = "";
    socket.on("error", () => {}).on("data", (chunk) => (received += chunk));
    const type = "Content-Type: multipart/form-data; boundary=x";
    socket.write(`POST /api/svc_file HTTP/1.1\r\nHost: a\r\n${type}\r\nContent-Length: 200000\r\n\r\n`);
    await until(
      () => statuses(received),
      ([first]) => first === 502,
    );
    for (let at = 0; at < 10; at++) {
      socket.write("x".repeat(20_000));
      await delay(20);
    }
    socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(
      () => statuses(received),
      ([, second]) => second === 200,
    );
    socket.destroy();
  });

  it("and dies in mid-body breaks the transfer: never a short answer that looks whole", async () => {
    rig.upstream.on("GET /dies", (_arrived, response) => {
      response.writeHead(200, { "Content-Length": "1000", "Content-Type": "application/json" });
      response.write('{"data":[]}');
      setTimeout(() => response.destroy(), 50);
    });
    rig.upstream.on("GET /dies-chunked", (_arrived, response) => {
      response.write('{"data":[]}');
      setTimeout(() => response.destroy(), 50);
    });
    for (const path of ["/api/dies", "/api/dies-chunked"]) {
      const response = await rig.call(path);
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
    }
  });

  it("and sends a small answer bit by bit has it passed on as it comes", async () => {
    let rest = (): void => {};
    rig.upstream.on("GET /bits", (_arrived, response) => {
      response.setHeader("Content-Length", "10").write("12345");
      rest = () => void response.end("67890");
    });
    const response = await rig.call("/api/bits");
    expect(response.headers.get("content-length")).toBe("10");
    rest();
    expect(await response.text()).toBe("1234567890");
  });

  it("and dies between its head and its body has not answered, as far as the client knows", async () => {
    for (const method of ["GET", "POST"]) {
      rig.upstream.on(`${method} /headless`, (_arrived, response) => {
        const head = {
          "Content-Length": "50",
          "Content-Encoding": "gzip",
          "Content-Security-Policy": "sandbox",
        };
        response.writeHead(201, { ...head, Location: "/api/headless/1", ETag: '"1"' }).flushHeaders();
        setTimeout(() => response.destroy(), 5);
      });
      const response = await rig.call("/api/headless", { method });
      expect([response.status, (await readError(response)).error.details]).toEqual([
        502,
        method === "POST" ? { uncertain: true } : undefined,
      ]);
      // It is closed behind this, and no other request may be sent on it.
      expect(response.headers.get("connection")).toBe("close");
      for (const name of ["location", "etag", "content-encoding"])
        expect([name, response.headers.get(name)]).toEqual([name, null]);
      expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
  });

  it.each([
    [201, { uncertain: true }],
    [500, { uncertain: true }],
    [409, undefined],
  ])("and dies after a head that says %i has told whether a write was refused", async (status, details) => {
    const own = { "Content-Type": "application/json", "X-Correlation-ID": "a" };
    rig.upstream.onHead("POST /headless", (_request, response) => {
      response.writeHead(status, { "Content-Length": "50", ...own }).flushHeaders();
      setTimeout(() => response.destroy(), 5);
    });
    // The second has not sent all of its body.
    for (const length of [2, 20]) {
      const lines = ["Host: a", "Content-Type: application/json", `Content-Length: ${length}`];
      const head = `POST /api/headless HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
      const answer = await sendRaw(rig.url, `${head}{}`);
      expect(statuses(answer)).toEqual([502]);
      expect([length, JSON.parse(answer.split("\r\n\r\n")[1] ?? "").error.details]).toEqual([
        length,
        details,
      ]);
    }
  });

  it("and dies before its head gives 502", async () => {
    rig.upstream.on("POST /dies", (_arrived, response) => response.destroy());
    expect((await rig.call("/api/dies", { method: "POST", body: "x" })).status).toBe(502);
  });

  it("and does not say what has become of a write is a warning to whoever would send it again", async () => {
    const impatient = await startRig({}, { answerTimeoutMs: 300 });
    const { upstream } = impatient;
    for (const method of ["POST", "DELETE", "GET", "QUERY"]) {
      upstream.on(`${method} /dies`, (_arrived, response) => response.destroy());
      upstream.on(`${method} /hangs`, () => {});
      for (const status of [403, 502, 503]) upstream.on(`${method} /fronted/${status}`, html(status));
      upstream.on(`${method} /fronted/json`, foreignJson(502));
    }
    const told = async (path: string, init: RequestInit) => {
      const response = await impatient.call(path, init);
      const { message, error } = await readError(response);
      return [response.status, error.details, message];
    };
    const warned = "It may have been done, or still be done later: look before you send it again.";
    const json = { "Content-Type": "application/json" };
    const writes: RequestInit[] = [{ method: "POST", body: "{}", headers: json }, { method: "DELETE" }];
    for (const write of writes) {
      expect(await told("/api/dies", write)).toEqual([
        ...[502, { uncertain: true }],
        `The connection to the data service broke. ${warned}`,
      ]);
      expect(await told("/api/hangs", write)).toEqual([
        ...[504, { uncertain: true }],
        `The data service did not answer in time. ${warned}`,
      ]);
      for (const path of ["/api/fronted/502", "/api/fronted/json"])
        expect(await told(path, write)).toEqual([
          ...[502, { uncertain: true }],
          `The data service gave no valid answer. ${warned}`,
        ]);
      expect(await told("/api/fronted/503", write)).toEqual([
        ...[503, { uncertain: true }],
        `The service is not available at this moment. ${warned}`,
      ]);
      // Refused on the way, and never handed over.
      expect((await told("/api/fronted/403", write)).slice(0, 2)).toEqual([502, undefined]);
    }
    const override = { ...json, "X-HTTP-Method-Override": "QUERY" };
    const reads: RequestInit[] = [{}, { method: "POST", body: "{}", headers: override }];
    for (const read of reads) {
      expect((await told("/api/dies", read)).slice(0, 2)).toEqual([502, undefined]);
      expect((await told("/api/hangs", read)).slice(0, 2)).toEqual([504, undefined]);
    }
    await impatient.stop();
  });

  it("and redirects gives 502: nobody follows, nobody learns where", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      rig.upstream.on("GET /moved", (_arrived, response) => {
        response.writeHead(status, { Location: "https://evil.com/" }).end();
      });
      const response = await rig.call("/api/moved");
      expect(response.status).toBe(502);
      expect(response.headers.get("location")).toBeNull();
    }
    expect(rig.upstream.heads).toHaveLength(5);
  });

  it("and says that nothing changed is believed", async () => {
    rig.upstream.on("GET /cached", (_arrived, response) => response.writeHead(304, { ETag: '"1"' }).end());
    const response = await rig.call("/api/cached", { headers: { "If-None-Match": '"1"' } });
    expect(response.status).toBe(304);
    expect(response.headers.get("etag")).toBe('"1"');
  });

  it("and is silent gives 504, but may take its time over a body that has begun", async () => {
    const impatient = await startRig({}, { answerTimeoutMs: 300 });
    const { upstream } = impatient;
    upstream.on("GET /hangs", () => {});
    upstream.on("GET /slow", (_arrived, response) => {
      response.write("begun ");
      setTimeout(() => response.end("ended"), 600);
    });
    const started = Date.now();
    const response = await impatient.call("/api/hangs");
    expect(response.status).toBe(504);
    expect((await readError(response)).error.code).toBe("QUERY_TIMEOUT");
    expect(Date.now() - started).toBeLessThan(10_000);
    await until(() => upstream.connections.size, none);
    expect(await (await impatient.call("/api/slow")).text()).toBe("begun ended");
    await impatient.stop();
  });

  it("and takes long to store a file may do so, but not for ever", async () => {
    const impatient = await startRig({}, { answerTimeoutMs: 300, uploadTimeoutMs: 900 });
    let takesMs = 600;
    impatient.upstream.on("POST /svc_file", (_arrived, response) => {
      setTimeout(() => response.end("stored"), takesMs);
    });
    const send = (type: string) =>
      impatient.call("/api/svc_file", { method: "POST", body: "{}", headers: { "Content-Type": type } });
    const form = "multipart/form-data; boundary=x";
    expect((await send(form)).status).toBe(200);
    expect((await send("application/json")).status).toBe(504);
    takesMs = 3_000;
    expect((await send(form)).status).toBe(504);
    await impatient.stop();
  });

  it("and takes long with an imported file may take as long as the file moves", async () => {
    const limits = { bodyTimeouts: { jsonMs: 200, otherMs: 200 }, importTimeoutMs: 500 };
    const impatient = await startRig({}, limits);
    const send = (path: string, pauses: number, pauseMs = 300) => {
      let left = pauses;
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode("name\n"));
          left -= 1;
          if (left < 0) return controller.close();
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        },
      });
      const headers = { "Content-Type": "text/csv" };
      return impatient.call(path, { method: "POST", body, headers, duplex: "half" });
    };
    expect((await send("/api/posts/import", 3)).status).toBe(200);
    await expect(send("/api/posts", 3)).rejects.toThrow();

    const stuck = await send("/api/posts/import", 1, 1_500);
    expect([stuck.status, (await readError(stuck)).error.code]).toEqual([504, "QUERY_TIMEOUT"]);
    await impatient.stop();
  });

  it.each([200, 413])("and answers %s before it has read the body is passed on", async (status) => {
    rig.upstream.onHead("POST /svc_file", (request, response) => {
      response.writeHead(status, { "Content-Type": "application/json" }).end('{"early":true}');
      if (status === 413) request.resume();
    });
    for (let i = 0; i < 5; i++) {
      const response = await rig.call("/api/svc_file", {
        method: "POST",
        body: randomBytes(3_000_000),
        headers: { "Content-Type": "multipart/form-data; boundary=x" },
      });
      expect([response.status, await response.text()]).toEqual([status, '{"early":true}']);
    }
  });

  it("and closes an idle connection just as it is used again is asked once more, for reads only", async () => {
    let reads = 0;
    rig.upstream.on("GET /race", (_arrived, response, request) => {
      // The second request on the connection meets a server that has just closed it.
      if (++reads === 2) request.socket.destroy();
      else response.end("ok");
    });
    let writes = 0;
    rig.upstream.on("POST /race", (_arrived, _response, request) => {
      writes++;
      request.socket.destroy();
    });
    expect((await rig.call("/api/race")).status).toBe(200);
    expect((await rig.call("/api/race")).status).toBe(200);
    expect(reads).toBe(3);
    expect((await rig.call("/api/race", { method: "POST" })).status).toBe(502);
    expect(writes).toBe(1);
  });

  it("and fails again after that is not asked a third time", async () => {
    let failing = false;
    let failures = 0;
    rig.upstream.on("GET /race", (_arrived, response, request) => {
      if (!failing) setTimeout(() => response.end("ok"), 50);
      else {
        failures++;
        request.socket.destroy();
      }
    });
    // Several idle connections, so that the second try takes an old one, too.
    const warm = await Promise.all(Array.from({ length: 5 }, () => rig.call("/api/race")));
    await Promise.all(warm.map((response) => response.text()));
    failing = true;
    expect((await rig.call("/api/race")).status).toBe(502);
    expect(failures).toBe(2);
  });
});

describe("an answer whose body is long in the making", () => {
  it("shows its head as soon as the data service does", async () => {
    let finish = (): void => {};
    rig.upstream.on("GET /late", (_arrived, response) => {
      response.flushHeaders();
      finish = () => void response.end("all of it");
    });
    const response = await rig.call("/api/late");
    finish();
    expect([response.status, await response.text()]).toEqual([200, "all of it"]);
  });
});

describe("a client that leaves", () => {
  it("takes its upstream request with it, before and during the answer", async () => {
    rig.upstream.on("GET /waits", () => {});
    rig.upstream.on("GET /streams", (_arrived, response) => {
      const timer = setInterval(() => response.write("x".repeat(1000)), 5);
      response.once("close", () => clearInterval(timer));
    });
    for (const path of ["/waits", "/streams"]) {
      rig.upstream.forget();
      const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(rig.url)));
      for (const socket of sockets)
        socket.on("error", () => {}).write(`GET /api${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await until(
        () => rig.upstream.heads.length,
        (count) => count === 20,
      );
      for (const socket of sockets) socket.destroy();
      await until(() => rig.upstream.connections.size, none);
    }
  });

  it("while its session is refreshed asks for nothing any more", async () => {
    const leaving = new AbortController();
    let refreshed = (): void => {};
    const isRefreshed = new Promise<void>((resolve) => (refreshed = resolve));
    rig.upstream.on("POST /auth/refresh-token", (_arrived, response) => {
      leaving.abort();
      setTimeout(() => response.end(JSON.stringify(session(accessToken(), "svc_rt_2")), refreshed), 100);
    });
    const headers = { Cookie: cookies({ refreshToken: "svc_rt_1" }) };
    const init = { method: "DELETE", headers, signal: leaving.signal };
    await expect(rig.call("/api/posts/1", init)).rejects.toThrow();
    await isRefreshed;
    await delay(100);
    expect(rig.upstream.heads).toEqual(["POST /auth/refresh-token"]);
  });

  it("in the middle of its upload leaves nothing open", async () => {
    const socket = await openSocket(rig.url);
    socket.on("error", () => {});
    socket.write("POST /api/posts HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf");
    await until(
      () => rig.upstream.heads.length,
      (count) => count === 1,
    );
    socket.destroy();
    await until(() => rig.upstream.connections.size, none);
    expect(rig.upstream.arrived).toEqual([]);
  });
});

describe("answers of one caller", () => {
  it("are not mixed with another's under load", async () => {
    const callers = Array.from({ length: 100 }, (_, i) => accessToken({ name: `user-${i}` }));
    const echoes = await Promise.all(
      callers.map(async (token) =>
        readEcho(await rig.call("/api/me", { headers: { Cookie: cookies({ accessToken: token }) } })),
      ),
    );
    expect(echoes.map((echo) => echo.headers.authorization)).toEqual(
      callers.map((token) => `Bearer ${token}`),
    );
  });
});
