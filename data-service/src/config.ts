// Environment -> frozen Config, or every problem at once. Nothing else in this service reads the environment.
import { createPrivateKey, type KeyObject } from "node:crypto";
import { resolve } from "node:path";
import { type BodyLimits, readBodyLimits } from "@portico/shared/body-limits";
import { EnvReader } from "@portico/shared/env";
import { SERVICE_SECRET_MIN } from "@portico/shared/kept-secret";
import { type OverloadLimits, readOverloadLimits } from "@portico/shared/load-shedding";
import { readLogLevel } from "@portico/shared/log-level";
import { readSystemTablePrefix } from "@portico/shared/system-table-prefix";
import { readOtlpEndpoint } from "@portico/shared/tracing";
import { readTrustProxy, type TrustProxy } from "@portico/shared/trust-proxy";
import { type AnswerLimits, readAnswerLimits } from "@portico/shared/unread-answers";
import { LONGEST_LIFE_SECONDS } from "./auth/keys.js";
import { passwordProblem } from "./auth/password-problem.js";
import { emailProblem, normalizeEmail } from "./catalog/email-address.js";
import { LONGEST_LEASE_SECONDS } from "./files/longest-lease.js";
import { readS3Settings, type S3Settings } from "./files/s3-settings.js";
import { LIMITS } from "./query/limits.js";
import { THRESHOLDS } from "./query/plan/thresholds.js";

/** The settings of the data service. Each field names its variable. */
export interface Config extends OverloadLimits, AnswerLimits, BodyLimits {
  /** NODE_ENV is `production`: secrets must be given, demo content is refused. */
  readonly production: boolean;
  /** APP_URL, as an origin: the issuer of access tokens. */
  readonly appUrl: string;
  /** DATA_SERVICE_PORT; 0 takes any free one. */
  readonly port: number;
  /** DATA_SERVICE_HOST */
  readonly host: string;
  /** DATA_DIR, absolute. */
  readonly dataDir: string;
  /** MONGODB_URL */
  readonly mongodbUrl: string;
  /** AUTH_PRIVATE_KEY; made and kept by local-secrets when undefined. */
  readonly authPrivateKey: KeyObject | undefined;
  /** ENCRYPTION_KEY, 32 bytes; made and kept by local-secrets when undefined. */
  readonly encryptionKey: Buffer | undefined;
  /** SERVICE_SECRET; made and kept by local-secrets when undefined. */
  readonly serviceSecret: string | undefined;
  /** ADMIN_EMAIL, normalised. */
  readonly adminEmail: string;
  /** ADMIN_PASSWORD; generated and printed once when undefined. */
  readonly adminPassword: string | undefined;
  /** SCHEMA_FILE, absolute: tables as code, applied at start. */
  readonly schemaFile: string | undefined;
  /** DEMO: fill an empty embedded database. */
  readonly demo: boolean;
  /** QUERY_MAX_DEPTH */
  readonly queryMaxDepth: number;
  /** QUERY_MAX_LIMIT; undefined means no limit. */
  readonly queryMaxLimit: number | undefined;
  /** QUERY_TIMEOUT_MS */
  readonly queryTimeoutMs: number;
  /** QUERY_PLAN_MAX_KEYS: see query/plan/thresholds. */
  readonly queryPlanMaxKeys: number;
  /** QUERY_PLAN_FEW_PARENTS: see query/plan/thresholds. */
  readonly queryPlanFewParents: number;
  /** QUERY_PLAN_WINDOW_CHILDREN: see query/plan/thresholds. */
  readonly queryPlanWindowChildren: number;
  /** SCHEMA_CHANGE_WAIT_MS: how long an answer waits for a change of a table; tests shorten it. */
  readonly schemaChangeWaitMs: number;
  /** REPAIR_EVERY_MS: how often it is looked for what dead instances have left half done; tests shorten it. */
  readonly repairEveryMs: number;
  /** CHANGES_HEARTBEAT_MS: how often a stream of changes shows that it lives; tests shorten it. */
  readonly changesHeartbeatMs: number;
  /** CHANGES_STALL_MS: how long a stream waits for a client that does not read; tests shorten it. */
  readonly changesStallMs: number;
  /** IMPORT_MAX_BYTES: how large an imported file may be. */
  readonly importMaxBytes: number;
  /**
   * DISK_RESERVE_BYTES: how much of the disk under an embedded database must stay free, or writes are refused. 0 = no check.
   */
  readonly diskReserveBytes: number;
  /** UPLOAD_LEASE_SECONDS: how long bytes that nobody claims are left alone; tests shorten it. */
  readonly uploadLeaseSeconds: number;
  /** S3_ENDPOINT and the rest: where the bytes of files lie; GridFS when undefined. */
  readonly s3: S3Settings | undefined;
  /** OAUTH_ROOT_ELSEWHERE: may a root admin sign in by a provider for another origin than the app's own? */
  readonly oauthRootElsewhere: boolean;
  /** OAUTH_SIGNUP: may a first sign-in by a provider make a user? */
  readonly oauthSignup: boolean;
  /** OAUTH_SIGNUP_ROLE: name or id of the role of users made that way; none when undefined. */
  readonly oauthSignupRole: string | undefined;
  /** OAUTH_STARTS_PER_MINUTE: from one address; 0 = no limit. */
  readonly oauthStartsPerMinute: number;
  /** SYSTEM_TABLE_PREFIX */
  readonly systemTablePrefix: string;
  /** TRUST_PROXY, and always loopback: whose word on the client's address counts. */
  readonly trustProxy: TrustProxy;
  /** LOG_LEVEL */
  readonly logLevel: string;
  /** RATE_LIMIT_PER_MINUTE: requests from one address; 0 = no limit. */
  readonly rateLimitPerMinute: number;
  /** ACCESS_TOKEN_TTL_SECONDS: the life of an access token; tests shorten it. */
  readonly accessTokenTtlSeconds: number;
  /** OTEL_EXPORTER_OTLP_ENDPOINT: where traces go; nowhere when undefined. */
  readonly otlpEndpoint: string | undefined;
}

const MAX_INT = 2 ** 31 - 1;
const MEBIBYTE = 1024 * 1024;
const ENCRYPTION_KEY_BYTES = 32;

/**
 * Reads and checks every setting.
 * @throws ConfigError with one line per problem
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const reader = new EnvReader(env);
  const production =
    reader.choice("NODE_ENV", "development", ["development", "test", "production"]) === "production";
  const dataDir = resolve(reader.text("DATA_DIR", "./.data"));
  const config: Config = {
    production,
    appUrl: reader.origin("APP_URL", "http://localhost:3000"),
    port: reader.integer("DATA_SERVICE_PORT", 3001, { min: 0, max: 65_535 }),
    host: reader.text("DATA_SERVICE_HOST", "127.0.0.1"),
    dataDir,
    mongodbUrl: readMongodbUrl(reader, dataDir),
    ...readSecrets(reader, production),
    adminEmail: readAdminEmail(reader),
    adminPassword: readAdminPassword(reader),
    schemaFile: readSchemaFile(reader),
    demo: readDemo(reader, production),
    queryMaxDepth: reader.integer("QUERY_MAX_DEPTH", 7, { min: 1, max: LIMITS.relations }),
    queryMaxLimit: readQueryMaxLimit(reader),
    queryTimeoutMs: reader.integer("QUERY_TIMEOUT_MS", 15_000, { min: 1, max: 600_000 }),
    queryPlanMaxKeys: reader.integer("QUERY_PLAN_MAX_KEYS", THRESHOLDS.maxKeys, { min: 0, max: 100_000 }),
    queryPlanFewParents: reader.integer("QUERY_PLAN_FEW_PARENTS", THRESHOLDS.fewParents, {
      min: 0,
      max: 100_000,
    }),
    queryPlanWindowChildren: reader.integer("QUERY_PLAN_WINDOW_CHILDREN", THRESHOLDS.windowChildren, {
      min: 0,
      max: 1_000,
    }),
    schemaChangeWaitMs: reader.integer("SCHEMA_CHANGE_WAIT_MS", 20_000, { min: 0, max: MAX_INT }),
    repairEveryMs: reader.integer("REPAIR_EVERY_MS", 5_000, { min: 50, max: 5_000 }),
    changesHeartbeatMs: reader.integer("CHANGES_HEARTBEAT_MS", 15_000, { min: 100, max: 600_000 }),
    changesStallMs: reader.integer("CHANGES_STALL_MS", 30_000, { min: 100, max: 600_000 }),
    ...readBodyLimits(reader),
    importMaxBytes: reader.integer("IMPORT_MAX_BYTES", 1024 * MEBIBYTE, { min: 1024, max: 2 ** 40 }),
    diskReserveBytes: reader.integer("DISK_RESERVE_BYTES", 256 * MEBIBYTE, { min: 0, max: 2 ** 50 }),
    uploadLeaseSeconds: reader.integer("UPLOAD_LEASE_SECONDS", 60, { min: 1, max: LONGEST_LEASE_SECONDS }),
    s3: readS3Settings(reader),
    oauthRootElsewhere: reader.boolean("OAUTH_ROOT_ELSEWHERE", false),
    oauthSignup: reader.boolean("OAUTH_SIGNUP", true),
    oauthSignupRole: reader.optional("OAUTH_SIGNUP_ROLE"),
    oauthStartsPerMinute: reader.integer("OAUTH_STARTS_PER_MINUTE", 30, { min: 0, max: 1_000_000 }),
    systemTablePrefix: readSystemTablePrefix(reader),
    trustProxy: withLoopback(readTrustProxy(reader)),
    logLevel: readLogLevel(reader),
    rateLimitPerMinute: reader.integer("RATE_LIMIT_PER_MINUTE", 0, { min: 0, max: 1_000_000 }),
    accessTokenTtlSeconds: reader.integer("ACCESS_TOKEN_TTL_SECONDS", 900, {
      min: 1,
      max: LONGEST_LIFE_SECONDS,
    }),
    otlpEndpoint: readOtlpEndpoint(reader),
    ...readOverloadLimits(reader),
    ...readAnswerLimits(reader),
  };
  reader.done();
  return Object.freeze(config);
}

/**
 * A gateway on this machine is trusted to say whose request it passes on; otherwise all clients would count as one address.
 */
function withLoopback(given: TrustProxy): TrustProxy {
  if (typeof given === "number") return given;
  return given === false ? ["loopback"] : [...new Set([...given, "loopback"])];
}

function readMongodbUrl(reader: EnvReader, dataDir: string): string {
  // The engine decodes the directory, which may hold a space, a `%` or a `#`.
  const encoded = dataDir.split("/").map(encodeURIComponent).join("/");
  const url = reader.text("MONGODB_URL", `mongodb_embedded://${encoded}/mongodb`);
  // The value is not repeated: it may hold a password.
  if (!/^mongodb(\+srv|_embedded)?:\/\/./.test(url)) {
    const server = "mongodb:// or mongodb+srv:// and a host";
    reader.problem(`MONGODB_URL must begin with ${server}, or with mongodb_embedded:// and a folder.`);
  }
  return url;
}

type Secrets = Pick<Config, "authPrivateKey" | "encryptionKey" | "serviceSecret">;

function readSecrets(reader: EnvReader, production: boolean): Secrets {
  const secret = <Value>(name: string, parse: (text: string) => Value | undefined, remedy: string) => {
    const text = reader.optional(name);
    if (text === undefined) {
      if (production) reader.problem(`${name} is required when NODE_ENV is production: ${remedy}.`);
      return undefined;
    }
    const value = parse(text);
    if (value === undefined) reader.problem(`${name} must be ${remedy}.`);
    return value;
  };
  return {
    authPrivateKey: secret("AUTH_PRIVATE_KEY", parsePrivateKey, "an Ed25519 private key as JWK or PEM"),
    encryptionKey: secret("ENCRYPTION_KEY", parseEncryptionKey, "32 random bytes as base64 or hex"),
    serviceSecret: secret(
      "SERVICE_SECRET",
      (text) => (text.length >= SERVICE_SECRET_MIN ? text : undefined),
      `at least ${SERVICE_SECRET_MIN} random characters`,
    ),
  };
}

/** Reads an Ed25519 private key, JWK or PEM; undefined when it is anything else. */
export function parsePrivateKey(text: string): KeyObject | undefined {
  try {
    const key = text.trimStart().startsWith("{")
      ? createPrivateKey({ key: JSON.parse(text), format: "jwk" })
      : // One-line PEM with `\n` written out is how most deployment forms pass it.
        createPrivateKey(text.replaceAll("\\n", "\n"));
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Reads exactly 32 bytes from hex, base64 or base64url; undefined when it is anything else. */
export function parseEncryptionKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (!/^[\w+/-]{43}=?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === ENCRYPTION_KEY_BYTES ? bytes : undefined;
}

function readAdminEmail(reader: EnvReader): string {
  const email = normalizeEmail(reader.text("ADMIN_EMAIL", "admin@example.com"));
  const problem = emailProblem(email);
  if (problem !== undefined) reader.problem(`ADMIN_EMAIL ${problem}.`);
  return email;
}

function readAdminPassword(reader: EnvReader): string | undefined {
  const password = reader.optional("ADMIN_PASSWORD");
  const problem = password === undefined ? undefined : passwordProblem(password);
  if (problem !== undefined) reader.problem(`ADMIN_PASSWORD ${problem}.`);
  return password;
}

function readSchemaFile(reader: EnvReader): string | undefined {
  const path = reader.optional("SCHEMA_FILE");
  return path === undefined ? undefined : resolve(path);
}

function readDemo(reader: EnvReader, production: boolean): boolean {
  const on = reader.choice("DEMO", production ? "off" : "on", ["on", "off"]) === "on";
  if (on && production) reader.problem("DEMO must not be on when NODE_ENV is production; remove it.");
  return on;
}

function readQueryMaxLimit(reader: EnvReader): number | undefined {
  if (reader.optional("QUERY_MAX_LIMIT") === undefined) return undefined;
  return reader.integer("QUERY_MAX_LIMIT", 1, { min: 1, max: MAX_INT });
}

/** The database runs inside this process or beside it, and nobody else has it open. */
export function isEmbedded({ mongodbUrl }: Config): boolean {
  return mongodbUrl.startsWith("mongodb_embedded:");
}
