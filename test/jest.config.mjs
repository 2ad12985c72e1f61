// Runs the compiled tests of all projects as native ES modules; `npm test` builds them first.
const BROWSER_TESTS = "<rootDir>/dist/browser/";

export default {
  rootDir: import.meta.dirname,
  roots: [
    "<rootDir>/../shared/dist",
    "<rootDir>/../data-service/dist",
    "<rootDir>/../gateway/dist",
    "<rootDir>/dist",
  ],
  testMatch: ["**/*.test.js"],
  testPathIgnorePatterns: [
    "/node_modules/",
    ...(process.env.PORTICO_BROWSER === "off" ? [BROWSER_TESTS] : []),
  ],
  testEnvironment: "node",
  transform: {},
  maxWorkers: 2,
  // For a slow and busy machine; what takes long by itself says how long.
  testTimeout: 120_000,
  globalSetup: "<rootDir>/dist/support/global-setup.js",
  globalTeardown: "<rootDir>/dist/support/global-teardown.js",
  reporters: ["default", "<rootDir>/count-reporter.mjs"],
};
