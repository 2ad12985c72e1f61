// Changes and deletes of many on a disk that fills up meanwhile.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { unavailable } from "@portico/shared/app-error";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import express from "express";
import supertest from "supertest";
import type { Deps } from "../../deps.js";
import { fileRoutes } from "../../files/routes.js";
import { type Items, openItems, ROOT } from "../../items-fixture.js";
import { LastingCaller } from "../../lasting-caller.js";
import type { SpaceUse } from "../../space-check.js";
import { remove } from "../delete/remove.js";
import { removeMany, updateMany } from "./many.js";

/** Records that are changed at a time. */
const BATCH = 8;
const RECORDS = 3 * BATCH;

let opened: Items;
let deps: Deps;
let asked: (SpaceUse | undefined)[];

beforeAll(async () => {
  opened = await openItems();
  deps = opened.deps;
});

afterAll(() => opened?.close());

const items = () => opened.db.collection("items");

beforeEach(async () => {
  asked = [];
  await items().deleteMany();
  await items().insertMany(Array.from({ length: RECORDS }, (_, at) => ({ name: `${at}` })));
});

/** There is room for one batch. */
const fillingUp = () => ({
  ...deps.records,
  requireSpace: async (use?: SpaceUse): Promise<void> => {
    asked.push(use);
    if (asked.length > 1) throw unavailable("The disk is nearly full.", 60);
  },
});
const all = (dryRun: boolean) => ({
  caller: new LastingCaller(ROOT, async () => ROOT),
  table: "items",
  parameters: { filter: { id: { _is_not_null: true } }, filterFromText: false },
  dryRun,
});
const change = (dryRun = false) => updateMany(fillingUp(), all(dryRun), { name: "changed" });
const removeAll = (dryRun = false) => removeMany(fillingUp(), all(dryRun), false, remove);
const refusal = {
  code: "SERVICE_UNAVAILABLE",
  messages: expect.stringContaining(`; ${BATCH} records were `),
  details: { changed: BATCH },
};

describe("on a disk that fills up", () => {
  it("a change of many asks for room before each batch, and says how many were changed where there is none", async () => {
    await expect(change()).rejects.toMatchObject(refusal);
    expect([asked, await items().countDocuments({ name: "changed" })]).toEqual([
      ["writing", "writing"],
      BATCH,
    ]);
  });

  it("a delete of many asks as well, for the less room that it needs", async () => {
    await expect(removeAll()).rejects.toMatchObject(refusal);
    expect([asked, await items().countDocuments()]).toEqual([["deleting", "deleting"], RECORDS - BATCH]);
  });

  it("counting what they would change needs no room", async () => {
    const counted = { matched: RECORDS, changed: 0 };
    expect([await change(true), await removeAll(true), asked]).toEqual([counted, counted, []]);
  });

  it("a folder stays with all that is in it, as it would be deleted by a route of its own", async () => {
    const app = express().use(requestContext((path) => path));
    const full = async (use?: SpaceUse): Promise<void> => {
      asked.push(use);
      throw unavailable("The disk is full.", 60);
    };
    app.use(fileRoutes({ ...deps.files, requireSpace: full }), errorHandler(makeLogger("test", "silent")));
    await supertest(app).delete("/svc_folder/64b000000000000000000002?recursive=true").expect(503);
    expect(asked).toEqual(["deleting"]);
  });
});
