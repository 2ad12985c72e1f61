// An account whose address was never proved, taken over by two sign-ins of its owner at once: what the owner makes after the
// quick one stays when the slow one goes on.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { ObjectId } from "mongodb";
import { apiOf, asAdmin, signIn } from "../support/api.js";
import { type BehindProxy, startBehindProxy } from "../support/behind-proxy.js";
import { afterWrites, isCommand, isReadOf, isWriteOf, stopAt } from "../support/command-proxy.js";
import { become, newPeople } from "./support/providers.js";
import { isBridge, type OAuthSystem, placesOf, signInOnApp, startOAuthSystem } from "./support/system.js";
import { Traveller } from "./support/traveller.js";

let system: OAuthSystem;
let held: BehindProxy;
let count = 0;
let userId: string;

beforeAll(async () => {
  system = await startOAuthSystem();
  held = await startBehindProxy(system.stack, system.providers.env);
});
afterAll(async () => {
  await held?.stop();
  await system?.stop();
});

/** An account with the owner's address, in which somebody is signed in by a password. */
beforeEach(async () => {
  held.proxy.decide(() => "pass");
  count += 1;
  const credentials = { email: `ann${count}@example.com`, password: "the attacker's password" };
  become(system.providers, newPeople(`ann${count}`));
  const admin = await asAdmin(system.stack);
  userId = (await admin.post("/svc_user", credentials)).body.data[0].id;
  await signIn(system.stack.dataUrl, credentials);
  const users = held.db.collection("svc_user");
  await users.updateOne({ _id: new ObjectId(userId) }, { $set: { emailUnproven: true } });
});

/** A browser that reaches the system by the gateway of the slow data service. */
function slowTraveller(): Traveller {
  const issuer = `${system.providers.oauth2.issuer.url}/`;
  return new Traveller({ ...placesOf(system.stack, held.stack.gateway.url), [issuer]: issuer });
}

const tokenOf = (traveller: Traveller) => traveller.cookies(system.stack.appUrl).get("accessToken") ?? "";
/** At the data service that has not seen them yet: the other one knows for a while who was signed in. */
const seenAnew = (token: string) => apiOf(held.stack.dataUrl, { Authorization: `Bearer ${token}` });

/** Where the slow one stands still: at its first change, when it has ended the sessions, when it has seen what is there. */
const STOPS: [string, () => (command: string) => boolean][] = [
  ["is about to begin", () => isWriteOf("svc_user")],
  ["has begun", () => afterWrites(isWriteOf("svc_user"), isReadOf("_oauth_accounts"))],
  ["is about to remove what it has found", () => isCommand("delete", "_sessions")],
];

describe.each(STOPS)("a sign-in that stands still when it %s", (_name, when) => {
  it("takes nothing from the owner whom a quicker one has signed in, and ends in the same account", async () => {
    const slow = slowTraveller();
    const going = await stopAt(held.proxy, when(), () => signInOnApp(slow, system.stack, "google"));
    const quick = system.traveller();
    await signInOnApp(quick, system.stack, "google");
    const owner = apiOf(system.stack.dataUrl, { Authorization: `Bearer ${tokenOf(quick)}` });
    const made = await owner.post("/auth/api-tokens", { name: "mine", expiresAt: "never" });
    expect(made.status).toBe(201);
    await signInOnApp(system.traveller(), system.stack, "github");
    going.goOn();
    await going.answer;
    expect(decodeJwt(tokenOf(slow)).sub).toBe(userId);
    expect((await seenAnew(made.body.data[0].token).get("/me")).status).toBe(200);
    const { status, body } = await seenAnew(tokenOf(quick)).get("/me/oauth-accounts");
    expect(status).toBe(200);
    expect(body.data.map(({ provider }: { provider: string }) => provider)).toEqual(["google", "github"]);
  });

  it("leaves another tab the code with which it is on its way back", async () => {
    const going = await stopAt(held.proxy, when(), () =>
      signInOnApp(slowTraveller(), system.stack, "google"),
    );
    const tab = system.traveller();
    const { end } = await signInOnApp(tab, system.stack, "google", isBridge);
    going.goOn();
    await going.answer;
    expect((await tab.travel(end)).end).toBe(`${system.stack.appUrl}/after`);
    expect((await seenAnew(tokenOf(tab)).get("/me")).status).toBe(200);
  });
});
