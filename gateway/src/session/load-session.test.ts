// A session moves on only where its new cookies can reach somebody.
import { afterEach, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { requestContext } from "@portico/shared/http-context";
import { listen, type RunningServer } from "@portico/shared/server";
import express from "express";
import { receivedFrom } from "./caller.js";
import { refreshSession, type Session } from "./load-session.js";
import { makeSupersededTokens } from "./superseded-tokens.js";

const APP_URL = "http://localhost:3000";

let server: RunningServer;
afterEach(() => server.stop());

/** Refreshes the session of a request. @returns what comes of it, and how often that was asked for */
async function refresh(before: (response: express.Response) => void): Promise<[Session, number]> {
  let refreshed = 0;
  const deps = {
    appUrl: APP_URL,
    pageOrigins: [APP_URL],
    clock: systemClock,
    async refresh() {
      refreshed += 1;
      return { kind: "refused" } as const;
    },
    borrow: async () => undefined,
    supersededTokens: makeSupersededTokens(),
  };
  const app = express().use(requestContext((path) => path));
  const found = new Promise<Session>((resolve, reject) => {
    app.use((request, response) => {
      before(response);
      const carried = { refreshToken: "svc_rt_1", spelling: "plain" } as const;
      refreshSession(deps, carried, receivedFrom(request), response)
        .finally(() => response.end())
        .then(resolve, reject);
    });
  });
  server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
  await fetch(server.url).catch(() => {});
  return [await found, refreshed];
}

it("is refreshed for a client that waits", async () => {
  expect(await refresh(() => {})).toEqual([{ kind: "anonymous" }, 1]);
});

it("is not refreshed for one that has left", async () => {
  expect(await refresh((response) => response.destroy())).toEqual([{ kind: "anonymous" }, 0]);
});
