// Contract 8: what the audit log says of changes of which the database did not say whether they were made.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { isCommand, isReadOf, isWriteOf } from "../../support/command-proxy.js";
import { make, type Row } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let held: BehindProxy;
let admin: Api;
let adminId: string;
let annId: string;

beforeAll(async () => {
  held = await startBehindProxy();
  admin = await asAdmin(held.stack);
  adminId = (await admin.get("/me")).body.data[0].id;
  annId = (await make(admin, "svc_user", ANN)).id;
});

afterEach(() => held.proxy.decide(() => "pass"));
afterAll(() => held?.stop());

/** Sends a request whose commands of a kind are done, with nobody hearing of it; then the entries that it has left. */
async function withoutAnswers(
  isMeant: (command: string) => boolean,
  ask: () => Promise<Answer>,
): Promise<{ readonly status: number; readonly isUncertain: boolean; readonly entries: readonly Row[] }> {
  held.proxy.decide((command) => (isMeant(command) ? "answer lost" : "pass"));
  const { status, headers, body } = await ask();
  held.proxy.decide(() => "pass");
  const filter = { correlationId: headers.get("x-correlation-id") };
  const isUncertain = body.error?.details?.uncertain === true;
  return {
    status,
    isUncertain,
    entries: (await admin.get("/svc_audit", { filter, sort: "createdAt" })).body.data,
  };
}

describe("a change of an account that nobody knows to be made is told as uncertain", () => {
  const uncertain = { uncertain: "true" };

  it("with what it would have changed", async () => {
    const change = { isActive: false, isRootAdmin: true };
    const told = await withoutAnswers(isWriteOf("svc_user"), () => admin.patch(`/svc_user/${annId}`, change));
    const details = { by: adminId, ...uncertain };
    expect(told).toMatchObject({
      status: 503,
      entries: [
        { event: "role.changed", userId: annId, details: { ...details, isRootAdmin: "true" } },
        { event: "user.deactivated", userId: annId, details },
      ],
    });
    expect((await admin.patch(`/svc_user/${annId}`, { isActive: true, isRootAdmin: false })).status).toBe(
      200,
    );
  });

  it("of one's own password", async () => {
    const ann = await signIn(`${held.stack.appUrl}/api`, ANN);
    const body = { password: "another password", currentPassword: ANN.password };
    const told = await withoutAnswers(isWriteOf("svc_user"), () => ann.patch("/me", body));
    const event = { event: "password.changed", userId: annId, details: { by: annId, ...uncertain } };
    expect(told).toMatchObject({ status: 503, entries: [event] });
    expect((await admin.patch(`/svc_user/${annId}`, { password: ANN.password })).status).toBe(200);
  });

  it("that ends a session", async () => {
    const ann = await signIn(`${held.stack.appUrl}/api`, ANN);
    const [{ id }] = (await ann.get("/me/sessions")).body.data;
    const ended = () => ann.delete(`/me/sessions/${id}`);
    const told = await withoutAnswers(isCommand("delete", "_sessions"), ended);
    const event = { event: "session.ended", userId: annId, details: { sessionId: id, ...uncertain } };
    expect(told).toMatchObject({ status: 503, entries: [event] });
  });

  it("that revokes an API token", async () => {
    const ann = await signIn(`${held.stack.appUrl}/api`, ANN);
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const { id } = (await ann.post("/auth/api-tokens", { name: "script", expiresAt })).body.data[0];
    const told = await withoutAnswers(isCommand("delete", "_api_tokens"), () =>
      ann.delete(`/auth/api-tokens/${id}`),
    );
    const event = { event: "token.revoked", userId: annId, details: { tokenId: id, ...uncertain } };
    expect(told).toMatchObject({ status: 503, entries: [event] });
  });

  it("that disconnects a provider", async () => {
    const ann = await signIn(`${held.stack.appUrl}/api`, ANN);
    const account = { provider: "github", subject: "1", userId: new ObjectId(annId), createdAt: new Date() };
    await held.db.collection("_oauth_accounts").insertOne(account);
    const [{ id }] = (await ann.get("/me/oauth-accounts")).body.data;
    const told = await withoutAnswers(isCommand("delete", "_oauth_accounts"), () =>
      ann.delete(`/me/oauth-accounts/${id}`),
    );
    const details = { provider: "github", accountId: id, ...uncertain };
    expect(told).toMatchObject({
      status: 503,
      isUncertain: true,
      entries: [{ event: "oauth.unlink", userId: annId, details }],
    });
    expect((await ann.get("/me/oauth-accounts")).body.data).toEqual([]);
  });

  it("that rotates the signing key", async () => {
    const told = await withoutAnswers(isCommand("insert", "_signing_keys"), () =>
      admin.post("/auth/keys/rotate"),
    );
    expect(told).toMatchObject({
      status: 503,
      isUncertain: true,
      entries: [{ event: "keys.rotated", userId: adminId, details: uncertain }],
    });
  });

  it("that makes or removes one", async () => {
    const bob = { email: "bob@example.com" };
    const isInsert = isCommand("insert", "svc_user");
    const isEnd = (command: string) => isInsert(command) || isCommand("delete", "svc_user")(command);
    const made = await withoutAnswers(isEnd, () => admin.post("/svc_user", bob));
    expect(made).toMatchObject({
      status: 503,
      entries: [{ event: "user.created", details: { by: adminId, ...uncertain } }],
    });
    const isDelete = isCommand("delete", "svc_user");
    const gone = await withoutAnswers(isDelete, () => admin.delete(`/svc_user/${annId}`));
    expect(gone).toMatchObject({
      status: 503,
      entries: [{ event: "user.deleted", userId: annId, details: { by: adminId, ...uncertain } }],
    });
  });
});

it("a change that was not even begun, as a question before it had no answer, is not told", async () => {
  const { id } = await make(admin, "svc_user", { email: "eve@example.com" });
  // Who asks is known for a while.
  await admin.get("/me");
  held.proxy.decide((command) => (isReadOf("svc_user")(command) ? "lost" : "pass"));
  const { status, headers } = await admin.delete(`/svc_user/${id}`);
  held.proxy.decide(() => "pass");
  const filter = { correlationId: headers.get("x-correlation-id") };
  expect([status, (await admin.get("/svc_audit", { filter })).body.data]).toEqual([503, []]);
});
