// The whole of corpora/uploads.json, through the gateway: what is accepted is harmless, what is refused leaves nothing.
import { readFileSync } from "node:fs";
import { get as httpGet } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MongoClient } from "mongodb";
import sharp from "sharp";
import { openSocket, sendRaw, statuses } from "../../gateway/support/raw-http.js";
import { apiOf, asAdmin, signIn } from "../../support/api.js";
import { type Kept, keptIn, NOTHING_KEPT, uploaded } from "../../support/files.js";
import {
  BOUNDARY,
  filePart,
  MULTIPART,
  multipartBody,
  type Part,
  type RawAnswer,
  sendBody,
  textPart,
} from "../../support/multipart.js";
import { openHandles, pidOf, residentBytes } from "../../support/process-facts.js";
import { roleFor } from "../../support/rules.js";
import { projectRoot } from "../../support/run-state.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";

interface Case {
  readonly id: string;
  readonly class: string;
  readonly why: string;
  readonly filename?: string;
  readonly contentType?: string;
  readonly contentBase64?: string;
  readonly request?: string;
  readonly expect: {
    readonly upload?: readonly number[];
    readonly status?: number | readonly number[];
    readonly type?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly download?: { readonly headers: Readonly<Record<string, string>>; readonly body?: string };
  };
}

const { cases } = JSON.parse(readFileSync(join(projectRoot, "test/corpora/uploads.json"), "utf8")) as {
  cases: Case[];
};
const LIMIT = 3 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;
const ANN = { email: "ann@example.com", password: "correct horse battery" };

let stack: Stack;
let database: MongoClient;
let authorization: Record<string, string>;
let stranger: Record<string, string>;
/** A public file of 100,000 bytes. */
let asset: string;
let handles: readonly number[];

const processes = (): number[] => [stack.gateway, stack.dataService].map(({ process }) => pidOf(process));
const handlesNow = (): Promise<number[]> => Promise.all(processes().map(openHandles));

beforeAll(async () => {
  stack = await startStack({ env: { UPLOAD_MAX_BYTES: String(LIMIT) } });
  database = await MongoClient.connect(stack.mongodbUrl);
  const admin = await asAdmin(stack);
  const role = await roleFor(admin, "editor", ["svc_file", "svc_folder"]);
  await admin.post("/svc_user", [
    { ...ANN, role },
    { ...ANN, email: "eve@example.com" },
  ]);
  authorization = await bearerOf(ANN.email);
  stranger = await bearerOf("eve@example.com");
  const { id } = await uploaded(admin, Buffer.alloc(100_000, 1), "asset.bin", { isPublic: "true" });
  asset = `${stack.appUrl}/api/assets/${id}`;
  handles = await handlesNow();
});
afterAll(async () => {
  await database?.close();
  await stack?.stop();
});

async function bearerOf(email: string): Promise<Record<string, string>> {
  const { body } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", { ...ANN, email });
  return { Authorization: `Bearer ${body.accessToken}` };
}

const fileUrl = (): string => `${stack.appUrl}/api/svc_file`;

function send(
  body: Buffer | AsyncIterable<Buffer>,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  return sendBody("POST", fileUrl(), { ...authorization, "Content-Type": MULTIPART, ...headers }, body);
}

/** In pieces, so that nobody knows beforehand how much it is. */
async function* zeros(length: number): AsyncGenerator<Buffer> {
  const [head = "", end = ""] = multipartBody([filePart("file", "big.bin", "application/octet-stream", "|")])
    .toString()
    .split("|");
  const piece = Buffer.alloc(65_536);
  yield Buffer.from(head);
  for (let left = length; left > 0; left -= piece.length)
    yield piece.subarray(0, Math.min(left, piece.length));
  yield Buffer.from(end);
}

const single = (content: Uint8Array | string, filename = "big.bin"): Buffer =>
  multipartBody([filePart("file", filename, "application/octet-stream", content)]);
const named = (name: string): Part => textPart(name, "x");

/** A PNG that says it has 2.5 thousand million pixels. */
async function hugePng(): Promise<Buffer> {
  const png = await sharp({ create: { width: 1, height: 1, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  png.writeUInt32BE(50_000, 16);
  png.writeUInt32BE(50_000, 20);
  return Buffer.concat([png, Buffer.alloc(1_024)]);
}

function manyFrames(count: number): Buffer {
  const head = Buffer.from("474946383961010001008000000000ffffff", "hex");
  const frame = Buffer.from("21f904000100000000" + "2c00000000010001000002024401" + "00", "hex");
  return Buffer.concat([head, ...Array.from({ length: count }, () => frame), Buffer.from(";")]);
}

/** What each case with `generate` or `steps` sends. */
const SENT: Readonly<Record<string, () => Promise<RawAnswer | readonly number[]>>> = {
  U071: () => send(single(Buffer.alloc(LIMIT))),
  U072: () => send(single(Buffer.alloc(LIMIT + 1))),
  U073: async () => {
    const { host } = new URL(stack.appUrl);
    const lines = [
      `POST /api/svc_file HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization.Authorization}`,
      `Content-Type: ${MULTIPART}\r\nContent-Length: 10\r\n\r\n${"0".repeat(LIMIT)}`,
    ];
    const seen = statuses(await sendRaw(stack.appUrl, lines.join("\r\n"), 500));
    // The bytes that are too many are cut off, and that may take the answer along; a second one there never is.
    return seen.length === 0 ? [400] : seen;
  },
  U074: () => send(zeros(LIMIT * 2)),
  U075: async () => {
    const all = await Promise.allSettled(Array.from({ length: 50 }, () => send(zeros(LIMIT * 2))));
    // Whoever sends on after the refusal for too long is cut off, and may not get to read it.
    return all.flatMap((each) => (each.status === "fulfilled" ? [each.value.status] : []));
  },
  U076: () =>
    send(multipartBody(Array.from({ length: 1_000 }, (_, at) => filePart("file", `${at}`, "a/b", "x")))),
  U078: () => send(multipartBody([named("n".repeat(MEBIBYTE)), filePart("file", "x", "a/b", "x")])),
  U079: () => send(multipartBody([named(`a${"[b]".repeat(10_000)}`), filePart("file", "x", "a/b", "x")])),
  U080: () => {
    const part = filePart("file", "x", "a/b", "x");
    return send(multipartBody([{ ...part, head: [...part.head, `X-Long: ${"x".repeat(2 * MEBIBYTE)}`] }]));
  },
  U081: async () => send(single(await hugePng(), "bomb.png")),
  U082: () => send(single(manyFrames(100_000), "frames.gif")),
  U084: () => send(single(Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(100_000)]), "bomb.zip")),
  U090: () => send(single("x"), { "Content-Type": "multipart/form-data; boundary=another" }),
  U091: () => send(single("x"), { "Content-Type": "multipart/form-data" }),
  U092: () => send(single("x"), { "Content-Type": 'multipart/form-data; boundary="a\\r\\nX: y"' }),
  U093: () => sendBody("POST", fileUrl(), authorization, Buffer.from("raw")),
  U094: () => send(multipartBody([{ head: ['Content-Disposition: form-data; filename="x"'], content: "x" }])),
  U096: () => send(multipartBody([textPart("folder", "999999"), filePart("file", "x", "a/b", "x")])),
  U097: () => send(multipartBody([textPart("folder", '{"$ne":null}'), filePart("file", "x", "a/b", "x")])),
  U098: () => sendBody("POST", fileUrl(), { "Content-Type": MULTIPART, Expect: "100-continue" }, single("x")),
  U099: () => {
    const id = asset.split("/").at(-1);
    const headers = { ...stranger, "Content-Type": MULTIPART };
    return sendBody("PATCH", `${fileUrl()}/${id}`, headers, single("replaced"));
  },
};

/**
 * What is kept once no upload is under way. The gateway answers for itself when a body is too large, and the data service may
 * not even have begun to store it by then.
 */
function keptAtRest(): Promise<Kept> {
  return until(
    () => keptIn(database),
    ({ records, contents, pending }) => pending === 0 && contents === records,
  );
}

describe.each(["size", "bomb", "protocol"])("uploads of the class %s", (name) => {
  const chosen = cases.filter((each) => each.class === name && each.expect.upload !== undefined);

  test.each(chosen.map((each) => [each.id, each.why, each] as const))("%s %s", async (id, _why, given) => {
    const before = await keptAtRest();
    const memory = await Promise.all(processes().map(residentBytes));
    const began = performance.now();
    const sent = await SENT[id]?.();
    const answered = sent !== undefined && "status" in sent ? [sent.status] : (sent ?? []);
    for (const status of answered) expect(given.expect.upload).toContain(status);
    expect(answered).not.toHaveLength(0);
    if (answered.every((status) => status >= 400)) {
      await until(
        () => keptIn(database),
        (kept) => JSON.stringify(kept) === JSON.stringify(before),
        30_000,
      );
    }
    const grown = await Promise.all(processes().map(residentBytes));
    for (const [at, bytes] of grown.entries()) expect(bytes - (memory[at] ?? 0)).toBeLessThan(150 * MEBIBYTE);
    // Far more than any of them takes, and far less than unpacking, decoding or backtracking would.
    expect(performance.now() - began).toBeLessThan(30_000);
  });
});

const SCRIPTABLE = /html|svg|xml|javascript|ecmascript/;

/** The corpus' words for a header, as a test. */
function holds(name: string, words: string, value: string): boolean {
  if (name === "content-disposition") {
    const plain = !/[\r\n/\\\u202a-\u202e]/.test(value.replace(/filename\*=.*$/, ""));
    return plain && (words.startsWith("inline") ? /^(inline|attachment)/ : /^attachment/).test(value);
  }
  if (name === "content-security-policy")
    return value.includes("default-src 'none'") && (!words.includes("sandbox") || value.includes("sandbox"));
  return words.split(" or ").includes(value);
}

describe.each(["control", "filename", "active-content", "content-type"])("files of the class %s", (name) => {
  const chosen = cases.filter((each) => each.class === name);

  test.each(chosen.map((each) => [each.id, each.why, each] as const))("%s %s", async (_id, _why, given) => {
    const { filename = "", contentType = "", contentBase64 = "", expect: wanted } = given;
    const content = Buffer.from(contentBase64, "base64");
    const parts = [filePart("file", filename, contentType, content), textPart("isPublic", "true")];
    const answer = await send(multipartBody(parts));
    expect(wanted.upload).toContain(answer.status);
    if (answer.status >= 400) return;
    const [record] = JSON.parse(answer.body.toString()).data;
    const sent = await fetch(`${stack.appUrl}/assets/${record.id}`);
    expect([sent.status, sent.headers.get("content-length")]).toEqual([200, String(content.length)]);
    for (const [header, words] of Object.entries(wanted.download?.headers ?? {}))
      expect([header, holds(header, words, sent.headers.get(header) ?? "")]).toEqual([header, true]);
    const type = sent.headers.get("content-type") ?? "";
    if (wanted.type?.startsWith("image/png")) expect(type).toBe("image/png");
    if (SCRIPTABLE.test(type)) expect(sent.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(sent.headers.get("x")).toBeNull();
    expect(Buffer.from(await sent.arrayBuffer()).equals(content)).toBe(true);
  });
});

/** The header of a download case, taken from its words. */
function rangeOf({ id, request = "" }: Case): Record<string, string> {
  if (id === "U108") return { Range: `bytes=${"0-,".repeat(999)}0-` };
  if (id === "U110") return { "If-Range": '"old"', Range: "bytes=0-9" };
  return { Range: /Range: (\S+)/.exec(request)?.[1] ?? "" };
}

describe("downloads", () => {
  const ranges = cases.filter(
    ({ class: name, request }) => name === "download" && request?.includes("Range"),
  );

  test.each(ranges.map((each) => [each.id, each.why, each] as const))("%s %s", async (_id, _why, given) => {
    const answer = await fetch(asset, { headers: rangeOf(given) });
    expect([given.expect.status].flat()).toContain(answer.status);
    for (const [name, value] of Object.entries(given.expect.headers ?? {}))
      expect(answer.headers.get(name)).toBe(value.replace("TOTAL", "100000"));
    if (answer.status < 400) expect((await answer.arrayBuffer()).byteLength).toBeLessThanOrEqual(100_000);
  });

  test.each([
    ["U116", "..%2f..%2fetc%2fpasswd"],
    ["U117", "%7B%22$ne%22:null%7D"],
    ["U118", `${"0".repeat(24)}?download=a%0d%0aX:1`],
  ])("%s: %s is refused", async (_id, path) => {
    const answer = await fetch(`${stack.appUrl}/api/assets/${path}`);
    expect([400, 404]).toContain(answer.status);
    expect(answer.headers.get("x")).toBeNull();
  });

  test("U119: slow readers hold little memory, here two hundred of 3 MiB", async () => {
    const admin = await signIn(`${stack.appUrl}/api`, stack.admin);
    const { id } = await uploaded(admin, Buffer.alloc(LIMIT, 1), "slow.bin", { isPublic: "true" });
    const before = await Promise.all(processes().map(residentBytes));
    const readers = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const request = httpGet(`${stack.appUrl}/assets/${id}`, { agent: false });
        // The head is here, and nobody reads what follows.
        await new Promise<void>((resolve) =>
          request.once("response", (answer) => resolve(void answer.pause())),
        );
        return request;
      }),
    );
    // Each of the two sends as far as buffers go; then nothing may move any more.
    const grown = await settled(async () => Promise.all(processes().map(residentBytes)));
    for (const [at, bytes] of grown.entries()) expect(bytes - (before[at] ?? 0)).toBeLessThan(150 * MEBIBYTE);
    for (const request of readers) request.on("error", () => undefined).destroy();
  });

  test("U087, U120: clients that go away leave no bytes, notes or handles", async () => {
    const before = await keptAtRest();
    const { host } = new URL(stack.appUrl);
    const head = [
      `POST /api/svc_file HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization.Authorization}`,
      `Content-Type: ${MULTIPART}\r\nContent-Length: ${LIMIT}\r\n\r\n--${BOUNDARY}`,
      'Content-Disposition: form-data; name="file"; filename="x"\r\n\r\n',
    ].join("\r\n");
    const socket = await openSocket(stack.appUrl);
    await new Promise((resolve) =>
      socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(LIMIT / 2)]), resolve),
    );
    await until(
      () => keptIn(database),
      ({ chunks }) => chunks > before.chunks,
      10_000,
    );
    socket.destroy();
    const request = httpGet(asset, { agent: false });
    await new Promise((resolve) => request.once("response", resolve));
    request.on("error", () => undefined).destroy();
    await until(
      () => keptIn(database),
      (kept) => JSON.stringify(kept) === JSON.stringify(before),
      30_000,
    );
  });
});

describe("after all of them", () => {
  test("every case was sent", () => {
    const named = new Set([...Object.keys(SENT), "U087", "U116", "U117", "U118", "U119", "U120"]);
    const left = cases.filter(
      ({ id, contentBase64, request }) =>
        !named.has(id) && contentBase64 === undefined && !request?.includes("Range"),
    );
    expect(left.map(({ id, why }) => `${id} ${why}`)).toEqual([]);
  });

  test("each record has its bytes, and there are no others", async () => {
    const { records, variants } = await keptAtRest();
    expect(variants).toBe(0);
    expect(records).toBeGreaterThan(NOTHING_KEPT.records);
    const stored = await database.db().collection("svc_file").distinct("_contentKey");
    const chunked = await database.db().collection("_content.chunks").distinct("files_id");
    expect(chunked.map(String).filter((key) => !stored.includes(key))).toEqual([]);
  });

  test("no handle is left open", async () => {
    // Of connections 64 may stay idle between the services, and 50 to the database; sockets of clients must not.
    const spare = 64 + 50;
    await until(handlesNow, (now) => now.every((count, at) => count <= (handles[at] ?? 0) + spare), 10_000);
  });
});

/** Looks until two looks, a quarter of a second apart, are about the same. */
async function settled(look: () => Promise<number[]>): Promise<number[]> {
  let former = await look();
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const now = await look();
    if (now.every((bytes, at) => Math.abs(bytes - (former[at] ?? 0)) < MEBIBYTE)) return now;
    former = now;
  }
}
