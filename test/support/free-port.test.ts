// What tests rely on when they start a service on a port they choose.
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { freePort } from "./free-port.js";

describe("a port for a service of a test", () => {
  test("is never one that an outgoing connection may take meanwhile", async () => {
    for (let round = 0; round < 20; round++) expect(await freePort()).toBeLessThan(32_768);
  });

  test("is another one each time, also when many are asked for at once", async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, freePort));
    expect(new Set(ports).size).toBe(50);
  });

  test("is not one on which somebody listens", async () => {
    const taken = (await freePort()) + 1;
    const server = createServer().listen(taken, "127.0.0.1");
    await once(server, "listening");
    expect(await freePort()).not.toBe(taken);
    await once(server.close(), "close");
  });
});
