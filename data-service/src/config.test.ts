// Settings of the data service: defaults, and one line for each problem (contract 9).
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { parseEncryptionKey, readConfig } from "./config.js";

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const { privateKey } = generateKeyPairSync("ed25519");
const jwk = JSON.stringify(privateKey.export({ format: "jwk" }));
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const SECRETS = {
  AUTH_PRIVATE_KEY: jwk,
  ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  SERVICE_SECRET: randomBytes(32).toString("hex"),
};

describe("readConfig", () => {
  it("listens where it is told to", () => {
    expect(readConfig({ DATA_SERVICE_HOST: "0.0.0.0", DATA_SERVICE_PORT: "4001" })).toMatchObject({
      host: "0.0.0.0",
      port: 4001,
    });
  });

  it("has a default for everything", () => {
    expect(readConfig({})).toEqual({
      production: false,
      appUrl: "http://localhost:3000",
      port: 3001,
      host: "127.0.0.1",
      dataDir: resolve(".data"),
      mongodbUrl: `mongodb_embedded://${resolve(".data")}/mongodb`,
      authPrivateKey: undefined,
      encryptionKey: undefined,
      serviceSecret: undefined,
      adminEmail: "admin@example.com",
      adminPassword: undefined,
      demo: true,
      queryMaxDepth: 7,
      queryMaxLimit: undefined,
      queryTimeoutMs: 15_000,
      rateLimitPerMinute: 0,
      queryPlanMaxKeys: 5_000,
      queryPlanFewParents: 200,
      queryPlanWindowChildren: 40,
      schemaFile: undefined,
      schemaChangeWaitMs: 20_000,
      repairEveryMs: 5_000,
      changesHeartbeatMs: 15_000,
      changesStallMs: 30_000,
      bodyMaxBytes: 1_048_576,
      importMaxBytes: 1024 * 1024 * 1024,
      uploadMaxBytes: 52_428_800,
      uploadLeaseSeconds: 60,
      diskReserveBytes: 268_435_456,
      s3: undefined,
      oauthRootElsewhere: false,
      oauthSignup: true,
      oauthSignupRole: undefined,
      oauthStartsPerMinute: 30,
      systemTablePrefix: "svc_",
      trustProxy: ["loopback"],
      logLevel: "info",
      accessTokenTtlSeconds: 900,
      otlpEndpoint: undefined,
      maxInFlight: 1_000,
      maxEventLoopDelayMs: 1_000,
      maxWaitMs: 1_000,
      answerStallMs: 600_000,
    });
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });

  it("finds the embedded database in any folder", () => {
    expect(readConfig({ DATA_DIR: "/tmp/50% #1" }).mongodbUrl).toBe(
      "mongodb_embedded:///tmp/50%25%20%231/mongodb",
    );
  });

  it.each(["mongodb://", "mongodb+srv://", "mongodb_embedded://"])(
    "says of an address that ends after %s what it lacks",
    (url) => {
      expect(problemsOf({ MONGODB_URL: url })).toEqual([
        "MONGODB_URL must begin with mongodb:// or mongodb+srv:// and a host, or with mongodb_embedded:// and a folder.",
      ]);
    },
  );

  it("reports all problems at once and repeats no secret", () => {
    const problems = problemsOf({
      APP_URL: "http://localhost:3000/app",
      DATA_SERVICE_PORT: "65536",
      MONGODB_URL: "postgres://user:hunter22@db",
      AUTH_PRIVATE_KEY: "hunter22",
      ENCRYPTION_KEY: "hunter22",
      SERVICE_SECRET: "hunter22",
      ADMIN_EMAIL: "nobody",
      ADMIN_PASSWORD: "hunter2",
      DEMO: "yes",
      QUERY_MAX_DEPTH: "0",
      QUERY_MAX_LIMIT: "-1",
      QUERY_TIMEOUT_MS: "soon",
      BODY_MAX_BYTES: "1.5",
      SYSTEM_TABLE_PREFIX: "Svc-",
      TRUST_PROXY: "true",
      LOG_LEVEL: "loud",
      LOG_FORMAT: "xml",
      NODE_ENV: "prod",
      ACCESS_TOKEN_TTL_SECONDS: "0",
    });
    expect(problems).toHaveLength(19);
    expect(problems.join("\n")).not.toContain("hunter22");
    expect(problems.every((each) => /^[A-Z_]+ must /.test(each))).toBe(true);
  });

  it("demands the secrets in production and no demo content", () => {
    expect(problemsOf({ NODE_ENV: "production", DEMO: "on" })).toEqual([
      "AUTH_PRIVATE_KEY is required when NODE_ENV is production: an Ed25519 private key as JWK or PEM.",
      "ENCRYPTION_KEY is required when NODE_ENV is production: 32 random bytes as base64 or hex.",
      "SERVICE_SECRET is required when NODE_ENV is production: at least 32 random characters.",
      "DEMO must not be on when NODE_ENV is production; remove it.",
    ]);
    expect(readConfig({ NODE_ENV: "production", ...SECRETS }).demo).toBe(false);
  });

  it.each([
    ["JWK", jwk],
    ["PEM", pem],
    ["PEM on one line", pem.replaceAll("\n", "\\n")],
  ])("takes the signing key as %s", (_name, text) => {
    expect(readConfig({ AUTH_PRIVATE_KEY: text }).authPrivateKey?.export({ format: "jwk" })).toEqual(
      JSON.parse(jwk),
    );
  });

  it.each([
    ["a public key", JSON.stringify({ ...JSON.parse(jwk), d: undefined })],
    [
      "another curve",
      generateKeyPairSync("x25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    ],
    ["an array", "[]"],
    ["broken JSON", "{"],
  ])("refuses %s as the signing key", (_name, text) => {
    expect(problemsOf({ AUTH_PRIVATE_KEY: text })).toEqual([
      "AUTH_PRIVATE_KEY must be an Ed25519 private key as JWK or PEM.",
    ]);
  });

  it("takes the encryption key as base64, base64url and hex, and exactly 32 bytes", () => {
    const bytes = randomBytes(32);
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      expect(parseEncryptionKey(bytes.toString(encoding))).toEqual(bytes);
    }
    for (const length of [0, 16, 31, 33, 64]) {
      for (const encoding of ["base64", "base64url", "hex"] as const) {
        expect(parseEncryptionKey(randomBytes(length).toString(encoding))).toBeUndefined();
      }
    }
  });

  it.each([
    ["2", 2],
    ["loopback, 10.0.0.0/8,::1", ["loopback", "10.0.0.0/8", "::1"]],
    ["10.0.0.0/8", ["10.0.0.0/8", "loopback"]],
  ])("reads TRUST_PROXY %s", (text, expected) => {
    expect(readConfig({ TRUST_PROXY: text }).trustProxy).toEqual(expected);
  });

  it.each(["0", "everybody", "10.0.0.0/33", "0.0.0.0/0", "10.0.0.0/8/8", "10.0.0.1,"])(
    "refuses TRUST_PROXY %s",
    (text) => {
      expect(problemsOf({ TRUST_PROXY: text })).toHaveLength(1);
    },
  );

  it("takes port 0, for tests", () => {
    expect(readConfig({ DATA_SERVICE_PORT: "0" }).port).toBe(0);
  });
});

describe("S3_…", () => {
  const S3 = {
    S3_ENDPOINT: "https://s3.example.com",
    S3_BUCKET: "files",
    S3_ACCESS_KEY_ID: "k",
    S3_SECRET_ACCESS_KEY: "s",
  };

  it("keeps files in a bucket when all of them are set; the region may be left out", () => {
    expect(readConfig(S3).s3).toEqual({
      endpoint: "https://s3.example.com",
      bucket: "files",
      region: "us-east-1",
      accessKeyId: "k",
      secretAccessKey: "s",
    });
  });

  it("names what is missing, and refuses what can be no bucket, without repeating a secret", () => {
    expect(problemsOf({ S3_BUCKET: "files" })).toEqual([
      "S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY must be set too, to keep files in a bucket.",
    ]);
    expect(problemsOf({ ...S3, S3_BUCKET: "a/b" })).toEqual([
      'S3_BUCKET must be the name of a bucket, not "a/b".',
    ]);
  });
});
