// Contract 5: calls that write but no records. One that was done, and that nobody knows to be done, says so.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { afterWrites, type Fate, isCommand, nth } from "../../support/command-proxy.js";
import { make } from "./make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let held: BehindProxy;
let admin: Api;
let anyone: Api;

beforeAll(async () => {
  held = await startBehindProxy();
  admin = await asAdmin(held.stack);
  anyone = apiOf(`${held.stack.appUrl}/api`);
  await make(admin, "svc_user", ANN);
});

afterEach(() => held.proxy.decide(() => "pass"));
afterAll(() => held?.stop());

/** Signs Ann in. */
async function signIn(): Promise<{ readonly refreshToken: string; readonly api: Api }> {
  const { accessToken, refreshToken } = (await anyone.post("/auth/login", ANN)).body;
  const Authorization = `Bearer ${accessToken}`;
  return { refreshToken, api: apiOf(`${held.stack.appUrl}/api`, { Authorization }) };
}

/** Sends a request of which one command, the first of its kind, ends in a way. */
async function ending(
  fate: Fate,
  isMeant: (command: string) => boolean,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const isFirst = nth(1, isMeant);
  held.proxy.decide((command) => (isFirst(command) ? fate : "pass"));
  const answer = await ask();
  held.proxy.decide(() => "pass");
  return answer;
}

const UNCERTAIN = { status: 503, body: { error: { details: { uncertain: true } } } };

describe.each<[string, Fate]>([
  ["is done, and its answer lost", "answer lost"],
  ["is done, and not confirmed by the other members of its set", "unconfirmed"],
])("what %s, is uncertain:", (_how, fate) => {
  it("an API token that is made", async () => {
    const { api } = await signIn();
    const wish = { name: fate, expiresAt: "never" };
    const insert = isCommand("insert", "_api_tokens");
    const answer = await ending(fate, insert, () => api.post("/auth/api-tokens", wish));
    expect(answer).toMatchObject(UNCERTAIN);
    const { data } = (await api.get("/auth/api-tokens")).body;
    expect(data).toContainEqual(expect.objectContaining({ name: fate }));
    const filter = { correlationId: answer.headers.get("x-correlation-id") };
    expect((await admin.get("/svc_audit", { filter })).body.data).toMatchObject([
      { event: "token.made", details: { name: fate, readOnly: "false", uncertain: "true" } },
    ]);
  });

  it("an API token that is revoked", async () => {
    const { api } = await signIn();
    const [{ id }] = (await api.post("/auth/api-tokens", { name: "x", expiresAt: "never" })).body.data;
    const remove = isCommand("delete", "_api_tokens");
    expect(await ending(fate, remove, () => api.delete(`/auth/api-tokens/${id}`))).toMatchObject(UNCERTAIN);
    expect((await api.get(`/auth/api-tokens/${id}`)).status).toBe(404);
  });

  it("a log-out", async () => {
    const { refreshToken } = await signIn();
    const isEnd = (command: string) =>
      isCommand("delete", "_sessions")(command) || isCommand("findAndModify", "_sessions")(command);
    const logOut = () => anyone.post("/auth/logout", { refreshToken });
    expect(await ending(fate, isEnd, logOut)).toMatchObject(UNCERTAIN);
    expect((await anyone.post("/auth/refresh-token", { refreshToken })).status).toBe(401);
  });

  it("a session that is ended", async () => {
    const { api } = await signIn();
    const [{ id }] = (await api.get("/me/sessions")).body.data;
    const isEnd = isCommand("delete", "_sessions");
    expect(await ending(fate, isEnd, () => api.delete(`/me/sessions/${id}`))).toMatchObject(UNCERTAIN);
    expect((await api.get("/me")).status).toBe(401);
  });
});

it("a change of a table that can't be read for the answer is answered with its id, as is its undo", async () => {
  const columns = [{ name: "a", type: "int" }];
  const [{ id }] = (await admin.post("/svc_table", { name: "changed", columns })).body.data;
  await make(admin, "changed", { a: 1 });
  const isRead = (command: string) => isCommand("find", "svc_table")(command) && command.includes("$eq\0");
  const confirmHash = (await admin.patch(`/svc_table/${id}`, { columns: [] })).body.error.details.confirmHash;
  held.proxy.decide((command) => (isRead(command) ? "lost" : "pass"));
  const changed = await admin.patch(`/svc_table/${id}?confirm=${confirmHash}`, { columns: [] });
  const undone = await admin.post(`/svc_table/${id}/undo`);
  held.proxy.decide(() => "pass");
  for (const { status, body } of [changed, undone]) expect([status, body.data]).toEqual([200, [{ id }]]);
  expect((await admin.get("/changed", { fields: "a" })).status).toBe(200);
});

describe("an API token that is made", () => {
  it.each([
    ["how many there are", "aggregate", "_api_tokens"],
    ["whether its session still lives", "find", "_sessions"],
  ])("is uncertain where the database does not say %s by then", async (name, read, collection) => {
    const { api } = await signIn();
    const isRead = afterWrites(isCommand("insert", "_api_tokens"), isCommand(read, collection));
    held.proxy.decide((command) => (isRead(command) ? "lost" : "pass"));
    const answer = await api.post("/auth/api-tokens", { name, expiresAt: "never" });
    held.proxy.decide(() => "pass");
    expect(answer).toMatchObject(UNCERTAIN);
    const { data } = (await api.get("/auth/api-tokens")).body;
    expect(data).toContainEqual(expect.objectContaining({ name }));
    const filter = { correlationId: answer.headers.get("x-correlation-id") };
    expect((await admin.get("/svc_audit", { filter })).body.data).toMatchObject([
      { event: "token.made", details: { name, uncertain: "true" } },
    ]);
  });

  it("is not, where nothing was written yet", async () => {
    const { api } = await signIn();
    const isRead = isCommand("aggregate", "_api_tokens");
    held.proxy.decide((command) => (isRead(command) ? "lost" : "pass"));
    const answer = await api.post("/auth/api-tokens", { name: "x", expiresAt: "never" });
    held.proxy.decide(() => "pass");
    expect([answer.status, answer.body.error.details]).toEqual([503, undefined]);
  });
});

describe("a table whose publishing", () => {
  const publishes = (command: string) =>
    isCommand("update", "_versions")(command) || isCommand("insert", "_versions")(command);

  it.each<[string, Fate]>([
    ["is not answered", "answer lost"],
    ["is not confirmed", "unconfirmed"],
  ])("%s is answered as what it is: there", async (name, fate) => {
    const table = { name: `made_${fate.replace(" ", "_")}`, columns: [{ name: "a", type: "int" }] };
    const answer = await ending(fate, publishes, () => admin.post("/svc_table", table));
    expect([name, answer.status]).toEqual([name, 201]);
    expect((await admin.get(`/${table.name}`)).status).toBe(200);
  });

  it.each<[string, Fate, (command: string) => boolean]>([
    ["after_it", "interrupted", isCommand("find", "_versions")],
    ["at_its_end", "answer lost", isCommand("delete", "_making")],
  ])("is done, and what follows fails, is there as well (%s)", async (name, fate, isNext) => {
    let isPublished = false;
    const follows = (command: string): boolean => {
      const isMeant = isPublished && isNext(command);
      isPublished ||= publishes(command);
      return isMeant;
    };
    const answer = await ending(fate, follows, () => admin.post("/svc_table", { name, columns: [] }));
    expect([name, answer.status]).toEqual([name, 201]);
    expect((await admin.get(`/${name}`)).status).toBe(200);
  });

  it("is done, while the database is away before the answer is read, is there", async () => {
    let isAway = false;
    // Whoever looks at the catalog after the publishing removes the note as well; its maker alone says whose it is.
    const isRemoval = isCommand("delete", "_making");
    const isEnd = (command: string) => isRemoval(command) && command.includes("\u0002by\0");
    const isRead = isCommand("find", "svc_table");
    held.proxy.decide((command) => {
      if (isAway && isRead(command)) return "lost";
      isAway ||= isEnd(command);
      return "pass";
    });
    const answer = await admin.post("/svc_table", { name: "unread", columns: [] });
    held.proxy.decide(() => "pass");
    expect([answer.status, answer.body.data]).toEqual([201, [{ id: expect.any(String) }]]);
  });

  it("is not answered by a database that stays away is uncertain", async () => {
    let isAway = false;
    held.proxy.decide((command) => {
      if (isAway) return "lost";
      isAway = publishes(command);
      return isAway ? "answer lost" : "pass";
    });
    const table = { name: "unknown", columns: [{ name: "a", type: "int" }] };
    expect(await admin.post("/svc_table", table)).toMatchObject(UNCERTAIN);
    held.proxy.decide(() => "pass");
    expect((await admin.get("/unknown")).status).toBe(200);
  });

  it("of documents that are there is done, and the note of its maker not confirmed to be gone, is uncertain", async () => {
    await held.db.collection<{ _id: number }>("adopted").insertOne({ _id: 1 });
    const table = { name: "adopted", idType: "int", columns: [{ name: "a", type: "int" }] };
    const isUpdate = isCommand("update", "svc_table");
    held.proxy.decide((command) => {
      const unmarks = isUpdate(command) && command.includes("$unset\0") && !command.includes("$set\0");
      return unmarks ? "answer lost" : "pass";
    });
    const answer = await admin.post("/svc_table", table);
    held.proxy.decide(() => "pass");
    expect((await admin.get("/adopted", { fields: "a" })).status).toBe(200);
    expect(answer).toMatchObject(UNCERTAIN);
  });

  it("was not begun, as making its indexes was not answered, is refused", async () => {
    const table = { name: "unmade", columns: [{ name: "a", type: "int", unique: true }] };
    const isIndex = isCommand("createIndexes", "unmade");
    const answer = await ending("answer lost", isIndex, () => admin.post("/svc_table", table));
    expect(answer).toMatchObject({ status: 503 });
    expect(answer.body.error.details).toBeUndefined();
    expect((await admin.get("/unmade")).status).toBe(404);
  });
});
