// Secrets of a machine of one's own: made once, kept, and read by nobody else.
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { loadSecrets as load } from "./local-secrets.js";

let dataDir: string;
const NOTHING = {
  production: false,
  authPrivateKey: undefined,
  encryptionKey: undefined,
  serviceSecret: undefined,
};

/** For a database that is new. */
const loadSecrets = (given: Parameters<typeof load>[0]) => load(given, async () => false);

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "portico-secrets-"));
});

afterEach(() => rm(dataDir, { recursive: true }));

const comparable = (secrets: Awaited<ReturnType<typeof load>>) => ({
  ...secrets,
  signingKey: secrets.signingKey.export({ format: "jwk" }),
});

describe("loadSecrets", () => {
  it("makes them once and keeps them, for nobody else to read", async () => {
    const first = await loadSecrets({ ...NOTHING, dataDir });
    expect(comparable(await loadSecrets({ ...NOTHING, dataDir }))).toEqual(comparable(first));
    const folder = join(dataDir, "secrets");
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const files = await readdir(folder);
    expect(files.sort()).toEqual(["encryption-key", "service-secret", "signing-key.json"]);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  });

  it("gives starters at the same time the same secrets", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => loadSecrets({ ...NOTHING, dataDir })));
    expect(new Set(all.map((each) => JSON.stringify(comparable(each)))).size).toBe(1);
    expect(await readdir(join(dataDir, "secrets"))).toHaveLength(3);
  });

  it("prefers given ones and touches no disk for them", async () => {
    const { signingKey } = await loadSecrets({ ...NOTHING, dataDir });
    const given = {
      authPrivateKey: signingKey,
      encryptionKey: randomBytes(32),
      serviceSecret: "s".repeat(32),
    };
    const nowhere = { production: true, dataDir: "/nowhere", ...given };
    expect(await loadSecrets(nowhere)).toEqual({
      signingKey,
      encryptionKey: given.encryptionKey,
      serviceSecret: given.serviceSecret,
    });
  });

  it("says in one sentence that the folder can't be written", async () => {
    await writeFile(join(dataDir, "secrets"), "in the way");
    const error = await loadSecrets({ ...NOTHING, dataDir }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(
      /Can't keep secrets in .*secrets \(E\w+\); make the folder writable or set DATA_DIR\.$/,
    );
  });

  it("makes none for a database that another one has sealed, which may come back", async () => {
    const isSealed = async () => true;
    await expect(load({ ...NOTHING, dataDir }, isSealed)).rejects.toThrow(
      `${dataDir}/secrets/encryption-key is missing, and no ENCRYPTION_KEY is set`,
    );
    expect(await readdir(dataDir)).toEqual([]);
    const { encryptionKey } = await loadSecrets({ ...NOTHING, dataDir });
    expect((await load({ ...NOTHING, dataDir }, isSealed)).encryptionKey).toEqual(encryptionKey);
  });

  it("refuses a damaged file instead of making another key", async () => {
    await loadSecrets({ ...NOTHING, dataDir });
    await writeFile(join(dataDir, "secrets", "encryption-key"), "short");
    await expect(loadSecrets({ ...NOTHING, dataDir })).rejects.toThrow(
      "is damaged; restore it from a backup.",
    );
  });
});
