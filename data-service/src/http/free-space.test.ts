// Writes are refused while the disk is nearly full, and taken again once there is room.
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express, { type Request, type RequestHandler, type Response } from "express";
import supertest from "supertest";
import { AnnouncedSpace, spaceCheck } from "../space-check.js";
import { requireFreeSpace, requireSpaceToDelete } from "./free-space.js";
import { jsonBody } from "./json-body.js";

afterEach(() => void jest.restoreAllMocks());

/** An app behind the look at a disk with so many free bytes. */
function clientOf(disk: { readonly free: number }, keepsNoFiles = false, route = [answer]) {
  return clientBehind(requireFreeSpace({ ...onDisk(async () => disk.free), keepsNoFiles }), route);
}

function onDisk(free: () => Promise<number>) {
  const announced = new AnnouncedSpace({ free, reserveBytes: 900 });
  return { announced, largestBodyBytes: 500, keepsNoFiles: false };
}

const answer: RequestHandler = (_request, response) => void response.status(200).end();

function clientBehind(handler: RequestHandler, route = [answer]) {
  const app = express();
  app.use(requestContext((path) => path));
  app.use(handler);
  app.all("/", ...route);
  app.use(errorHandler(makeLogger("test", "silent")));
  return supertest(app);
}

describe("the look at the disk", () => {
  it("counts what a body announces as gone, and lets writes through again as soon as there is room", async () => {
    const disk = { free: 1_000, now: 0 };
    jest.spyOn(performance, "now").mockImplementation(() => disk.now);
    const client = clientOf(disk);

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

  describe("at a body that has come", () => {
    const json = (client: ReturnType<typeof clientOf>) =>
      client.post("/").set("Content-Type", "application/json");

    it("counts it until a look at the disk can see what became of it", async () => {
      const disk = { free: 1_000, now: 0 };
      jest.spyOn(performance, "now").mockImplementation(() => disk.now);
      const held: Response[] = [];
      const client = clientOf(disk, false, [
        ...jsonBody(500),
        (_request, response) => void held.push(response),
      ]);
      const create = () => json(client).send('{"a":1}');
      // Each is written six times at most, and a hundred bytes are free above the reserve.
      const begun = Promise.all([create().expect(200), create().expect(200)]);
      while (held.length < 2) await delay(5);
      await create().expect(503);
      for (const response of held.splice(0)) response.end();
      await begun;
      await create().expect(503);
      disk.now = 1_000;
      const next = Promise.all([create().expect(200)]);
      while (held.length < 1) await delay(5);
      held[0]?.end();
      await next;
    });

    it("counts it while it is being written, also for a client that has gone away", async () => {
      const disk = { free: 1_000, now: 0 };
      jest.spyOn(performance, "now").mockImplementation(() => disk.now);
      const held: Response[] = [];
      const hold: RequestHandler = (_request, response) => void held.push(response);
      const client = clientOf(disk, false, [...jsonBody(500), hold]);
      const leaving = json(client).send(`"${"x".repeat(12)}"`);
      leaving.end(() => {});
      while (held.length < 1) await delay(5);
      leaving.abort();
      while (held[0]?.destroyed === false) await delay(5);
      for (disk.now = 1_000; disk.now < 5_000; disk.now += 1_000)
        await json(client).send('{"a":1}').expect(503);
      held[0]?.json({});
      await delay(1_100);
      const next = Promise.all([json(client).send('{"a":1}').expect(200)]);
      while (held.length < 2) await delay(5);
      held[1]?.end();
      await next;
    });

    it("takes it off once, also where a look at the disk takes longer than it counts", async () => {
      const disk = { now: 0 };
      jest.spyOn(performance, "now").mockImplementation(() => disk.now);
      const looks: ((free: number) => void)[] = [];
      const free = () => new Promise<number>((resolve) => void looks.push(resolve));
      const client = clientBehind(requireFreeSpace(onDisk(free)), [...jsonBody(500), answer]);
      const create = () =>
        json(client)
          .send('{"a":1}')
          .then(({ status }) => status);
      const lookingOn = () =>
        setInterval(() => {
          for (const resolve of looks.splice(0)) resolve(1_000);
        }, 5);
      let ending = lookingOn();
      expect(await create()).toBe(200);
      clearInterval(ending);
      disk.now = 1_000;
      const second = create();
      await delay(50);
      disk.now = 2_000;
      const third = create();
      await delay(50);
      ending = lookingOn();
      expect(await Promise.all([second, third])).toEqual([200, 200]);
      clearInterval(ending);
      // These two count still.
      expect(await create()).toBe(503);
    });

    it("looks again at once where a look has failed", async () => {
      const looks = [Promise.reject(new Error("EIO")), Promise.resolve(1_000)];
      const free = () => looks.shift() ?? Promise.resolve(0);
      const client = clientBehind(requireFreeSpace(onDisk(free)));
      await client.post("/").expect(500);
      await client.post("/").expect(200);
    });

    it.each([
      [941, 503],
      [942, 200],
    ])("knows its size where nothing has said it before: of %d bytes it takes 42", async (free, status) => {
      const request = json(clientOf({ free }, false, [...jsonBody(500), answer]));
      request.write('{"a":1}');
      expect((await request).status).toBe(status);
    });

    it("has not counted it while it was on its way", async () => {
      const reached: Request[] = [];
      const note: RequestHandler = (request, _response, next) => {
        reached.push(request);
        next();
      };
      const client = clientOf({ free: 1_000 }, false, [note, ...jsonBody(500), answer]);
      const slow = json(client).set("Content-Length", "90");
      slow.write("{");
      while (reached.length < 1) await delay(5);
      await json(client).send('{"a":1}').expect(200);
      slow.write(`"a":"${"x".repeat(82)}"}`);
      expect((await slow).status).toBe(503);
    });
  });

  it.each([
    ["a file that goes to a bucket", true, "multipart/form-data; boundary=x", 200],
    ["a file that goes to the disk", false, "multipart/form-data; boundary=x", 503],
    ["what is no file, beside a bucket", true, "application/json", 503],
  ])("of %s", async (_what, keepsNoFiles, type, status) => {
    const client = clientOf({ free: 1_000 }, keepsNoFiles);
    await client.post("/").set("Content-Type", type).send("x".repeat(200)).expect(status);
  });

  it("keeps the reserve for all that is written beside a bucket", async () => {
    const client = clientOf({ free: 899 }, true);
    await client.post("/").set("Content-Type", "multipart/form-data; boundary=x").send("x").expect(503);
  });

  it("lets work that goes on without a request take its next batch only while there is as much as is to be kept", async () => {
    const disk = { free: 900 };
    const requireSpace = spaceCheck({ free: async () => disk.free, reserveBytes: 900 });
    await expect(requireSpace()).resolves.toBeUndefined();
    disk.free = 899;
    await expect(requireSpace()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });

  it.each([
    [1_000, 500],
    [2 ** 50, 128 * 2 ** 20],
  ])("lets deletes go on below a reserve of %d bytes while %d are free", async (reserveBytes, least) => {
    const disk = { free: least };
    const requireSpace = spaceCheck({ free: async () => disk.free, reserveBytes });
    await expect(requireSpace("deleting")).resolves.toBeUndefined();
    disk.free = least - 1;
    await expect(requireSpace("deleting")).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });

  it("gives the same space to one of those that announce their work at once", async () => {
    const announced = new AnnouncedSpace({ free: async () => 1_000, reserveBytes: 900 });
    const ended = await Promise.allSettled([announced.announce(60), announced.announce(60)]);
    expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });

  it("leaves to work that goes on without a request what others have not announced", async () => {
    const disk = { free: async () => 1_000, reserveBytes: 900 };
    const announced = new AnnouncedSpace(disk);
    const requireSpace = spaceCheck(disk, announced);
    const written = await announced.announce(400, "deleting");
    await expect(requireSpace()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    await expect(requireSpace("deleting")).resolves.toBeUndefined();
    written();
    await expect(requireSpace()).resolves.toBeUndefined();
  });

  it("refuses single deletes, too, before the disk is full, and nothing else with them", async () => {
    const disk = { free: 450 };
    const requireSpace = spaceCheck({ free: async () => disk.free, reserveBytes: 900 });
    const client = clientBehind(requireSpaceToDelete(requireSpace));
    await client.delete("/").expect(200);
    disk.free = 449;
    await client.delete("/").expect(503);
    await client.get("/").expect(200);
  });

  it("lets dry runs through, which write nothing", async () => {
    const requireSpace = spaceCheck({ free: async () => 0, reserveBytes: 900 });
    const deleting = clientBehind(requireSpaceToDelete(requireSpace));
    await deleting.delete("/?filter=%7B%7D&dryRun=true").expect(200);
    await deleting.delete("/?dryRun=false").expect(503);
    const writing = clientOf({ free: 0 }, false, [...jsonBody(500), answer]);
    await writing.patch("/?dryRun=true").send({ a: 1 }).expect(200);
    await writing.patch("/?dryRun=false").send({ a: 1 }).expect(503);
  });
});
