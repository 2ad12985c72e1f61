// Settings of the gateway: defaults, and one line for each problem (contract 9).
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { ConfigError } from "@portico/shared/env";
import { readConfig } from "./config.js";

const SERVICE_SECRET = "thirty-two random characters, or more";

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
  it("listens where it is told to", () => {
    const told = readConfig({
      HOST: "0.0.0.0",
      PORT: "4000",
      METRICS_HOST: "10.0.0.1",
      METRICS_PORT: "9100",
    });
    expect(told).toMatchObject({ host: "0.0.0.0", port: 4000, metricsHost: "10.0.0.1", metricsPort: 9_100 });
  });

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
      metricsPort: undefined,
      showsMetrics: true,
      metricsHost: "127.0.0.1",
      otlpEndpoint: undefined,
      maxInFlight: 1_000,
      maxEventLoopDelayMs: 1_000,
      maxWaitMs: 1_000,
      answerStallMs: 600_000,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("reads origins of ALLOWED_ORIGINS, with the prefix of their bridge where one is named", () => {
    const { allowedOrigins, bridgePrefixes } = readConfig({
      ALLOWED_ORIGINS: [
        "https://chat.example.com/portal, https://SHOP.example.com/,http://localhost:4000",
        "http://[::1]:4000,http://my_app.localhost,http://127.0.0.1,https://bücher.example,https://host.",
      ].join(","),
    });
    expect(allowedOrigins).toEqual([
      "https://chat.example.com",
      "https://shop.example.com",
      "http://localhost:4000",
      "http://[::1]:4000",
      "http://my_app.localhost",
      "http://127.0.0.1",
      "https://xn--bcher-kva.example",
      "https://host.",
    ]);
    expect([...bridgePrefixes]).toEqual([["https://chat.example.com", "/portal"]]);
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
    ["ALLOWED_ORIGINS", "https://*.example.com"],
    ["ALLOWED_ORIGINS", "https://*.example.com:8443/portal"],
    ["ALLOWED_ORIGINS", "https://a..example.com"],
    ["ALLOWED_ORIGINS", "https://a.example.com;https://b.example.com"],
    ["APP_URL", "https://*.example.com"],
    ["ALLOWED_ORIGINS", "https://a.example.com/portal?x=1"],
    ["ALLOWED_ORIGINS", "https://a.example.com/a%2fb"],
    ["ALLOWED_ORIGINS", "https://a.example.com/a,https://a.example.com"],
    ["STATIC_DIR", "/no/such/folder"],
    ["STATIC_DIR", fileURLToPath(import.meta.url)],
    ["TRUST_PROXY", "true"],
    ["TRUST_PROXY", "10.0.0.0/33"],
    ["TRUST_PROXY", "0.0.0.0/0"],
    ["TRUST_PROXY", "loopback,::/0"],
    ["TRUST_PROXY", "fe80::1%eth0"],
    ["TRUST_PROXY", "64:ff9b::1.2.3.4"],
    ["BODY_MAX_BYTES", "1mb"],
    ["UPLOAD_MAX_BYTES", "-1"],
    ["SYSTEM_TABLE_PREFIX", "../"],
    ["LOG_LEVEL", "loud"],
    ["LOG_FORMAT", "pretty"],
    ["METRICS_PORT", "on"],
    ["MAX_IN_FLIGHT", "-1"],
    ["MAX_EVENT_LOOP_DELAY_MS", "1s"],
    ["MAX_WAIT_MS", "-1"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["SERVICE_SECRET", "too short"],
    ["OAUTH_REQUIRE_FLOW_COOKIE", "no"],
    ["OAUTH_DEV_PROVIDER", "yes"],
    ["GOOGLE_TOKEN_URL", "oauth2.googleapis.com/token"],
    ["GITHUB_PROFILE_URL", "https://user:pw@api.github.com/user"],
    ["FACEBOOK_AUTHORIZATION_URL", "javascript:alert(1)"],
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
  ])(
    "in production %s has %d problems, as the app's address, an allowed origin or a provider's",
    (address, count) => {
      const production = { NODE_ENV: "production", SERVICE_SECRET };
      for (const [name, value] of [
        ["APP_URL", address],
        ["ALLOWED_ORIGINS", `https://shop.example.com,${address}`],
        ["ALLOWED_ORIGINS", `${address}/portal`],
        ["GOOGLE_AUTHORIZATION_URL", `${address}/authorize`],
        ["FACEBOOK_TOKEN_URL", `${address}/token`],
        ["GITHUB_PROFILE_URL", `${address}/user`],
      ] as const) {
        const problem = `${name} must be https when NODE_ENV is production, not "${address}`;
        expect(problems({ [name]: value, ...production })).toEqual(
          Array(count).fill(expect.stringContaining(problem)),
        );
        expect(problems({ [name]: value })).toEqual([]);
      }
    },
  );

  it("in production takes no origin of http beside an app on https, not even one of this machine (C10)", () => {
    const origins = "http://localhost:5173,http://shop.example.com,https://chat.example.com";
    const secure = { APP_URL: "https://app.example.com", ALLOWED_ORIGINS: origins };
    const production = { NODE_ENV: "production", SERVICE_SECRET };
    const refused = "ALLOWED_ORIGINS must be https when NODE_ENV is production and APP_URL is https, not";
    expect(problems({ ...secure, ...production })).toEqual([
      `${refused} "http://localhost:5173".`,
      `${refused} "http://shop.example.com".`,
    ]);
    expect(problems(secure)).toEqual([]);
  });

  it("takes as many allowed origins as go with a sign-in, prefixes and repetitions aside", () => {
    const origins = Array.from({ length: 1_024 }, (_, at) => `https://${1_000 + at}.ap.example`);
    const most = origins.map((origin) => `${origin}/portal`).concat(`${origins[0]}/portal`);
    expect(origins.join(",").length).toBe(24 * 1024 - 1);
    expect(problems({ ALLOWED_ORIGINS: most.join(",") })).toEqual([]);
    expect(problems({ ALLOWED_ORIGINS: [...most, "https://a"].join(",") })).toEqual([
      "ALLOWED_ORIGINS must be 24576 bytes of origins at most, not 24585.",
    ]);
  });

  it("needs SERVICE_SECRET in production", () => {
    expect(problems({ NODE_ENV: "production" })).toEqual([
      expect.stringContaining("SERVICE_SECRET is required"),
    ]);
  });

  it("offers the providers with id and secret, in the fixed order", () => {
    const env = {
      GITHUB_CLIENT_ID: "a",
      GITHUB_CLIENT_SECRET: "b",
      GOOGLE_CLIENT_ID: "c",
      GOOGLE_CLIENT_SECRET: "d",
      GITHUB_PROFILE_URL: "http://127.0.0.1:9/user",
    };
    const { providers, developmentProvider } = readConfig(env);
    expect([...providers.keys()]).toEqual(["google", "github"]);
    expect(providers.get("github")).toEqual({
      clientId: "a",
      clientSecret: "b",
      tokenUrl: "https://github.com/login/oauth/access_token",
      authorizationUrl: "https://github.com/login/oauth/authorize",
      profileUrl: "http://127.0.0.1:9/user",
      emailsUrl: "http://127.0.0.1:9/user/emails",
    });
    expect(developmentProvider).toBe(false);
  });

  it("knows the addresses of every provider that only has an id and a secret", () => {
    const env = Object.fromEntries(
      ["GOOGLE", "FACEBOOK", "GITHUB"].flatMap((name) => [
        [`${name}_CLIENT_ID`, "id"],
        [`${name}_CLIENT_SECRET`, "secret"],
      ]),
    );
    const known = { clientId: "id", clientSecret: "secret" };
    expect([...readConfig(env).providers]).toEqual([
      [
        "google",
        {
          ...known,
          authorizationUrl: "https://accounts.google.com/o/oauth2/v2/auth",
          tokenUrl: "https://oauth2.googleapis.com/token",
          profileUrl: "https://openidconnect.googleapis.com/v1/userinfo",
          emailsUrl: expect.any(String),
        },
      ],
      [
        "facebook",
        {
          ...known,
          authorizationUrl: "https://www.facebook.com/v24.0/dialog/oauth",
          tokenUrl: "https://graph.facebook.com/v24.0/oauth/access_token",
          profileUrl: "https://graph.facebook.com/v24.0/me",
          emailsUrl: expect.any(String),
        },
      ],
      [
        "github",
        {
          ...known,
          authorizationUrl: "https://github.com/login/oauth/authorize",
          tokenUrl: "https://github.com/login/oauth/access_token",
          profileUrl: "https://api.github.com/user",
          emailsUrl: "https://api.github.com/user/emails",
        },
      ],
    ]);
  });

  it.each(["GOOGLE_CLIENT_ID", "FACEBOOK_CLIENT_SECRET"])("refuses %s alone", (name) => {
    expect(problems({ [name]: "x" })).toEqual([expect.stringContaining("is missing")]);
  });

  it.each<[string, Record<string, string>, boolean]>([
    ["by itself on this machine", {}, true],
    ["not in production", { NODE_ENV: "production", SERVICE_SECRET }, false],
    ["not on a public address", { APP_URL: "https://app.example.com" }, false],
    ["not beside a real provider", { GOOGLE_CLIENT_ID: "a", GOOGLE_CLIENT_SECRET: "b" }, false],
    ["not when it is off", { OAUTH_DEV_PROVIDER: "off" }, false],
  ])("puts the development provider in place %s", (_name, env, expected) => {
    expect(readConfig(env).developmentProvider).toBe(expected);
  });

  it.each<[string, Record<string, string>]>([
    ["in production", { NODE_ENV: "production", SERVICE_SECRET }],
    ["on a public address", { APP_URL: "https://app.example.com" }],
    ["beside a real provider", { GOOGLE_CLIENT_ID: "a", GOOGLE_CLIENT_SECRET: "b" }],
  ])("refuses to start with the development provider on %s", (_name, env) => {
    expect(problems({ ...env, OAUTH_DEV_PROVIDER: "on" })).toEqual([
      expect.stringContaining("OAUTH_DEV_PROVIDER"),
    ]);
  });
});
