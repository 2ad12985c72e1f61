// The cache of API tokens: a failed read is not kept, and takes nothing with it that was read after it began.
import { expect, it } from "@jest/globals";
import { type ApiToken, makeApiTokenText } from "./api-token.js";
import { makeApiTokenCache } from "./api-token-cache.js";

const NOW = new Date("2026-01-01T12:00:00.000Z");
const TEXT = makeApiTokenText();
const TOKEN: ApiToken = {
  id: "64b0000000000000000000aa",
  userId: "64b000000000000000000001",
  name: "backup",
  readOnly: true,
  createdAt: NOW,
  expiresAt: null,
  lastUsedAt: NOW,
  provider: null,
  origin: null,
};

/** A read that the test ends. */
interface Read {
  readonly resolve: (token: ApiToken) => void;
  readonly reject: (why: Error) => void;
}

function makeCache() {
  const reads: Read[] = [];
  const cache = makeApiTokenCache({
    apiTokens: {
      findByHash: () => new Promise((resolve, reject) => reads.push({ resolve, reject })),
      noteUse: async () => {},
    },
    users: { findActive: async () => ({ roleId: null, isRootAdmin: false, epoch: "1" }) },
    rootOrigin: null,
    clock: { now: () => NOW },
    logger: { warn: () => {} },
  });
  return { cache, reads };
}

it("a read that fails is made again for whoever asks next", async () => {
  const { cache, reads } = makeCache();
  const failing = cache.find(TEXT);
  reads[0]?.reject(new Error("the database is away"));
  await expect(failing).rejects.toThrow("the database is away");
  const found = cache.find(TEXT);
  reads[1]?.resolve(TOKEN);
  expect(await found).toMatchObject({ token: TOKEN });
});

it("a read that fails late leaves what was read after it was forgotten", async () => {
  const { cache, reads } = makeCache();
  const failing = cache.find(TEXT);
  cache.forget(TEXT);
  const found = cache.find(TEXT);
  reads[1]?.resolve(TOKEN);
  await found;
  reads[0]?.reject(new Error("the database is away"));
  await expect(failing).rejects.toThrow("the database is away");
  const again = cache.find(TEXT);
  expect(reads).toHaveLength(2);
  expect(await again).toMatchObject({ token: TOKEN });
});
