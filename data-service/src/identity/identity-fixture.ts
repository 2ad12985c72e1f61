// What the unit tests of identity/ share: what a provider says of Ann, and a database without users.
import type { Identity } from "@portico/shared/oauth";
import type { TestDatabase } from "../mongo/database-fixture.js";
import { ensureIdentityIndexes } from "../mongo/identity-store.js";
import { ensureAuthIndexes } from "../mongo/session-store.js";

export const ANN: Identity = {
  provider: "google",
  subject: "ann",
  email: "ann@example.com",
  emailVerified: true,
  name: null,
};

/** Removes everything, and makes the indexes that accounts rely on. */
export async function emptyIdentities({ db }: Pick<TestDatabase, "db">): Promise<void> {
  await db.dropDatabase();
  await Promise.all([ensureIdentityIndexes(db), ensureAuthIndexes(db, "svc_")]);
}
