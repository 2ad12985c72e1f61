// When the gateway calls itself ready.
import { EventEmitter, once } from "node:events";
import { expect, it } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express from "express";
import supertest from "supertest";
import { readyz } from "./health.js";

/** @param onAsked called whenever a caller has come and waits */
function startApp(isReady: () => Promise<boolean>, isStopping = () => false, onAsked = () => {}) {
  const app = express().use(requestContext((path) => path));
  app.use((_request, _response, next) => {
    next();
    onAsked();
  });
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
  let [questions, callers] = [0, 0];
  const arrivals = new EventEmitter();
  const client = startApp(
    async () => {
      questions += 1;
      await once(arrivals, "three");
      return questions > 1;
    },
    () => false,
    () => {
      callers += 1;
      if (callers % 3 === 0) arrivals.emit("three");
    },
  );
  const askThrice = () => Promise.all([1, 2, 3].map(() => client.get("/readyz")));

  expect((await askThrice()).map(({ status }) => status)).toEqual([503, 503, 503]);
  expect((await askThrice()).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(questions).toBe(2);
});
