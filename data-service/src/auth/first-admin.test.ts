// The first root admin: when one is made, with which password, and who hears of it.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { ensureFirstAdmin, type FirstAdmin, type FirstAdminDeps } from "./first-admin.js";

const NOW = new Date("2026-01-01T12:00:00.000Z");

let inserted: FirstAdmin[];
let ordinary: string[];
let former: "inactive" | "none";
let logged: string[];

beforeEach(() => {
  inserted = [];
  ordinary = [];
  former = "none";
  logged = [];
});

const deps: FirstAdminDeps = {
  users: {
    rootAdmins: async () => (inserted.length > 0 ? "active" : former),
    reserveFirstAdminId: async () => "64b000000000000000000001",
    insertRootAdmin: async (admin) => {
      const taken = ordinary.includes(admin.email) || inserted.some(({ id }) => id === admin.id);
      if (!taken) inserted.push(admin);
      return !taken;
    },
  },
  hasher: { hash: async (password) => `hash of ${password}` },
  clock: { now: () => NOW },
  logger: {
    error: (problem: string) => void logged.push(problem),
    info: (sentence: string) => void logged.push(`info: ${sentence}`),
  },
};

describe("ensureFirstAdmin", () => {
  it("makes one with a generated password that can be read and typed, and says it once", async () => {
    const wanted = { email: "admin@example.com", password: undefined };
    const made = await ensureFirstAdmin(deps, wanted);
    expect(made?.email).toBe("admin@example.com");
    expect(made?.password).toMatch(/^[a-hjkmnp-z2-9]{24}$/);
    expect(inserted).toEqual([
      {
        id: "64b000000000000000000001",
        email: "admin@example.com",
        passwordHash: `hash of ${made?.password}`,
        createdAt: NOW,
      },
    ]);
    expect(await ensureFirstAdmin(deps, wanted)).toBeUndefined();
  });

  it("never repeats a given password", async () => {
    expect(await ensureFirstAdmin(deps, { email: "a@b.c", password: "given-password" })).toBeUndefined();
    expect(inserted[0]?.passwordHash).toBe("hash of given-password");
  });

  it("says of a given password that it is not used where a root admin is there, and of none nothing", async () => {
    await ensureFirstAdmin(deps, { email: "a@b.c", password: "given-password" });
    await ensureFirstAdmin(deps, { email: "a@b.c", password: undefined });
    expect(logged).toEqual([]);
    await ensureFirstAdmin(deps, { email: "a@b.c", password: "another-password" });
    expect(logged).toEqual([expect.stringMatching(/^info: ADMIN_PASSWORD is not used: .*npm run admin$/)]);
  });

  it("makes one for two starts at once, even with different addresses", async () => {
    const answers = await Promise.all([
      ensureFirstAdmin(deps, { email: "a@b.c", password: undefined }),
      ensureFirstAdmin(deps, { email: "d@e.f", password: undefined }),
    ]);
    expect(inserted).toHaveLength(1);
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
  });

  it("promotes nobody who owns the address already", async () => {
    ordinary = ["a@b.c"];
    await expect(ensureFirstAdmin(deps, { email: "a@b.c", password: undefined })).rejects.toThrow(
      ConfigError,
    );
    expect(inserted).toEqual([]);
  });

  it("makes one where none is active any more", async () => {
    former = "inactive";
    await ensureFirstAdmin(deps, { email: "a@b.c", password: "given-password" });
    expect([inserted.length, logged]).toEqual([1, []]);
  });

  it("says so, and starts, where none is active and the address is taken", async () => {
    [former, ordinary] = ["inactive", ["a@b.c"]];
    expect(await ensureFirstAdmin(deps, { email: "a@b.c", password: undefined })).toBeUndefined();
    expect([inserted, logged]).toEqual([[], [expect.stringContaining("no root admin is active")]]);
  });
});
