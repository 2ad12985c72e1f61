// An account whose address nobody has proved -> the account of whoever proves it: every way in that others have goes.
import { type Collection, type Db, type Document, type Filter, ObjectId } from "mongodb";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import { FREE } from "../records/delete/leaving.js";
import { newSessionEpoch } from "../records/user-hooks.js";
import { apiTokenCollection } from "./api-token-store.js";
import { accountCollection, codeCollection, flowCollection } from "./identity-collections.js";
import { sessionCollection } from "./session-store.js";
import type { UserDocument } from "./user-store.js";

/** As with every change: what a request wrote before is no longer taken back, and gives no former way in back. */
const ONE_CHANGE = { $inc: { [VERSION_FIELD]: 1 } };
const PROVED = { $unset: { emailUnproven: "" as const }, ...ONE_CHANGE };

/** Calls the address of a user proved, if it is this one. */
export async function proveAddress(
  users: Collection<UserDocument>,
  userId: string,
  email: string,
): Promise<boolean> {
  return (await users.updateOne(unproven(userId, email), PROVED)).matchedCount === 1;
}

/**
 * Keeps the address of a user from being taken back, if it is this one: somebody is about to be connected by it.
 * @returns false when it is another one by now, or the user is about to be deleted
 */
export async function keepAddress(
  users: Collection<UserDocument>,
  userId: string,
  email: string,
): Promise<boolean> {
  const user = { _id: ObjectId.createFromHexString(userId), email: { $eq: email }, ...FREE };
  return (await users.updateOne(user, ONE_CHANGE)).matchedCount === 1;
}

/**
 * The order is part of it: the new epoch ends every session of whoever had the account before, and what they made goes
 * after that (auth/while-signed-in); a session that a provider opens meanwhile goes after the provider (identity/redeem).
 * @returns false when somebody else has proved the address meanwhile, or it is another one by now, or the user is about to be deleted
 */
export async function takeOver(
  db: Db,
  users: Collection<UserDocument>,
  userId: string,
  email: string,
): Promise<boolean> {
  const user = unproven(userId, email);
  const change = { $unset: { passwordHash: "" as const }, $set: newSessionEpoch(), ...ONE_CHANGE };
  await users.updateOne(user, change);
  for (;;) {
    const found = await findWaysIn(db, userId);
    // The owner has nothing before the address is proved: what was found by then may go, however long that takes.
    if ((await users.countDocuments(user)) === 0) return false;
    if (found.length === 0) return proveAddress(users, userId, email);
    for (const { rows, which } of found) await rows.deleteMany(which);
  }
}

function unproven(userId: string, email: string): Filter<UserDocument> {
  return { _id: ObjectId.createFromHexString(userId), email: { $eq: email }, emailUnproven: true, ...FREE };
}

/** Rows of a collection that let somebody into an account, or will. */
interface WaysIn {
  readonly rows: Collection;
  readonly which: Filter<Document>;
}

/** One collection after the other, the providers first: a session that one of them opens meanwhile is found as well. */
async function findWaysIn(db: Db, userId: string): Promise<WaysIn[]> {
  const user = ObjectId.createFromHexString(userId);
  const found: WaysIn[] = [];
  for (const [{ collectionName }, whose] of [
    [accountCollection(db), { userId: user }],
    [flowCollection(db), { "link.userId": userId }],
    [codeCollection(db), { userId }],
    [sessionCollection(db), { userId: user }],
    [apiTokenCollection(db), { userId: user }],
  ] as const) {
    const rows = db.collection<Document>(collectionName);
    const ids = (await rows.find(whose, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
    if (ids.length > 0) found.push({ rows, which: { ...whose, _id: { $in: ids } } });
  }
  return found;
}
