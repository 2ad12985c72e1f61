// Writes are refused while the disk is nearly full, and taken again once there is room.
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express from "express";
import supertest from "supertest";
import { spaceCheck } from "../space-check.js";
import { requireFreeSpace } from "./free-space.js";

afterEach(() => void jest.restoreAllMocks());

describe("the look at the disk", () => {
  it("counts what a body announces as gone, and lets writes through again as soon as there is room", async () => {
    const disk = { free: 1_000, now: 0 };
    jest.spyOn(performance, "now").mockImplementation(() => disk.now);
    const logger = makeLogger("test", "silent");
    const app = express();
    app.use(requestContext((path) => path));
    app.use(requireFreeSpace({ free: async () => disk.free, reserveBytes: 900, largestBodyBytes: 500 }));
    app.all("/", (_request, response) => void response.status(200).end());
    app.use(errorHandler(logger));
    const client = supertest(app);

    await client.post("/").send("x".repeat(50)).expect(200);
    await client.post("/").send("x".repeat(200)).expect(503);
    // Its route refuses it as too large, which no room would change.
    await client.post("/").send("x".repeat(501)).expect(200);
    Object.assign(disk, { free: 800, now: 2_000 });
    await client.patch("/").send("x").expect(503);
    await client.get("/").expect(200);
    await client.delete("/").expect(200);
    Object.assign(disk, { free: 1_000, now: 4_000 });
    await client.patch("/").send("x").expect(200);
  });

  it("lets work that goes on without a request take its next batch only while there is as much as is to be kept", async () => {
    const disk = { free: 900 };
    const requireSpace = spaceCheck({ free: async () => disk.free, reserveBytes: 900 });
    await expect(requireSpace()).resolves.toBeUndefined();
    disk.free = 899;
    await expect(requireSpace()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });
});
