// The kinds of accounts that a sign-in with a wrong password must not tell apart, each with as many as are needed.
import { MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../support/api.js";
import type { Stack } from "../support/stack.js";

/** Whom the others are compared with: an active user with a password. */
export const KNOWN = "known";
/** Nobody at all, a user who was deactivated, one who only ever signed in with a provider. */
export const OTHERS = ["unknown", "disabled", "provider only"] as const;
export const KINDS = [KNOWN, ...OTHERS] as const;
export type Kind = (typeof KINDS)[number];

const AT_ONCE = 25;

/** Addresses of one length, so that nothing but the account differs. */
export function emailOf(kind: Kind, at: number): string {
  return `user${KINDS.indexOf(kind)}${String(at).padStart(6, "0")}@example.com`;
}

/** Makes `count` of each kind. */
export async function makeAccounts(stack: Stack, count: number): Promise<void> {
  const admin = await asAdmin(stack);
  const password = "the right password";
  await create(admin, KNOWN, count, { password });
  await create(admin, "disabled", count, { password, isActive: false });
  await connectProvider(stack, await create(admin, "provider only", count, {}));
}

/** @returns their ids */
async function create(admin: Api, kind: Kind, count: number, rest: object): Promise<string[]> {
  const bodies = Array.from({ length: count }, (_, at) => ({ email: emailOf(kind, at), ...rest }));
  const ids: string[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const { status, body } = await admin.post("/svc_user", bodies.slice(from, from + AT_ONCE));
    if (status !== 201) throw new Error(`users were answered with ${status}: ${JSON.stringify(body)}`);
    ids.push(...body.data.map(({ id }: { id: string }) => id));
  }
  return ids;
}

/** As a first sign-in with a provider leaves it; through the provider each would take a dozen requests. */
async function connectProvider({ mongodbUrl }: Stack, userIds: readonly string[]): Promise<void> {
  const client = await MongoClient.connect(mongodbUrl);
  const accounts = userIds.map((userId) => ({
    provider: "google",
    subject: `google-${userId}`,
    userId: new ObjectId(userId),
    createdAt: new Date(),
  }));
  await client.db().collection("_oauth_accounts").insertMany(accounts);
  await client.close();
}
