// The connection beside those that serve requests.
import { expect, it } from "@jest/globals";
import { ASIDE_LIMIT_MS, clientAside } from "./aside.js";

it("is a single one that waits less than a probe, whatever the address and the other client want", () => {
  const url = "mongodb://127.0.0.1/?minPoolSize=5&serverSelectionTimeoutMS=60000";
  const { options } = clientAside(url, {
    maxPoolSize: 50,
    waitQueueTimeoutMS: 60_000,
    monitorCommands: true,
  });
  expect(options).toMatchObject({
    maxPoolSize: 1,
    minPoolSize: 0,
    serverSelectionTimeoutMS: ASIDE_LIMIT_MS,
    waitQueueTimeoutMS: ASIDE_LIMIT_MS,
    monitorCommands: false,
  });
});

it("is otherwise made as the other client is", () => {
  const { options } = clientAside("mongodb://127.0.0.1/", { appName: "portico", connectTimeoutMS: 5_000 });
  expect(options).toMatchObject({ appName: "portico", connectTimeoutMS: 5_000 });
});
