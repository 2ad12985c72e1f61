// R7: SIGTERM while long answers are under way. They are finished; new ones are refused; the process ends well.
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { filePart, MULTIPART, multipartBody, textPart } from "../support/multipart.js";
import { readSlowly } from "../support/slow-reader.js";
import { isLong, type NotesSystem, size, startNotesSystem } from "./support/notes-system.js";

const CYCLES = size(1, 20);
const DOWNLOADS = 20;
const FILE_BYTES = 4 * 1024 * 1024;

let system: NotesSystem;
let address: string;

beforeAll(async () => {
  system = await startNotesSystem({ direct: true });
  const body = multipartBody([
    textPart("isPublic", "true"),
    filePart("file", "long.bin", "a/b", Buffer.alloc(FILE_BYTES, 0xab)),
  ]);
  const uploaded = await system.client.ask("POST", "/svc_file", {
    body,
    headers: { "Content-Type": MULTIPART },
  });
  address = `/assets/${JSON.parse(uploaded.text).data[0].id}`;
});

afterAll(() => system.stop());

/** Downloads that have begun and have most of their bytes before them. */
async function begin(base: string) {
  const downloads = await Promise.all(
    Array.from({ length: DOWNLOADS }, () => readSlowly(base + address, {})),
  );
  await Promise.all(downloads.map((download) => download.readTo(1)));
  return downloads;
}

describe.each(["dataService", "gateway"] as const)(
  `SIGTERM of the %s under ${DOWNLOADS} downloads`,
  (name) => {
    it(
      "finishes each, takes no new connection, and ends with 0",
      async () => {
        for (let cycle = 0; cycle < CYCLES; cycle += 1) {
          const service = system.stack[name];
          const downloads = await begin(system.stack.appUrl);
          const ended = once(service.process, "exit");
          const began = performance.now();
          service.process.kill("SIGTERM");
          // Refused from here on: what was idle is closed, and nobody listens any more.
          await expect(refused(`${service.url}/healthz`)).resolves.toBe(true);
          expect(service.process.exitCode).toBeNull();
          const lengths = await Promise.all(downloads.map((download) => download.readAll()));
          expect(new Set(lengths)).toEqual(new Set([FILE_BYTES]));
          expect(await ended).toEqual([0, null]);
          if (isLong) console.log(name, "ended after ms", Math.round(performance.now() - began));
          await (name === "gateway" ? system.stack.restartGateway() : system.stack.restartDataService());
        }
      },
      size(1, 20) * 60_000,
    );
  },
);

/** Waits until nobody listens there. */
async function refused(url: string): Promise<boolean> {
  for (let tries = 0; tries < 500; tries += 1) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (!answered) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}
