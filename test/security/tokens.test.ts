// Every recipe of corpora/jwt-bad.json that needs no later feature: none but the controls is let in.
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apiOf, asAdmin } from "../support/api.js";
import { loggedByNow } from "../support/process-facts.js";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";
import { type Facts, forge, type Step } from "./forge.js";

interface Recipe {
  readonly id: string;
  readonly why: string;
  readonly steps: readonly Step[];
  readonly present: string;
  readonly expect: number | readonly number[];
}

/** Recipes that can't be carried out yet, or that the contract overrules. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  J004: "contract/auth/keys rotates; here the recipes forge with the one key they know",
  J076: "contract 1 lets trusted internal services call the data service with a Bearer token",
  J078: "security row A21, in oauth.test.ts",
  J091: "10,000 requests a second belong to a load run",
};

/** A head that is too large never becomes a request; 400 is the contract's status for that. */
const TOO_LARGE = ["J038", "J090"];

const file = join(projectRoot, "test/corpora/jwt-bad.json");
const recipes = (JSON.parse(readFileSync(file, "utf8")) as { cases: Recipe[] }).cases;
const ANN = { email: "ann@example.com", password: "ann's password" };
const { privateKey } = generateKeyPairSync("ed25519");

let stack: Stack;
let facts: Facts;
let trap: Server;
let trapped = 0;

beforeAll(async () => {
  trap = createServer((_request, response) => {
    trapped += 1;
    response.end("{}");
  }).listen(0, "127.0.0.1");
  const jwk = JSON.stringify(privateKey.export({ format: "jwk" }));
  stack = await startStack({ env: { AUTH_PRIVATE_KEY: jwk } });
  const admin = await asAdmin(stack);
  const userId = (await admin.post("/svc_user", ANN)).body.data[0].id;
  const other = await logIn(stack.admin);
  const { sub, sid } = JSON.parse(Buffer.from(other.split(".")[1] ?? "", "base64url").toString());
  const { port } = trap.address() as AddressInfo;
  facts = {
    serverKey: privateKey,
    userId,
    adminId: sub,
    otherSessionId: sid,
    jku: `http://127.0.0.1:${port}/jwks.json`,
  };
});

afterAll(async () => {
  trap.close();
  await stack.stop();
});

async function logIn(credentials: object): Promise<string> {
  return (await apiOf(`${stack.appUrl}/api`).post("/auth/login", credentials)).body.accessToken;
}

interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** GET with these header lines, byte for byte; no client would send some of them. */
function get(path: string, lines: readonly string[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(stack.gateway.url);
  const request = [`GET ${path} HTTP/1.1`, `Host: localhost:${port}`, ...lines, "Connection: close", "", ""];
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(Number(port), hostname, () => socket.write(request.join("\r\n"), "latin1"));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    // A server that refuses a head half-way may cut the connection after its answer.
    socket.on("error", () => {});
    socket.on("close", () => {
      const [head = "", body = ""] = received.split("\r\n\r\n");
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), head: head.toLowerCase(), body });
    });
  });
}

/** Presents a token the way the recipe says. */
function present({ id }: Recipe, token: string, valid: string): Promise<RawAnswer> {
  if (id === "J084")
    return get("/api/me", ["Authorization: Bearer broken", `Authorization: Bearer ${token}`]);
  if (id === "J086") return get(`/api/me?access_token=${token}`, []);
  if (id === "J087") return get("/api/me", [`Cookie: accessToken=${valid}`, "Authorization: Bearer broken"]);
  return get("/api/me", [`Authorization: Bearer ${token}`]);
}

function expectRefusal({ id }: Recipe, { head, body }: RawAnswer): void {
  const { error, ...rest } = JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1));
  const code = id === "J086" ? "UNAUTHORIZED" : expect.stringMatching(/^(INVALID_TOKEN|TOKEN_EXPIRED)$/);
  expect([rest.success, error.code]).toEqual([false, code]);
  expect(head).toMatch(/\r\ncontent-type: application\/json/);
  expect(head).toMatch(/\r\ncache-control: no-store/);
  if (id !== "J084")
    expect(head).toMatch(id === "J086" ? /www-authenticate: bearer/ : /error="invalid_token"/);
  expect(head).not.toMatch(/\r\nset-cookie/);
}

describe("the corpus", () => {
  it("has a reason for every recipe that is left out, and leaves out nothing else", () => {
    const ids = recipes.map(({ id }) => id);
    expect(ids.length).toBe(55);
    expect(Object.keys(LEFT_OUT).filter((id) => !ids.includes(id))).toEqual([]);
  });
});

describe("a token", () => {
  const runnable = recipes.filter(({ id }) => LEFT_OUT[id] === undefined);

  it.each(runnable.map((recipe): [string, string, Recipe] => [recipe.id, recipe.why, recipe]))(
    "%s: %s",
    async (id, _why, recipe) => {
      const valid = await logIn(ANN);
      const tokens = await forge(valid, recipe.steps, facts);
      if (recipe.steps.some(({ op }) => op === "logoutAfterTake")) {
        await apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${valid}` }).post("/auth/logout", {});
      }
      const allowed = [recipe.expect, TOO_LARGE.includes(id) ? 400 : []].flat();
      for (const token of tokens) {
        const answer = await present(recipe, token, valid);
        expect(allowed).toContain(answer.status);
        if (answer.status === 401) expectRefusal(recipe, answer);
        expect(await loggedByNow(stack)).not.toContain(token.slice(0, 200));
      }
    },
  );

  it("that points to keys elsewhere makes nobody ask there", () => {
    expect(trapped).toBe(0);
  });

  it("that is refused for its signature is refused in the same words as one refused for its claims", async () => {
    const valid = await logIn(ANN);
    const spoil: Step[][] = [
      [{ op: "flipSigBit" }],
      [
        { op: "deletePayload", name: "aud" },
        { op: "sign", alg: "KEEP", key: "SERVER_KEY" },
      ],
      [
        { op: "setPayload", sid: "OTHER_USER_SID" },
        { op: "sign", alg: "KEEP", key: "SERVER_KEY" },
      ],
      [
        { op: "setHeader", kid: "nope" },
        { op: "sign", alg: "KEEP", key: "SERVER_KEY" },
      ],
    ];
    const texts = await Promise.all(
      spoil.map(async (steps) => {
        const [token = ""] = await forge(valid, steps, facts);
        const { body } = await apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` }).get("/me");
        const { timestamp: _time, correlationId: _id, ...error } = body.error;
        return JSON.stringify({ ...body, error });
      }),
    );
    expect(new Set(texts).size).toBe(1);
  });

  it("of one kind is no token of the other: a refresh token is no Bearer, an access token refreshes nothing", async () => {
    const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", ANN);
    const asBearer = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${body.refreshToken}` });
    expect((await asBearer.get("/me")).status).toBe(401);
    const refreshed = await asBearer.post("/auth/refresh-token", { refreshToken: body.accessToken });
    expect(refreshed.status).toBe(401);
  });

  it("that has expired says so, and only when it was ours", async () => {
    const valid = await logIn(ANN);
    const expired: Step = { op: "setPayload", exp: "NOW-3600", iat: "NOW-4000" };
    const codes = [];
    for (const key of ["SERVER_KEY", "EVIL"]) {
      const [token = ""] = await forge(valid, [expired, { op: "sign", alg: "ES256", key }], facts);
      const { body } = await apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` }).get("/me");
      codes.push(body.error.code);
    }
    expect(codes).toEqual(["TOKEN_EXPIRED", "INVALID_TOKEN"]);
  });

  it("that is bad or has expired logs nobody out", async () => {
    const valid = await logIn(ANN);
    const expired: Step = { op: "setPayload", exp: "NOW-3600", iat: "NOW-4000" };
    const steps: Step[] = [expired, { op: "sign", alg: "ES256", key: "SERVER_KEY" }];
    const codes = [];
    for (const token of [...(await forge(valid, steps, facts)), "nonsense"]) {
      const api = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` });
      const { status, body } = await api.send("POST", "/logout");
      codes.push([status, body.error?.code]);
    }
    expect(codes).toEqual([
      [401, "TOKEN_EXPIRED"],
      [401, "INVALID_TOKEN"],
    ]);
    const owner = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${valid}` });
    expect((await owner.get("/me")).status).toBe(200);
  });
});
