// When the gateway calls itself ready.
import { expect, it } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express from "express";
import supertest from "supertest";
import { readyz } from "./health.js";

it("the gateway is ready until it is told to stop, though its data service still is", async () => {
  const state = { isStopping: false };
  const app = express().use(requestContext((path) => path));
  app.get(
    "/readyz",
    readyz({ isReady: async () => true }, () => state.isStopping),
  );
  const client = supertest(app.use(errorHandler(makeLogger("test", "silent"))));

  await client.get("/readyz").expect(200, { status: "ok" });
  state.isStopping = true;
  const { body } = await client.get("/readyz").expect(503).expect("Retry-After", "5");
  expect(body.message).toBe("The gateway is stopping.");
});
