// When the data service calls itself ready.
import { expect, it } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express from "express";
import supertest from "supertest";
import { readyz } from "./readyz.js";

it("the data service is ready until it is told to stop, though its database still is", async () => {
  const health = { stopping: false };
  const app = express().use(requestContext((path) => path));
  app.get("/readyz", readyz({ isReady: async () => true }, health));
  const client = supertest(app.use(errorHandler(makeLogger("test", "silent"))));

  await client.get("/readyz").expect(200, { status: "ready" });
  health.stopping = true;
  const { body } = await client.get("/readyz").expect(503).expect("Retry-After", "5");
  expect(body.message).toBe("The data service is stopping.");
});
