// A database that goes away in the middle of a start is waited for, as one that was not there when the start began.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { apiOf } from "../support/api.js";
import { startCommandProxy } from "../support/command-proxy.js";
import { ADMIN, dropDatabase, freshDatabase, startAnother } from "../support/stack.js";

/** Longer than a command waits for a server (5 s), so that the start fails by it. */
const AWAY_MS = 6_000;

it.each(["_signing_keys", "svc_user", "_sessions"])(
  "a database that is away while the indexes of %s are made is there for the start when it is back",
  async (collection) => {
    const mongodbUrl = freshDatabase();
    const proxy = await startCommandProxy(mongodbUrl);
    const dataDir = await mkdtemp(join(tmpdir(), "portico-start-"));
    let wasAway = false;
    proxy.decide((command) => {
      if (wasAway || !command.includes(`\u0000${collection}\u0000`)) return "pass";
      wasAway = true;
      proxy.setAway(true);
      setTimeout(() => proxy.setAway(false), AWAY_MS);
      return "lost";
    });
    try {
      const env = { ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password };
      const where = { appUrl: "http://localhost:1", dataDir, mongodbUrl: proxy.mongodbUrl };
      const service = await startAnother(where, env);
      expect(wasAway).toBe(true);
      expect((await apiOf(service.url).post("/auth/login", ADMIN)).status).toBe(200);
      await service.stop();
    } finally {
      await proxy.close();
      await dropDatabase(mongodbUrl);
      await rm(dataDir, { recursive: true, force: true });
    }
  },
);
