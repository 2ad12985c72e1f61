// kill -9 while a folder is deleted with all that lies in it: another instance ends what has begun, but takes nothing that has
// come since.
import { afterAll, beforeEach, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { make } from "../contract/records/make.js";
import type { Api } from "../support/api.js";
import { type QuickAndSlow, startQuickAndSlow } from "../support/behind-proxy.js";
import { isCommand, stopAt } from "../support/command-proxy.js";
import { uploaded } from "../support/files.js";
import { REPAIRING_OFTEN } from "../support/stack.js";
import { until } from "../support/wait.js";

/** A dead process is known as such after ten seconds. */
const WITHIN_MS = 40_000;

let system: QuickAndSlow;
let api: Api;

beforeEach(async () => {
  await system?.stop();
  system = await startQuickAndSlow(REPAIRING_OFTEN);
  api = system.api;
});

afterAll(() => system?.stop());

interface Folder {
  readonly folders: readonly string[];
  readonly file: string;
}

/** A folder in a folder, with a file in the inner one. */
async function filled(): Promise<Folder> {
  const top = (await make(api, "svc_folder", { name: "top" })).id;
  const inner = (await make(api, "svc_folder", { name: "inner", parent: top })).id;
  return { folders: [top, inner], file: (await uploaded(api, "1", "1.txt", { folder: inner })).id };
}

/** Kills the instance that deletes when the file has gone, and both folders are still there. */
async function killMidway({ folders: [top], file }: Folder): Promise<void> {
  const { held, slow } = system;
  const begun = await stopAt(held.proxy, isCommand("delete", "svc_folder"), () =>
    slow.delete(`/svc_folder/${top}?recursive=true`),
  );
  await held.stack.dataService.stop("SIGKILL");
  begun.goOn();
  await begun.answer.catch(() => undefined);
  expect((await api.get(`/svc_file/${file}`)).status).toBe(404);
}

const left = async ({ folders }: Folder): Promise<number> =>
  (await api.get("/svc_folder", { filter: { id: { _in: folders } } })).body.data.length;

it("takes the rest along as well", async () => {
  const folder = await filled();
  await killMidway(folder);
  expect(await left(folder)).toBe(2);
  expect(
    await until(
      () => left(folder),
      (folders) => folders === 0,
      WITHIN_MS,
    ),
  ).toBe(0);
});

it("leaves what has come into it since, with the folders in which it lies", async () => {
  const late = await uploaded(api, "2", "2.txt");
  const folder = await filled();
  await killMidway(folder);
  // The folders take nothing that is asked for by now: as a request that was looked at before the delete began.
  const moved = { folderId: new ObjectId(folder.folders[1]), updatedAt: new Date() };
  await system.held.db
    .collection("svc_file")
    .updateOne({ _id: new ObjectId(String(late.id)) }, { $set: moved });
  const notes = system.held.db.collection("_deletes");
  await until(
    () => notes.countDocuments({ done: false }),
    (open) => open === 0,
    WITHIN_MS,
  );
  expect((await api.get(`/svc_file/${late.id}`)).status).toBe(200);
  expect(await left(folder)).toBe(2);
});
