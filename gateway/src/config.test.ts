import { describe, expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { readConfig } from "./config.js";

function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe("readConfig", () => {
  it("has a default for every setting, and is frozen", () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      production: false,
      appUrl: "http://localhost:3000",
      port: 3000,
      host: "127.0.0.1",
      dataServiceUrl: "http://127.0.0.1:3001",
      allowedOrigins: [],
      staticDir: undefined,
      trustProxy: false,
      bodyMaxBytes: 1_048_576,
      uploadMaxBytes: 52_428_800,
      systemTablePrefix: "svc_",
      logLevel: "info",
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it.each([
    ["false", false],
    ["2", 2],
    ["10.0.0.0/8, loopback,::1", ["10.0.0.0/8", "loopback", "::1"]],
  ])("reads TRUST_PROXY %p", (TRUST_PROXY, expected) => {
    expect(readConfig({ TRUST_PROXY }).trustProxy).toEqual(expected);
  });

  it.each([
    ["APP_URL", "ftp://x"],
    ["APP_URL", "https://app.example.com/path"],
    ["PORT", "65536"],
    ["DATA_SERVICE_URL", "127.0.0.1:3001"],
    ["ALLOWED_ORIGINS", "https://a.example.com,*"],
    ["STATIC_DIR", "/no/such/folder"],
    ["TRUST_PROXY", "true"],
    ["TRUST_PROXY", "10.0.0.0/33"],
    ["BODY_MAX_BYTES", "1mb"],
    ["UPLOAD_MAX_BYTES", "-1"],
    ["SYSTEM_TABLE_PREFIX", "../"],
    ["LOG_LEVEL", "loud"],
    ["NODE_ENV", "prod"],
  ])("refuses %s=%s in one line that names it", (name, value) => {
    expect(problems({ [name]: value })).toEqual([expect.stringContaining(name)]);
  });

  it("reports all problems at once", () => {
    expect(problems({ PORT: "x", APP_URL: "x", LOG_LEVEL: "x" })).toHaveLength(3);
  });

  it.each([
    ["http://app.example.com", 1],
    ["http://localhost.evil.com", 1],
    ["http://127.0.0.1.evil.com", 1],
    ["http://10.0.0.1", 1],
    ["https://app.example.com", 0],
    ["http://localhost:3000", 0],
    ["http://chat.localhost:3000", 0],
    ["http://127.0.0.1", 0],
    ["http://[::1]:3000", 0],
  ])("in production %s has %d problems", (APP_URL, count) => {
    expect(problems({ APP_URL, NODE_ENV: "production" })).toHaveLength(count);
  });
});
