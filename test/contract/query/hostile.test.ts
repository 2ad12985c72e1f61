// The corpus of hostile requests, sent by a signed-in user who is not root: each is refused in the one form of
// refusals, or is plain data, and none changes or stops anything.
import { type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { asAdmin } from "../../support/api.js";
import { loggedByNow } from "../../support/process-facts.js";
import { roleFor } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { bodyOf, HOSTILE_CASES, type HostileCase, NOTES, parametersOf, searchOf } from "./hostile-case.js";
import { created } from "./library.js";

/** Where the contract decides otherwise than the corpus, the contract holds. */
const CONTRACT_WINS: Readonly<Record<string, { reason: string; statuses: number[] }>> = {
  STR004: { reason: '{"f":"a"} is the short form of _eq (contract 4.1)', statuses: [200] },
  STR019: { reason: "_or: [] is true (contract 4.1)", statuses: [200] },
  BOD019: { reason: "a list creates in bulk (contract 5)", statuses: [201] },
  BOD038: { reason: "no such path (contract 3.2); the method may be refused first", statuses: [404, 405] },
};

/** The times of the corpus are those of a quiet machine. */
const PATIENCE = 3;
const DEFAULT_MAX_MS = 2_000;

/** Columns that the user of these tests may not know. */
const HIDDEN = ["secretToken", "moderationKey", "passwordHash", "email", "role", "isRootAdmin"];
const USER = { email: "user@example.com", password: "correct horse battery", name: "User" };

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly ms: number;
}

let stack: Stack;
let token: string;

beforeAll(async () => {
  stack = await startStack({ env: { QUERY_MAX_LIMIT: "1000", QUERY_MAX_DEPTH: "4" } });
  const admin = await asAdmin(stack);
  const hidden = (name: string, type = "string") => ({ name, type, hidden: true });
  await created(admin, "svc_table", {
    name: "authors",
    idType: "int",
    columns: [
      { name: "name", type: "string" },
      ...["email", "passwordHash", "role"].map((name) => hidden(name)),
      hidden("isRootAdmin", "boolean"),
    ],
  });
  await created(admin, "svc_table", {
    name: "notes",
    idType: "int",
    columns: [
      ...[
        { name: "title", type: "string" },
        { name: "body", type: "text" },
        { name: "views", type: "int" },
      ],
      ...[{ name: "published", type: "boolean" }, hidden("secretToken")],
    ],
    relations: [{ name: "author", type: "many-to-one", table: "authors", inverse: "notes" }],
  });
  await created(admin, "svc_table", {
    name: "comments",
    idType: "int",
    columns: [{ name: "text", type: "string" }, hidden("moderationKey")],
    relations: [{ name: "note", type: "many-to-one", table: "notes", inverse: "comments" }],
  });
  const secrets = { email: "a@example.com", passwordHash: "$2b$hash", role: "admin", isRootAdmin: true };
  await created(admin, "authors", [{ name: "Ann", ...secrets }]);
  await created(
    admin,
    "notes",
    NOTES.map(({ id, ...note }) => ({ ...note, secretToken: `$2secret${id}`, author: 1 })),
  );
  await created(admin, "comments", [{ text: "first", moderationKey: "$2key", note: 1 }]);
  const role = await roleFor(admin, "reader", ["authors", "notes", "comments"]);
  await created(admin, "svc_user", { ...USER, role });
  const { email, password } = USER;
  const login = await admin.post("/auth/login", { email, password });
  token = login.body.accessToken;
});

afterAll(() => stack.stop());

/** Sends the case as it is written: no client may tidy its target up. */
function send(hostile: HostileCase): Promise<Answer> {
  const { rawTarget, path, method = "GET", contentType, contentEncoding, cookie } = hostile;
  const search = searchOf(hostile);
  const body = bodyOf(hostile);
  const signedIn = cookie === undefined && path !== "/login";
  return sendRaw(method, (rawTarget ? path : `/api${path}`) + (search === "" ? "" : `?${search}`), body, {
    ...(body === undefined ? {} : { "Content-Type": contentType ?? "application/json" }),
    ...(contentEncoding === undefined ? {} : { "Content-Encoding": contentEncoding }),
    ...(signedIn ? { Authorization: `Bearer ${token}` } : {}),
    ...(cookie === undefined ? {} : { Cookie: cookie.replace("<refresh cookie name>", "refreshToken") }),
  });
}

function sendRaw(
  method: string,
  path: string,
  body: Buffer | undefined,
  headers: Record<string, string>,
): Promise<Answer> {
  const { hostname, port } = new URL(stack.appUrl);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "Content-Length": String(body.length) };
    const sent = request({ hostname, port, method, path, agent: false, headers: { ...headers, ...length } });
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        const { statusCode = 0, headers: received } = response;
        resolve({ status: statusCode, headers: received, text, ms: performance.now() - started });
      });
      response.on("error", reject);
    });
    // A body that is refused half-way breaks the pipe after the answer; without an answer the test runs out of time.
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "ECONNRESET") reject(error);
    });
    sent.end(body);
  });
}

function allowedStatuses({ id, expect: wanted, alsoOk }: HostileCase): number[] {
  const exception = CONTRACT_WINS[id];
  if (exception !== undefined) return exception.statuses;
  const success = wanted === "literal" || alsoOk === "literal" ? [200, 201] : [];
  const refused = wanted === "reject400" ? [400] : [];
  return [...success, ...refused, ...(Array.isArray(alsoOk) ? alsoOk : [])];
}

const TELLTALES = /Mongo|\bBSON|E11000|\$match|\$lookup|node_modules|\.js:\d|\bat \w+ \(|dist\//;

function expectRefusal(answer: Answer): void {
  expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  const body = JSON.parse(answer.text);
  expect(body).toMatchObject({
    success: false,
    statusCode: answer.status,
    error: { code: expect.stringMatching(/^[A-Z_]+$/), correlationId: expect.any(String) },
  });
  expect(answer.text).not.toMatch(TELLTALES);
}

/** A 400 of the query language begins with the parameter. */
function expectNamedParameter(hostile: HostileCase, answer: Answer): void {
  const names = Object.keys(parametersOf(hostile));
  if (answer.status !== 400 || names.length === 0) return;
  const { message } = JSON.parse(answer.text);
  // An address longer than a request's head may be never arrives at the query language.
  if (searchOf(hostile).length > 12_000 && !String(message).includes(":")) return;
  expect(names).toContain(/^[\w$]+/.exec(String(message))?.[0]);
}

describe("the hostile corpus", () => {
  const named = HOSTILE_CASES.map((hostile) => ({ ...hostile, name: `${hostile.id} ${hostile.why}` }));

  it.each(named)("$name", async (hostile) => {
    const answer = await send(hostile);
    expect(allowedStatuses(hostile)).toContain(answer.status);
    expect(answer.ms).toBeLessThan((hostile.maxMs ?? DEFAULT_MAX_MS) * PATIENCE);
    if (answer.status >= 400) {
      expectRefusal(answer);
      expectNamedParameter(hostile, answer);
    } else if (hostile.expectIds !== undefined) {
      expect(JSON.parse(answer.text).data.map(({ id }: { id: number }) => id)).toEqual(hostile.expectIds);
    }
    if (answer.status === 201) await removeCreated(answer);
  });

  it("has 226 cases, and every exception is one of them", () => {
    expect(HOSTILE_CASES).toHaveLength(226);
    const ids = HOSTILE_CASES.map(({ id }) => id);
    for (const id of Object.keys(CONTRACT_WINS)) expect(ids).toContain(id);
  });
});

async function removeCreated(answer: Answer): Promise<void> {
  for (const { id } of JSON.parse(answer.text).data) {
    await sendRaw("DELETE", `/api/notes/${id}`, undefined, { Authorization: `Bearer ${token}` });
  }
}

describe("a hidden name is refused like one that does not exist", () => {
  const hidden = HOSTILE_CASES.filter(({ sameErrorAs }) => sameErrorAs !== undefined);

  it.each(hidden)("$id", async (hostile) => {
    const anonymize = (text: string): string =>
      HIDDEN.reduce((all, name) => all.replaceAll(name, "zzz"), text);
    const query = Object.fromEntries(
      Object.entries(hostile.query ?? {}).map(([name, value]) => [name, anonymize(value)]),
    );
    const [known, unknown] = [await send(hostile), await send({ ...hostile, query })];
    expect(unknown.status).toBe(400);
    expect(known.status).toBe(400);
    expect(anonymize(JSON.parse(known.text).message)).toBe(JSON.parse(unknown.text).message);
  });

  it("there are cases", () => expect(hidden.length).toBeGreaterThan(8));

  it.each(["*", undefined, "*,author.*,comments.*"])(
    "and no answer shows one (fields %s)",
    async (fields) => {
      const query = { ...(fields === undefined ? {} : { fields }), limit: "100" };
      const { status, text } = await send({ ...blank, query });
      expect(status).toBe(200);
      expect(JSON.parse(text).data).toHaveLength(30);
      for (const name of HIDDEN) expect(text).not.toContain(`"${name}"`);
      expect(text).not.toContain("$2");
    },
  );
});

const blank: HostileCase = { id: "", class: "", why: "", expect: "literal", path: "/notes" };

describe("generated sizes", () => {
  const generated = HOSTILE_CASES.filter(({ valueGen }) => valueGen !== undefined);

  it.each(generated)("$id is refused as a QUERY body too", async (hostile) => {
    const parameters = Object.entries(parametersOf(hostile)).map(([name, value]) => [
      name,
      name === "filter" || name === "deep" ? JSON.parse(value) : value,
    ]);
    const body = Buffer.from(JSON.stringify(Object.fromEntries(parameters)));
    const answer = await sendRaw("QUERY", "/api/notes", body, {
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/json",
    });
    expect(answer.status).toBe(400);
    expectRefusal(answer);
    expect(answer.ms).toBeLessThan((hostile.maxMs ?? DEFAULT_MAX_MS) * PATIENCE);
  });
});

describe("after all of it", () => {
  it("every row is as it was", async () => {
    const query = { fields: "id,title,views,published", limit: "1000" };
    const { text } = await send({ ...blank, query });
    expect(JSON.parse(text).data).toEqual(NOTES);
    const admin = await asAdmin(stack);
    const { body } = await admin.get("/notes", { fields: "secretToken", limit: 1_000 });
    expect(body.data).toEqual(NOTES.map(({ id }) => ({ secretToken: `$2secret${id}` })));
  });

  it("the user is still nobody special", async () => {
    expect((await send({ ...blank, path: "/svc_user" })).status).toBe(403);
  });

  it("no request was answered with a 5xx", async () => {
    await loggedByNow(stack);
    for (const service of [stack.gateway, stack.dataService]) {
      expect(service.process.exitCode).toBeNull();
      expect(service.log()).not.toMatch(/"status":5\d\d/);
    }
    expect(stack.dataService.log()).toMatch(/"status":400/);
  });
});
