// Express finds nothing to change in requests and answers that are made for it.
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "@jest/globals";
import express from "express";
import { listen, type RunningServer } from "./server.js";

let server: RunningServer | undefined;
afterEach(() => server?.stop());

describe("requests and answers of a server that listens", () => {
  it("are Express's before it has seen them, so that it gives them no other prototype", async () => {
    const prototypes: unknown[] = [];
    const note = (request: IncomingMessage, response: ServerResponse): void =>
      void prototypes.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response));
    const app = express();
    app.use((request, response) => {
      note(request, response);
      response.json({ ip: request.ip, isOfApp: request.app === app && response.app === app });
    });
    server = await listen(app, { host: "127.0.0.1", port: 0, portVariable: "PORT" });
    server.server.prependListener("request", note);
    expect(await (await fetch(server.url)).json()).toEqual({ ip: "127.0.0.1", isOfApp: true });
    const [request, response, ...later] = prototypes;
    expect(later[0]).toBe(request);
    expect(later[1]).toBe(response);
  });
});
