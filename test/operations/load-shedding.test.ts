// Overload: what is too much is refused at once, what was taken is finished, and health is always answered.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { cookies, type Rig, readError, startRig } from "../gateway/support/rig.js";
import { accessToken } from "../gateway/support/tokens.js";
import { json } from "../gateway/support/upstream.js";
import { signIn } from "../support/api.js";
import { startBehindProxy } from "../support/behind-proxy.js";
import { isReadOf, stopAt } from "../support/command-proxy.js";
import { openCursors } from "../support/slow-reader.js";
import { startStack } from "../support/stack.js";
import { until } from "../support/wait.js";
import { scrape, total } from "./prometheus.js";

describe("the gateway", () => {
  let rig: Rig;
  afterEach(() => rig.stop());

  it("takes no more requests at once than MAX_IN_FLIGHT", async () => {
    rig = await startRig({ MAX_IN_FLIGHT: "2" });
    rig.upstream.on("GET /readyz", json(200, { status: "ready" }));
    const held: (() => void)[] = [];
    const bothHeld = new Promise<void>((resolve) => {
      rig.upstream.on("GET /slow", (_arrived, response) => {
        held.push(() => response.end("done"));
        if (held.length === 2) resolve();
      });
    });
    const taken = [rig.call("/api/slow"), rig.call("/api/slow")];
    await bothHeld;

    const refused = await rig.call("/api/posts");
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect((await readError(refused)).error).toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      path: "/api/posts",
    });
    expect((await rig.call("/")).status).toBe(503);
    expect((await rig.call("/healthz")).status).toBe(200);
    expect((await rig.call("/readyz")).status).toBe(200);
    expect(rig.upstream.heads.filter((head) => head === "GET /posts")).toEqual([]);

    for (const finish of held) finish();
    for (const answer of taken) expect(await (await answer).text()).toBe("done");
    expect((await rig.call("/api/posts")).status).toBe(200);
  });

  it("gives no place to requests whose bodies are still coming, and cuts slow ones beyond half of as many", async () => {
    rig = await startRig({ MAX_IN_FLIGHT: "4" });
    const sending = await Promise.all(
      Array.from({ length: 12 }, () => unfinishedPost(rig.url, "/api/posts")),
    );
    await until(
      () => rig.upstream.heads.length,
      (count) => count === sending.length,
    );
    expect((await rig.call("/api/posts")).status).toBe(200);
    const left = () => sending.filter(({ destroyed }) => !destroyed);
    await until(
      () => left().length,
      (count) => count === 2,
    );
    for (const socket of left()) {
      const answer = once(socket, "data");
      socket.write("}");
      expect(String(await answer)).toMatch(/^HTTP\/1\.1 200 /);
      socket.destroy();
    }
  });

  it("gives no place to answers that clients are slow to read, and cuts those beyond half of as many", async () => {
    rig = await startRig({ MAX_IN_FLIGHT: "4" });
    rig.upstream.on("GET /big", (_arrived, response) => void response.end(LARGE));
    const slow = await Promise.all(
      Array.from({ length: 4 }, () => unreadAnswer(rig.url, "/api/big", ["Connection: close"])),
    );
    await until(
      () => rig.upstream.heads.length,
      (count) => count === slow.length,
    );
    // All places are free again.
    await until(
      () => Promise.all(slow.map(async () => (await rig.call("/api/posts")).status)),
      (statuses) => statuses.every((status) => status === 200),
    );
    const lengths = await Promise.all(slow.map(readToEnd));
    expect(lengths.filter((length) => length > LARGE.length)).toHaveLength(2);
  });

  it("gets its places back from clients that stop reading", async () => {
    rig = await startRig({ MAX_IN_FLIGHT: "2", ANSWER_STALL_MS: "3000" });
    let left = 0;
    rig.upstream.on("GET /big", (_arrived, response) => {
      response.once("close", () => {
        left += 1;
      });
      response.end(LARGE);
    });
    const idle = [await unreadAnswer(rig.url, "/api/big"), await unreadAnswer(rig.url, "/api/big")];
    expect(await firstStatus(rig, (status) => status === 503)).toBe(503);
    expect(await firstStatus(rig, (status) => status === 200)).toBe(200);
    await until(
      () => left,
      (count) => count === idle.length,
    );
    for (const socket of idle) socket.destroy();
  });

  it("lets no single connection take the places of all, whatever it sends at once", async () => {
    rig = await startRig();
    rig.upstream.on("GET /posts/changes", (_arrived, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).write("event: ready\n\n");
    });
    const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const { hostname, port } = new URL(rig.url);
    const socket = connect(Number(port), hostname);
    // No answer comes before the end of the first, which has none.
    socket.write(ask("/api/posts/changes") + ask("/api/posts").repeat(1_100));
    await Promise.race([once(socket, "data"), once(socket, "close")]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await rig.call("/api/posts")).status).toBe(200);
    socket.destroy();
  });

  it("does not count those who only listen for events, however long they do", async () => {
    rig = await startRig({ MAX_IN_FLIGHT: "2" });
    rig.upstream.on("GET /posts/changes", (_arrived, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).write("event: ready\n\n");
    });
    const leave = new AbortController();
    for (let at = 0; at < 5; at += 1) {
      const stream = await rig.call("/api/posts/changes", { signal: leave.signal });
      expect(stream.status).toBe(200);
      await until(
        async () => (await rig.call("/api/posts")).status,
        (status) => status === 200,
      );
    }
    leave.abort();
  });

  it("takes none while its event loop is far behind, and again afterwards", async () => {
    rig = await startRig({ MAX_EVENT_LOOP_DELAY_MS: "30" });
    let busy = true;
    const hog = (): void => {
      const until = performance.now() + 60;
      while (performance.now() < until);
      if (busy) setImmediate(hog);
    };
    hog();
    expect(await firstStatus(rig, (status) => status === 503)).toBe(503);
    expect((await rig.call("/healthz")).status).toBe(200);
    busy = false;
    expect(await firstStatus(rig, (status) => status === 200)).toBe(200);
  });
});

describe("a gateway with more waiting than is answered in time", () => {
  const MANY = 120;
  let rig: Rig;
  let answers: (() => void)[];
  /** Whose these headers are, as the data service says. */
  let clients: Map<string, string>;
  beforeEach(async () => {
    rig = await startRig({ MAX_WAIT_MS: "2000" });
    answers = [];
    rig.upstream.on("GET /slow", (_arrived, response) => answers.push(() => response.end("done")));
    rig.upstream.on("GET /stream", (_arrived, response) => {
      response.write("begun");
      answers.push(() => response.end("done"));
    });
    rig.upstream.on("POST /slow", (_arrived, response) => answers.push(() => response.end("done")));
    clients = new Map();
    rig.upstream.on("GET /posts", ({ headers }, response) => {
      const client = clients.get(headers.authorization ?? "");
      if (client !== undefined) response.setHeader("X-Portico-Client", client);
      response.end();
    });
  });
  afterEach(() => rig.stop());
  const ended = async (taken: readonly Promise<Response>[]): Promise<string[]> => {
    for (const answer of answers) answer();
    return Promise.all(taken.map(async (each) => (await each).text()));
  };
  const atOnce = (path: string): Promise<Response>[] => Array.from({ length: MANY }, () => rig.call(path));
  /** Many that wait are one client: another is still taken. */
  const refusesTheNextOf = async (one: (at: number) => HeadersInit, other: HeadersInit): Promise<void> => {
    const taken = Array.from({ length: MANY }, (_, at) => rig.call("/api/slow", { headers: one(at) }));
    await until(
      () => answers.length,
      (count) => count === MANY,
    );
    await waited();
    expect((await rig.call("/api/posts", { headers: other })).status).toBe(200);
    expect((await rig.call("/api/posts", { headers: one(MANY) })).status).toBe(503);
    await ended(taken);
  };
  const waited = () => new Promise((resolve) => setTimeout(resolve, 2_100));

  it("takes others while many wait for their passwords to be checked: those have a queue of their own", async () => {
    rig.upstream.on("POST /auth/login", (_arrived, response) => answers.push(() => response.end("{}")));
    const body = JSON.stringify({ email: "somebody@example.com", password: "a password" });
    const headers = { "Content-Type": "application/json" };
    const taken = Array.from({ length: MANY }, () =>
      rig.call("/api/auth/login", { method: "POST", body, headers }),
    );
    await until(
      () => answers.length,
      (count) => count === MANY,
    );
    await waited();
    expect((await rig.call("/api/posts")).status).toBe(200);
    // Nobody waits for a password that long.
    await waited();
    await waited();
    expect((await rig.call("/api/posts")).status).toBe(503);
    expect(new Set(await ended(taken))).toEqual(new Set(["{}"]));
  });

  it("refuses the next, finishes what it has taken, and takes again", async () => {
    const taken = atOnce("/api/slow");
    await until(
      () => answers.length,
      (count) => count === MANY,
    );
    await waited();
    const refused = await rig.call("/api/posts");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
    expect((await rig.call("/healthz")).status).toBe(200);
    expect(new Set(await ended(taken))).toEqual(new Set(["done"]));
    expect((await rig.call("/api/posts")).status).toBe(200);
  });

  /** A token of this user, found good. */
  const proved = async (token: string, client: string): Promise<{ readonly Authorization: string }> => {
    const headers = { Authorization: `Bearer ${token}` };
    clients.set(headers.Authorization, client);
    expect((await rig.call("/api/posts", { headers })).status).toBe(200);
    return headers;
  };

  it.each<[string, () => Promise<HeadersInit>, () => Promise<HeadersInit>]>([
    ["by a header", () => proved("one", "one"), () => proved("another", "another")],
    ["by cookies", () => signedIn("one"), () => signedIn("another")],
    ["by a header, of one without", () => proved("one", "one"), async () => ({})],
  ])(
    "refuses the next of a client that has all of these, and takes those of others: %s",
    async (_how, oneSignsIn, otherSignsIn) => {
      const [one, other] = [await oneSignsIn(), await otherSignsIn()];
      const taken = Array.from({ length: MANY }, () => rig.call("/api/slow", { headers: one }));
      await until(
        () => answers.length,
        (count) => count === MANY,
      );
      await waited();
      expect((await rig.call("/api/posts", { headers: other })).status).toBe(200);
      expect((await rig.call("/api/posts", { headers: one })).status).toBe(503);
      await ended(taken);
    },
  );

  /** As a browser sends the cookies of a session of this user. */
  const signedIn = async (name: string): Promise<{ readonly Cookie: string }> => {
    const token = accessToken({ name });
    await proved(token, name);
    return withCookies(token, name);
  };
  const good = accessToken();

  it.each<[string, (at: number) => HeadersInit]>([
    ["headers", (at) => ({ Authorization: `Bearer made-up-${at}` })],
    ["tokens of users", (at) => ({ Authorization: `Bearer ${accessToken({ name: `made-up-${at}` })}` })],
    ["cookies", (at) => ({ Cookie: cookies({ accessToken: `made-up-${at}` }) })],
    ["cookies beside good ones", (at) => withCookies(good, `made-up-${at}`)],
  ])("takes no made-up credentials for clients of their own: %s", async (_which, madeUp) => {
    const quiet = await proved("quiet", "quiet");
    await proved(good, "ann");
    await refusesTheNextOf(madeUp, quiet);
  });

  it("takes all tokens of a user for one client: of sessions, and API tokens", async () => {
    const quiet = await proved("quiet", "quiet");
    const tokens = Array.from({ length: MANY + 1 }, (_, at) =>
      at % 2 ? accessToken({ expiresIn: 900 + at }) : `api-token-${at}`,
    );
    for (const token of tokens) await proved(token, "ann");
    await refusesTheNextOf((at) => ({ Authorization: `Bearer ${tokens[at]}` }), quiet);
  });

  it("takes no token for good that the data service did not find good, whatever it answers", async () => {
    const quiet = await proved("quiet", "quiet");
    const madeUp = (at: number) => ({ Authorization: `Bearer made-up-${at}` });
    for (let at = 0; at < MANY; at += 1) {
      expect((await rig.call("/api/posts", { headers: madeUp(at) })).status).toBe(200);
    }
    await refusesTheNextOf(madeUp, quiet);
  });

  it("takes a burst whole", async () => {
    const taken = [...atOnce("/api/slow"), ...atOnce("/api/slow")];
    await until(
      () => answers.length,
      (count) => count === 2 * MANY,
    );
    expect(new Set(await ended(taken))).toEqual(new Set(["done"]));
  });

  it("does not count answers that have begun", async () => {
    const taken = atOnce("/api/stream");
    await Promise.all(taken);
    await waited();
    expect((await rig.call("/api/posts")).status).toBe(200);
    expect(new Set(await ended(taken))).toEqual(new Set(["begundone"]));
  });

  it("does not count bodies that are still coming", async () => {
    const held = await Promise.all(Array.from({ length: MANY }, () => unfinishedPost(rig.url, "/api/slow")));
    await until(
      () => rig.upstream.heads.length,
      (count) => count >= MANY,
    );
    await waited();
    expect((await rig.call("/api/posts")).status).toBe(200);
    for (const socket of held) socket.destroy();
  });
});

describe("the data service", () => {
  it("takes no more requests at once than MAX_IN_FLIGHT, and counts those it refused", async () => {
    const { stack, proxy, stop } = await startBehindProxy(undefined, { MAX_IN_FLIGHT: "2" });
    const { dataUrl } = stack;
    const root = await signIn(dataUrl, stack.admin);
    await root.post("/svc_table", { name: "notes", columns: [{ name: "text", type: "text" }] });
    const isRead = isReadOf("notes");
    const first = await stopAt(proxy, isRead, () => root.get("/notes?limit=1"));
    const second = await stopAt(proxy, isRead, () => root.get("/notes?limit=2"));
    const refused = await fetch(`${dataUrl}/posts`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
    expect((await readError(refused)).error.code).toBe("SERVICE_UNAVAILABLE");
    // What the gateway hears, its client hears.
    const through = await fetch(`${stack.appUrl}/api/posts`);
    expect([through.status, through.headers.get("retry-after")]).toEqual([503, "2"]);
    for (const path of ["/healthz", "/readyz"]) expect((await fetch(dataUrl + path)).status).toBe(200);
    const samples = await scrape(`${dataUrl}/metrics`);
    expect(total(samples, "portico_shed_requests_total", { reason: "in_flight" })).toBe(2);

    for (const { goOn, answer } of [first, second]) {
      goOn();
      expect((await answer).status).toBe(200);
    }
    expect((await fetch(`${dataUrl}/posts`)).status).not.toBe(503);
    await stop();
  });
});

describe("a data service whose clients stop reading", () => {
  it("gets its places back, and lets go of their cursors", async () => {
    const stack = await startStack({ env: { MAX_IN_FLIGHT: "2", ANSWER_STALL_MS: "4000" } });
    const root = await signIn(stack.dataUrl, stack.admin);
    await root.post("/svc_table", { name: "big", columns: [{ name: "text", type: "text" }] });
    const text = "x".repeat(10_000);
    for (let part = 0; part < 20; part += 1)
      await root.post(
        "/big",
        Array.from({ length: 100 }, () => ({ text })),
      );
    const { body } = await root.post("/auth/login", stack.admin);
    const caller = [`Authorization: Bearer ${body.accessToken}`];
    const idle: Socket[] = [];
    const ask = async () => (await root.get("/big?limit=1")).status;
    // One after the other: a place may still be taken by what was asked before, and then is free again.
    await until(
      async () => {
        idle.push(await unreadAnswer(stack.dataUrl, "/big?limit=0", caller));
        return ask();
      },
      (status) => status === 503,
    );
    await until(ask, (status) => status === 200);
    const client = await MongoClient.connect(stack.mongodbUrl);
    await until(
      () => openCursors(client),
      ({ length }) => length === 0,
    );
    await client.close();
    for (const socket of idle) socket.destroy();
    await stack.stop();
  });
});

/** The first status that is as wanted. */
function firstStatus(rig: Rig, isWanted: (status: number) => boolean): Promise<number> {
  const ask = async (): Promise<number> => {
    const response = await rig.call("/api/posts");
    await response.text();
    return response.status;
  };
  return until(ask, isWanted);
}

function withCookies(accessToken: string, refreshToken: string): { readonly Cookie: string } {
  return { Cookie: cookies({ accessToken, refreshToken }) };
}

/** More than the buffers between two processes hold. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, "x");

/** A request whose answer is not read. */
async function unreadAnswer(url: string, path: string, headers: readonly string[] = []): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  await once(socket, "connect");
  socket.pause().write(`${[`GET ${path} HTTP/1.1`, "Host: a", ...headers].join("\r\n")}\r\n\r\n`);
  return socket;
}

/** Reads to the end of the connection. @returns how much came */
async function readToEnd(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("data", (piece: Buffer) => {
    bytes += piece.length;
  });
  const closed = once(socket, "close");
  socket.resume();
  await closed;
  return bytes;
}

/** A request whose body lacks its last byte. */
async function unfinishedPost(url: string, path = "/posts"): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const head = [`POST ${path} HTTP/1.1`, "Host: a", "Content-Type: application/json", "Content-Length: 2"];
  socket.write(`${head.join("\r\n")}\r\n\r\n{`);
  return socket;
}
