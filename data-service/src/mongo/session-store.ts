// Sessions in `_sessions`: they are no table, so no route of the API reaches them (security row C16).
import { type Collection, type Db, ObjectId } from "mongodb";
import type { IssueSessionDeps } from "../auth/issue-session.js";
import type { RefreshDeps } from "../auth/refresh.js";
import { FIRST_EPOCH, type Session } from "../auth/session.js";
import type { UnlinkDeps } from "../identity/unlink.js";
import type { MySessionsDeps } from "../me/sessions.js";
import { apiTokenCollection } from "./api-token-store.js";
import { ON_PRIMARY } from "./on-primary.js";
import { throttleCollection } from "./throttle-store.js";
import { userCollection } from "./user-store.js";

interface SessionDocument extends Omit<Session, "id" | "userId" | "epochs"> {
  _id: string;
  /** Missing in sessions from before there were epochs. */
  epochs?: readonly string[];
  userId: ObjectId;
}

/** Everything that the use cases of auth/ ask about sessions. */
export type SessionStore = IssueSessionDeps["sessions"] &
  RefreshDeps["sessions"] &
  MySessionsDeps["sessions"] &
  UnlinkDeps["sessions"] & {
    /** Lets the session outlive a password change that is about to begin this epoch. */
    addEpoch(sessionId: string, epoch: string): Promise<void>;
    /**
     * Removes a user's sessions except those of the epoch.
     * @param asOf when the epoch was about to be asked for: sessions made since then may be of a later one
     */
    removeAllBut(userId: string, epoch: string, asOf: Date): Promise<void>;
    /** Removes those that may be no root admin's where this is the only origin for them (see auth/session). */
    removeElsewhere(userId: string, origin: string): Promise<void>;
    removeAllOf(userId: string): Promise<void>;
  };

/**
 * A program that signs in again and again must not make a list that nobody can read; the least recently used ones are
 * removed.
 */
const MOST_OF_ONE_USER = 1_000;
/** How many sign-ins look for too many sessions: looking at a thousand takes longer than the rest of a sign-in. */
const LOOKS = 1 / 16;

/**
 * For a session that begins or goes on: on one disk. Were it refused because the other members of a set do not confirm it in
 * time, it would have been made all the same, and the token that its holder still has would soon be taken for a stolen one.
 * A step that is lost with the primary leaves a token from the future, which is only refused (see auth/decide-rotation). The
 * end of a session waits for them, like any write, but for one that is only one too many.
 */
const MOVES_ON = ON_PRIMARY;

/** Sweeps away expired sessions and counters. Expired API tokens stay listed until their user removes them. */
export function authSweeps(db: Db): ((now: Date) => Promise<unknown>)[] {
  return [
    (now) => sessionCollection(db).deleteMany({ expiresAt: { $lte: now } }),
    (now) => throttleCollection(db).deleteMany({ expiresAt: { $lte: now } }),
  ];
}

export function sessionCollection(db: Db): Collection<SessionDocument> {
  return db.collection<SessionDocument>("_sessions");
}

/** How many sessions have not expired. Gives up after a second. */
export function countLiveSessions(db: Db, now: Date): Promise<number> {
  return sessionCollection(db).countDocuments({ expiresAt: { $gt: now } }, { maxTimeMS: 1_000 });
}

/** @param random between 0 and 1 */
export function makeSessionStore(db: Db, random = Math.random): SessionStore {
  const sessions = sessionCollection(db);
  return {
    async insert({ id, userId, ...rest }) {
      const user = ObjectId.createFromHexString(userId);
      await sessions.insertOne({ _id: id, userId: user, ...rest }, MOVES_ON);
      // The session is made: that others are too many does not refuse it, and the next look finds them again.
      if (random() < LOOKS) await removeSurplus(sessions, user).catch(() => undefined);
    },
    async find(sessionId) {
      const document = await sessions.findOne({ _id: { $eq: sessionId } });
      return document === null ? undefined : toSession(document);
    },
    async rotate(sessionId, generation, { rotatedAt, expiresAt }) {
      const moved = { generation: generation + 1, rotatedAt, lastUsedAt: rotatedAt, expiresAt };
      const document = await sessions.findOneAndUpdate(
        // The TTL monitor sweeps only about once a minute, so expiry is part of the condition.
        { _id: { $eq: sessionId }, generation, expiresAt: { $gt: rotatedAt } },
        [{ $set: { ...moved, supersededAt: "$$NOW" } }],
        { returnDocument: "after", ...MOVES_ON },
      );
      return document === null ? undefined : toSession(document);
    },
    async remove(sessionId) {
      const document = await sessions.findOneAndDelete({ _id: { $eq: sessionId } });
      return document === null ? undefined : toSession(document);
    },
    async listOf(userId, now) {
      const documents = await sessions
        .find({ userId: ObjectId.createFromHexString(userId), expiresAt: { $gt: now } })
        .sort({ lastUsedAt: -1, _id: 1 })
        .toArray();
      return documents.map(toSession);
    },
    async removeOf(userId, sessionId) {
      const result = await sessions.deleteOne({
        _id: { $eq: sessionId },
        userId: ObjectId.createFromHexString(userId),
      });
      return result.deletedCount === 1;
    },
    async addEpoch(sessionId, epoch) {
      await sessions.updateOne({ _id: { $eq: sessionId } }, { $addToSet: { epochs: epoch } });
    },
    async removeAllBut(userId, epoch, asOf) {
      const user = ObjectId.createFromHexString(userId);
      await sessions.deleteMany({ userId: user, createdAt: { $lt: asOf }, epochs: { $ne: epoch } });
    },
    async removeElsewhere(userId, origin) {
      const user = ObjectId.createFromHexString(userId);
      const elsewhere = [{ origin: { $ne: origin } }, { connectedOn: { $elemMatch: { $ne: origin } } }];
      await sessions.deleteMany({ userId: user, provider: { $ne: null }, $or: elsewhere });
    },
    async removeOfProvider(userId, provider, but) {
      const user = ObjectId.createFromHexString(userId);
      await sessions.deleteMany({ userId: user, provider, _id: { $ne: but } });
    },
    async removeAllOf(userId) {
      await sessions.deleteMany({ userId: ObjectId.createFromHexString(userId) });
    },
  };
}

async function removeSurplus(sessions: Collection<SessionDocument>, userId: ObjectId): Promise<void> {
  const surplus = await sessions
    .find({ userId }, { projection: { _id: 1 } })
    .sort({ lastUsedAt: -1, _id: 1 })
    .skip(MOST_OF_ONE_USER)
    .toArray();
  if (surplus.length === 0) return;
  await sessions.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } }, MOVES_ON);
}

function toSession({ _id, userId, epochs = [FIRST_EPOCH], ...rest }: SessionDocument): Session {
  return { id: _id, userId: userId.toHexString(), epochs, ...rest };
}

/** One account per e-mail address, sessions by user, and expired sessions swept away. Safe to repeat. */
export async function ensureAuthIndexes(db: Db, systemTablePrefix: string): Promise<void> {
  await Promise.all([
    // Exactly what mongo/provision makes for the unique column `email` of `svc_user`: either may come first.
    userCollection(db, systemTablePrefix).createIndex(
      { email: 1 },
      { unique: true, partialFilterExpression: { email: { $exists: true } } },
    ),
    sessionCollection(db).createIndexes([
      { key: { userId: 1 } },
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
    ]),
    throttleCollection(db).createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 }),
    apiTokenCollection(db).createIndexes([{ key: { hash: 1 }, unique: true }, { key: { userId: 1 } }]),
  ]);
}
