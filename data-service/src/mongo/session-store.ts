// Sessions in `_sessions`: no table, so no route of the API reaches them (security row C16).
import { type Collection, type Db, ObjectId } from "mongodb";
import type { IssueSessionDeps } from "../auth/issue-session.js";
import type { RefreshDeps } from "../auth/refresh.js";
import type { Session } from "../auth/session.js";
import { userCollection } from "./user-store.js";

interface SessionDocument extends Omit<Session, "id" | "userId"> {
  _id: string;
  userId: ObjectId;
}

/** Everything the use cases of auth/ ask of sessions. */
export type SessionStore = IssueSessionDeps["sessions"] & RefreshDeps["sessions"];

function sessionCollection(db: Db): Collection<SessionDocument> {
  return db.collection<SessionDocument>("_sessions");
}

export function makeSessionStore(db: Db): SessionStore {
  const sessions = sessionCollection(db);
  return {
    async insert({ id, userId, ...rest }) {
      const user = ObjectId.createFromHexString(userId);
      await sessions.insertOne({ _id: id, userId: user, ...rest });
      // The embedded engine has no TTL monitor; whoever signs in clears away their own expired sessions.
      await sessions.deleteMany({ userId: user, expiresAt: { $lte: rest.createdAt } });
    },
    async find(sessionId) {
      const document = await sessions.findOne({ _id: { $eq: sessionId } });
      return document === null ? undefined : toSession(document);
    },
    async rotate(sessionId, generation, { rotatedAt, expiresAt }) {
      const document = await sessions.findOneAndUpdate(
        // The TTL monitor sweeps about once a minute, so expiry is part of the condition.
        { _id: { $eq: sessionId }, generation, expiresAt: { $gt: rotatedAt } },
        { $set: { generation: generation + 1, rotatedAt, lastUsedAt: rotatedAt, expiresAt } },
        { returnDocument: "after" },
      );
      return document === null ? undefined : toSession(document);
    },
    async remove(sessionId) {
      await sessions.deleteOne({ _id: { $eq: sessionId } });
    },
  };
}

function toSession({ _id, userId, ...rest }: SessionDocument): Session {
  return { id: _id, userId: userId.toHexString(), ...rest };
}

/** One account per e-mail, sessions by user, and expired sessions swept away. Safe to repeat. */
export async function ensureAuthIndexes(db: Db, systemTablePrefix: string): Promise<void> {
  await Promise.all([
    // To the letter what mongo/provision makes for the unique column `email` of `svc_user`: either may come first.
    userCollection(db, systemTablePrefix).createIndex(
      { email: 1 },
      { unique: true, partialFilterExpression: { email: { $exists: true } } },
    ),
    sessionCollection(db).createIndexes([
      { key: { userId: 1 } },
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
    ]),
  ]);
}
