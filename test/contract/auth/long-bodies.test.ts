// Contract 3.1 and 3.3: bodies that take longer to send than their session lives, or than a replaced refresh token stays
// good, over two gateways.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { keptIn } from "../../support/files.js";
import { filePart, MULTIPART, multipartBody, sendBody } from "../../support/multipart.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { makeTable } from "../records/make.js";
import { Browser } from "./jar.js";

/** Beyond the 30 s of the contract. */
const LONG_MS = 60_000;
const WITHIN_MS = 20_000;

interface SessionDocument {
  readonly _id: string;
  readonly generation: number;
  readonly rotatedAt: Date;
}

let stack: Stack;
let twin: Stack;
let database: MongoClient;
let admin: Api;
let signedIn: Browser;

beforeAll(async () => {
  stack = await startStack();
  twin = await startStack({ twinOf: stack });
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
});

afterAll(async () => {
  await database?.close();
  await twin?.stop();
  await stack?.stop();
});

beforeEach(async () => {
  signedIn = new Browser(stack);
  await signedIn.logIn(stack.admin);
});

/** The same browser when its access cookie is over. */
const later = (at: Stack): Browser => Browser.with(at, { refreshToken: signedIn.cookies.refreshToken });

const sessions = () => database.db().collection<SessionDocument>("_sessions");

function sessionId(): string {
  const claims = (signedIn.cookies.accessToken ?? "").split(".")[1] ?? "";
  return JSON.parse(Buffer.from(claims, "base64url").toString()).sid;
}

const generation = async () => (await sessions().findOne({ _id: sessionId() }))?.generation;

/** Lets time go by for the session, as far as its refresh tokens are concerned. */
async function timePasses(): Promise<void> {
  const back = { $set: { rotatedAt: { $subtract: ["$rotatedAt", LONG_MS] } } };
  await sessions().updateOne({ _id: sessionId() }, [back, { $unset: "supersededAt" }]);
}

const reuses = async () =>
  (await admin.get("/svc_audit", { filter: { event: "refresh.reuse" } })).body.data.length;

interface File {
  readonly path: string;
  readonly type: string;
  readonly halves: readonly [Buffer, Buffer];
  /** Whether the first half has arrived where it is kept. */
  isUnderWay(): Promise<boolean>;
}

async function imported(): Promise<File> {
  await makeTable(admin, { name: "notes", columns: [{ name: "text", type: "string" }] });
  const lines = Buffer.from('{"text":"a"}\n'.repeat(600));
  return {
    path: "/notes/import",
    type: "application/x-ndjson",
    halves: [lines, lines],
    isUnderWay: async () => (await admin.get("/notes?limit=1")).body.data.length > 0,
  };
}

async function uploaded(): Promise<File> {
  const whole = multipartBody([filePart("file", "large.bin", "application/octet-stream", Buffer.alloc(2e6))]);
  return {
    path: "/svc_file",
    type: MULTIPART,
    halves: [whole.subarray(0, 1e6), whole.subarray(1e6)],
    isUnderWay: async () => (await keptIn(database)).chunks > 0,
  };
}

/** Sends the file with an access cookie that is over, and does something when half of it is there. */
function send(file: File, halfway: () => Promise<void>) {
  async function* body(): AsyncGenerator<Buffer> {
    yield file.halves[0];
    await until(file.isUnderWay, (isUnderWay) => isUnderWay, WITHIN_MS);
    await halfway();
    yield file.halves[1];
  }
  const Cookie = later(stack).cookieHeader;
  const url = `${stack.appUrl}/api${file.path}`;
  return sendBody("POST", url, { Cookie, "Content-Type": file.type, Origin: stack.appUrl }, body());
}

describe.each([
  ["an import", imported],
  ["an upload", uploaded],
])("%s that outlasts the grace of a replaced token", (_what, makeFile) => {
  it("leaves the page its session: what else it does meanwhile refreshes, and nothing is taken for theft", async () => {
    const page = later(twin);
    const answer = await send(await makeFile(), async () => {
      await timePasses();
      expect((await page.get("/me")).status).toBe(200);
    });
    expect([answer.status < 300, answer.headers["set-cookie"]]).toEqual([true, undefined]);
    expect(await generation()).toBe(1);
    await timePasses();
    const next = Browser.with(stack, { refreshToken: page.cookies.refreshToken });
    expect((await next.get("/me")).status).toBe(200);
    expect([await generation(), await reuses()]).toEqual([2, 0]);
  });
});

describe("a replaced token", () => {
  it("ends the session when somebody sends a file with it, too", async () => {
    const before = await reuses();
    const owner = later(stack);
    await owner.get("/me");
    await timePasses();
    const body = multipartBody([filePart("file", "x.txt", "text/plain", "x")]);
    const headers = { Cookie: later(twin).cookieHeader, "Content-Type": MULTIPART };
    const stolen = await sendBody("POST", `${twin.appUrl}/api/svc_file`, headers, body);
    expect([stolen.status, stolen.headers["set-cookie"]]).toEqual([401, undefined]);
    expect([await generation(), await reuses()]).toEqual([undefined, before + 1]);
    const again = Browser.with(stack, { refreshToken: owner.cookies.refreshToken });
    expect((await again.get("/me")).status).toBe(401);
  });
});

describe("an access cookie that looks fresh and is believed no more", () => {
  const file = (size: number) =>
    multipartBody([filePart("file", "x.bin", "application/octet-stream", Buffer.alloc(size))]);
  const lines = (count: number) => Buffer.from('{"text":"a"}\n'.repeat(count));
  const json = Buffer.from(JSON.stringify({ name: "y".repeat(90_000) }));

  beforeAll(() => makeTable(admin, { name: "lines", columns: [{ name: "text", type: "string" }] }));

  it.each([
    ["a file", "/svc_file", MULTIPART, file(10)],
    ["a large file", "/svc_file", MULTIPART, file(3e6)],
    ["an import", "/lines/import", "application/x-ndjson", lines(1)],
    ["a large import", "/lines/import", "application/x-ndjson", lines(1e5)],
    ["much JSON", "/svc_role", "application/json", json],
  ])("with %s is 401, and brings those with which the next is taken", async (_what, path, type, body) => {
    const send = (Cookie: string) => {
      const headers = { Cookie, "Content-Type": type, Origin: stack.appUrl };
      return sendBody("POST", `${stack.appUrl}/api${path}`, headers, body);
    };
    const [head, claims] = (signedIn.cookies.accessToken ?? "").split(".");
    const accessToken = `${head}.${claims}.${"A".repeat(86)}`;
    const refused = await send(Browser.with(stack, { ...signedIn.cookies, accessToken }).cookieHeader);
    const set = refused.headers["set-cookie"] ?? [];
    expect([refused.status, set.length]).toEqual([401, 3]);
    expect(JSON.parse(refused.body.toString()).error.code).toBe("INVALID_TOKEN");
    const next = await send(set.map((line) => line.split(";")[0]).join("; "));
    expect(next.status).toBeLessThan(300);
  });
});

describe("a body that takes longer than its session lives", () => {
  const file = multipartBody([filePart("file", "x.bin", "application/octet-stream", Buffer.alloc(90_000))]);
  const json = Buffer.from(JSON.stringify({ name: "x".repeat(90_000) }));

  it.each([
    ["a file", "POST", "/svc_file", MULTIPART, file],
    ["another content", "PATCH", "/svc_file/:id", MULTIPART, file],
    ["a record in JSON", "POST", "/svc_role", "application/json", json],
  ])("is refused with 401, and nothing is kept: %s", async (_what, method, path, type, body) => {
    const form = new FormData();
    form.append("file", new Blob(["former"]), "former.txt");
    const [{ id }] = (await admin.send("POST", "/svc_file", { body: form })).body.data;
    const before = await keptIn(database);
    const { cookieHeader: Cookie } = signedIn;
    async function* slowly(): AsyncGenerator<Buffer> {
      yield body.subarray(0, 80_000);
      await delay(300);
      expect((await signedIn.post("/logout")).status).toBe(200);
      await delay(1_500);
      yield body.subarray(80_000);
    }
    const url = `${stack.appUrl}/api${path.replace(":id", id)}`;
    const headers = { Cookie, "Content-Type": type, Origin: stack.appUrl };
    const answer = await sendBody(method, url, headers, slowly());
    expect([answer.status, JSON.parse(answer.body.toString()).error.code]).toEqual([401, "INVALID_TOKEN"]);
    // The browser may have signed in anew meanwhile.
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect(await keptIn(database)).toEqual(before);
    expect(await database.db().collection("svc_role").countDocuments({ name: /^x/ })).toBe(0);
  });
});
