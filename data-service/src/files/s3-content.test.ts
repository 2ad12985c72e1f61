// A bucket that goes silent: what waits for it is told soon, and who takes their time is not taken for it.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { ContentStore } from "./content-store.js";
import { makeS3Content } from "./s3-content.js";

const SILENCE_MS = 300;
const BYTES = Buffer.alloc(1024 * 1024, "0123456789 ");
const BEGUN = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
const COMPLETED = "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>";
const WHOLE = { start: 0, end: BYTES.length - 1 };

let server: Server;
let content: ContentStore;
/** What the bucket does when it is asked. */
let answer: (response: ServerResponse) => unknown;

beforeEach(async () => {
  server = createServer((request, response) => {
    request.resume().once("end", () => answer(response));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const keys = { accessKeyId: "key", secretAccessKey: "secret" };
  const endpoint = `http://127.0.0.1:${port}`;
  content = makeS3Content({ endpoint, bucket: "files", region: "eu-test-1", ...keys }, SILENCE_MS);
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function read(): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content.read("key", WHOLE)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe.each<[string, (response: ServerResponse) => unknown]>([
  ["before it answers", () => undefined],
  ["with the head of an answer", (response) => response.writeHead(200).flushHeaders()],
  ["within an answer", (response) => response.write(BYTES.subarray(0, 1_000))],
])("a bucket that goes silent %s", (_when, goSilent) => {
  it("is down for the reader, and nothing stays open", async () => {
    let closed: Promise<unknown> | undefined;
    answer = (response) => {
      closed = once(response, "close");
      goSilent(response);
    };
    const refusal = { code: "SERVICE_UNAVAILABLE", headers: { "Retry-After": "2" } };
    await expect(read()).rejects.toMatchObject(refusal);
    await closed;
  });
});

describe("a bucket that goes silent when it is told something", () => {
  /** @returns the end of the connection on which it goes silent */
  const silentAt = (line: RegExp, goSilent: (response: ServerResponse) => unknown): Promise<unknown> =>
    new Promise((closed) => {
      answer = (response) => {
        const { method, url } = response.req;
        if (line.test(`${method} ${url}`)) goSilent(response.once("close", closed));
        else if (method === "POST") response.end(BEGUN);
        else response.setHeader("ETag", '"1"').end();
      };
    });
  const write = () =>
    content.write(
      "key",
      (async function* () {
        for (let megabytes = 0; megabytes < 6; megabytes += 1) yield BYTES;
      })(),
    );

  it.each<[string, RegExp, () => Promise<void>]>([
    ["to remove a file", /^DELETE /, () => content.remove("key")],
    ["to begin a file of several parts", /^POST .*\?uploads/, write],
    ["to take a part", /^PUT /, write],
    ["to put the parts together", /^POST .*\?uploadId/, write],
  ])("%s, is down, and nothing stays open", async (_what, line, act) => {
    const closed = silentAt(line, () => undefined);
    const failure = await act().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(content.mayStillLand(failure)).toBe(true);
    await closed;
  });

  it("is down when it says no more than that it has been told", async () => {
    const closed = silentAt(/^POST .*\?uploadId/, (response) => response.writeHead(200).flushHeaders());
    const failure = await write().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(content.mayStillLand(failure)).toBe(true);
    await closed;
  });

  it.each([
    ["refuses it", 403, false],
    ["fails at it", 500, true],
    ["answers 200 with no more than an error", 200, false],
  ])("that %s (%i): the file may come all the same: %p", async (_what, status, mayLand) => {
    silentAt(/^POST .*\?uploadId/, (response) => response.writeHead(status).end("<Error></Error>"));
    const failure = await write().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(content.mayStillLand(failure)).toBe(mayLand);
  });
});

describe("a bucket that has no such object", () => {
  const lacking = (code: string, type = "application/xml") => {
    const body = `<Error><Code>${code}</Code></Error>`;
    answer = (response) => response.writeHead(404, { "Content-Type": type }).end(body);
  };
  const down = { code: "SERVICE_UNAVAILABLE" };

  it("is not down: a read fails for good", async () => {
    lacking("NoSuchKey");
    await expect(read()).rejects.toMatchObject({ code: "NOT_FOUND", key: "key" });
  });

  it("has removed it already, even if it calls that an error", async () => {
    lacking("NoSuchKey");
    await content.remove("key");
  });

  it.each(["application/xml", "application/xml; charset=utf-8"])(
    "is down if there is no such bucket, which it says as %s",
    async (type) => {
      lacking("NoSuchBucket", type);
      await expect(read()).rejects.toMatchObject(down);
      await expect(content.remove("key")).rejects.toMatchObject(down);
    },
  );

  it("is down if something else answers that nothing is there", async () => {
    answer = (response) =>
      response.writeHead(404, { "Content-Type": "text/plain" }).end("404 page not found");
    await expect(read()).rejects.toMatchObject(down);
    await expect(content.remove("key")).rejects.toMatchObject(down);
  });

  it.each([
    ["AccessDenied", true],
    ["SignatureDoesNotMatch", false],
  ])("may be one that tells nobody who can't list its objects: 403 %s: %p", async (code, mayLack) => {
    answer = (response) => response.writeHead(403).end(`<Error><Code>${code}</Code></Error>`);
    const failure = await read().catch((error: unknown) => error);
    expect(failure).toMatchObject(down);
    expect(content.mayLack?.(failure)).toBe(mayLack);
  });

  it("is not one that fails, or says nothing", async () => {
    for (const goSilent of [false, true]) {
      answer = (response) => (goSilent ? undefined : response.writeHead(503).end("AccessDenied"));
      const failure = await read().catch((error: unknown) => error);
      expect([failure, content.mayLack?.(failure)]).toMatchObject([down, false]);
    }
  });

  it("does not take a file whose upload it has ended by itself", async () => {
    answer = (response) => {
      const { method, url } = response.req;
      if (/^POST .*\?uploads/.test(`${method} ${url}`)) response.end(BEGUN);
      else response.writeHead(404).end("<Error><Code>NoSuchUpload</Code></Error>");
    };
    const parts = (async function* () {
      for (let megabytes = 0; megabytes < 6; megabytes += 1) yield BYTES;
    })();
    await expect(content.write("key", parts)).rejects.toMatchObject(down);
  });
});

describe("a bucket that takes its time", () => {
  it("is read to the end while there is always more", async () => {
    answer = async (response) => {
      for (let at = 0; at < BYTES.length; at += BYTES.length / 4) {
        response.write(BYTES.subarray(at, at + BYTES.length / 4));
        await pause(SILENCE_MS / 2);
      }
      response.end();
    };
    expect((await read()).equals(BYTES)).toBe(true);
  });

  it("may do so with what it is sent", async () => {
    answer = (response) => setTimeout(() => response.end(), 2 * SILENCE_MS);
    await content.write(
      "key",
      (async function* () {
        yield BYTES;
      })(),
    );
  });
});

it("a file comes in parts of one size, the last one shorter, in whatever pieces its bytes come", async () => {
  const lengths: number[] = [];
  answer = (response) => {
    const { method, headers } = response.req;
    if (method === "PUT") lengths.push(Number(headers["content-length"]) / BYTES.length);
    if (method === "PUT") response.setHeader("ETag", '"1"').end();
    else response.end(lengths.length === 0 ? BEGUN : COMPLETED);
  };
  await content.write(
    "key",
    (async function* () {
      for (const megabytes of [3, 4, 6, 1, 5, 2]) yield Buffer.alloc(megabytes * BYTES.length);
    })(),
  );
  expect(lengths).toEqual([5, 5, 5, 5, 1]);
});

it("a reader may take their time", async () => {
  answer = (response) => response.end(BYTES);
  const pieces = content.read("key", WHOLE)[Symbol.asyncIterator]();
  const first = (await pieces.next()).value;
  await pause(2 * SILENCE_MS);
  let length = first.length;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) length += next.value.length;
  expect(length).toBe(BYTES.length);
});
