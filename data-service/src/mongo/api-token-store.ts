// API tokens in `_api_tokens`, by the SHA-256 of their text. It is no table, so no route of the API reaches them.
import { type Collection, type Db, ObjectId } from "mongodb";
import type { ApiToken } from "../auth/api-token.js";
import type { ApiTokenCacheDeps } from "../auth/api-token-cache.js";
import type { ApiTokensDeps } from "../auth/api-tokens.js";

/** Tokens of earlier versions say nothing of the session they were made in. */
type MadeIn = Pick<ApiToken, "provider" | "origin">;

interface ApiTokenDocument extends Omit<ApiToken, "id" | "userId" | keyof MadeIn>, Partial<MadeIn> {
  _id: ObjectId;
  userId: ObjectId;
  /** Hex. */
  hash: string;
}

/** For a note that may be lost: the first read of a minute waits for it. */
const MAY_BE_LOST = { writeConcern: { w: 1 } } as const;

export type ApiTokenStore = ApiTokensDeps["apiTokens"] &
  ApiTokenCacheDeps["apiTokens"] & { removeAllOf(userId: string): Promise<void> };

export function apiTokenCollection(db: Db): Collection<ApiTokenDocument> {
  return db.collection<ApiTokenDocument>("_api_tokens");
}

export function makeApiTokenStore(db: Db): ApiTokenStore {
  const tokens = apiTokenCollection(db);
  return {
    async insert({ userId, ...rest }, hash) {
      const document = { _id: new ObjectId(), userId: ObjectId.createFromHexString(userId), hash, ...rest };
      await tokens.insertOne(document);
      return toApiToken(document);
    },
    async findByHash(hash) {
      const document = await tokens.findOne({ hash: { $eq: hash } });
      return document === null ? undefined : toApiToken(document);
    },
    async noteUse(id, now, before) {
      const unnoted = [{ lastUsedAt: null }, { lastUsedAt: { $lte: before } }];
      await tokens.updateOne(
        { _id: ObjectId.createFromHexString(id), $or: unnoted },
        { $set: { lastUsedAt: now } },
        MAY_BE_LOST,
      );
    },
    async listOf(userId) {
      const user = ObjectId.createFromHexString(userId);
      return (await tokens.find({ userId: user }).sort({ _id: 1 }).toArray()).map(toApiToken);
    },
    countOf: (userId) => tokens.countDocuments({ userId: ObjectId.createFromHexString(userId) }),
    async findOf(userId, id) {
      const document = await tokens.findOne(ownToken(userId, id));
      return document === null ? undefined : toApiToken(document);
    },
    async removeOf(userId, id) {
      return (await tokens.deleteOne(ownToken(userId, id))).deletedCount === 1;
    },
    async removeAllOf(userId) {
      await tokens.deleteMany({ userId: ObjectId.createFromHexString(userId) });
    },
  };
}

function ownToken(userId: string, id: string): { _id: ObjectId; userId: ObjectId } {
  return { _id: ObjectId.createFromHexString(id), userId: ObjectId.createFromHexString(userId) };
}

function toApiToken({ _id, userId, hash: _hash, ...rest }: ApiTokenDocument): ApiToken {
  return { provider: null, origin: null, ...rest, id: _id.toHexString(), userId: userId.toHexString() };
}
