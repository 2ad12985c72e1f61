// API tokens and provider accounts of users who are there no more. Whoever deletes a user removes them right after that; what
// stays is swept away here: of a deletion that a crash interrupted or another process has ended, of a user who went along with
// another record, or whom another program deleted.
import { type Collection, type Db, ObjectId } from "mongodb";
import { apiTokenCollection } from "./api-token-store.js";
import { accountCollection } from "./identity-collections.js";
import { userCollection } from "./user-store.js";

interface OwnedRow {
  _id: ObjectId;
  userId: ObjectId;
  createdAt: Date;
  /** Its user is being made. */
  pending?: true;
}

/** They let nobody in, so there is no hurry. */
const EVERY_MS = 24 * 60 * 60_000;
/** Younger ones stay: clocks differ. */
const AT_LEAST_MS = 60 * 60_000;
const AT_ONCE = 1_000;
/** Less than every id. */
const FIRST_ID = new ObjectId("0".repeat(24));

/** @returns a sweep that has something to do once a day */
export function sweepOwnerless(db: Db, systemTablePrefix: string): (now: Date) => Promise<void> {
  const users = userCollection(db, systemTablePrefix);
  let nextAt = 0;
  return async (now) => {
    if (now.getTime() < nextAt) return;
    nextAt = now.getTime() + EVERY_MS;
    const before = new Date(now.getTime() - AT_LEAST_MS);
    for (const { collectionName } of [apiTokenCollection(db), accountCollection(db)])
      await removeOwnerless(db.collection<OwnedRow>(collectionName), users, before);
  };
}

/**
 * Goes through the rows in the order of their users, which are read after them: a row that is not pending was made after its
 * user. Of one whose rows are more than those of one look, the others go the next day.
 */
async function removeOwnerless(
  rows: Collection<OwnedRow>,
  users: ReturnType<typeof userCollection>,
  before: Date,
): Promise<void> {
  for (let after: ObjectId | undefined = FIRST_ID; after !== undefined; ) {
    const found: OwnedRow[] = await rows
      .find({ userId: { $gt: after } }, { projection: { userId: 1, createdAt: 1, pending: 1 } })
      .sort({ userId: 1 })
      .limit(AT_ONCE)
      .toArray();
    const named = { _id: { $in: found.map(({ userId }) => userId) } };
    const known = await users.find(named, { projection: { _id: 1 } }).toArray();
    const there = new Set(known.map(({ _id }) => String(_id)));
    const gone = found.filter(
      ({ userId, createdAt, pending }) =>
        !there.has(String(userId)) && createdAt < before && pending === undefined,
    );
    // By its user as well: a provider account may have been connected to another one meanwhile.
    const [ids, userIds] = [gone.map(({ _id }) => _id), gone.map(({ userId }) => userId)];
    if (gone.length > 0) await rows.deleteMany({ _id: { $in: ids }, userId: { $in: userIds } });
    after = found.at(-1)?.userId;
  }
}
