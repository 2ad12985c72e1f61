// When the gateway calls itself ready.
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express from "express";
import supertest from "supertest";
import { readyz } from "./health.js";

function startApp(isReady: () => Promise<boolean>, isStopping = () => false) {
  const app = express().use(requestContext((path) => path));
  app.get("/readyz", readyz({ isReady }, isStopping));
  return supertest(app.use(errorHandler(makeLogger("test", "silent"))));
}

it("the gateway is ready until it is told to stop, though its data service still is", async () => {
  const state = { isStopping: false };
  const client = startApp(
    async () => true,
    () => state.isStopping,
  );

  await client.get("/readyz").expect(200, { status: "ok" });
  state.isStopping = true;
  const { body } = await client.get("/readyz").expect(503).expect("Retry-After", "5");
  expect(body.message).toBe("The gateway is stopping.");
});

it("callers that ask at once share one question to the data service, and the next ones ask anew", async () => {
  let questions = 0;
  const client = startApp(async () => {
    questions += 1;
    await delay(300);
    return questions > 1;
  });
  const askThrice = () => Promise.all([1, 2, 3].map(() => client.get("/readyz")));

  expect((await askThrice()).map(({ status }) => status)).toEqual([503, 503, 503]);
  expect((await askThrice()).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(questions).toBe(2);
});
