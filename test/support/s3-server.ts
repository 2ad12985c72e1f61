// A small S3 server in memory: objects, ranges, uploads in parts. It checks every signature by its own reading of
// Signature Version 4, and knows nothing of the client library.
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export const S3_KEYS = { accessKeyId: "TESTKEY", secretAccessKey: "a secret of the tests" } as const;
const BUCKET = "files";

/**
 * It refuses everything with 503, closes every connection without an answer, or in the middle of each object, or forbids what is
 * not there, as buckets do to those who may not list them.
 */
export type Breakdown = "refuses" | "hangs up" | "hangs up in the middle" | "hides what is missing";

export interface S3Server {
  readonly env: Readonly<Record<string, string>>;
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Uploads in parts that are neither completed nor aborted. */
  readonly uploads: ReadonlyMap<
    string,
    { readonly key: string; readonly parts: ReadonlyMap<number, Buffer> }
  >;
  /** From now on; undefined: no longer. */
  breakDown(how: Breakdown | undefined): void;
  /** What it says with 200 instead of completing an upload in parts; undefined: it completes. */
  failCompletion(body: string | undefined): void;
  /** The object that came last. */
  loseLast(): void;
  /** Runs before the next object is sent, or the next one that comes in one piece is answered. */
  before(method: "GET" | "PUT", act: () => Promise<unknown>): void;
  /** How many objects somebody has asked for and not got in full. */
  sending(): number;
  stop(): Promise<void>;
}

export async function startS3(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, { key: string; parts: Map<number, Buffer> }>();
  let breakdown: Breakdown | undefined;
  let failure: string | undefined;
  let sending = 0;
  const waiting = new Map<string, () => Promise<unknown>>();
  const waited = async (method: string): Promise<void> => {
    const act = waiting.get(method);
    waiting.delete(method);
    await act?.();
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const url = new URL(request.url ?? "", "http://s3");
    if (breakdown === "refuses") return void response.writeHead(503).end();
    if (breakdown === "hangs up") return void response.destroy();
    if (!isSigned(request, url, body))
      return void response.writeHead(403).end(xml("Error", "SignatureDoesNotMatch"));
    const key = decodeURIComponent(url.pathname.slice(BUCKET.length + 2));
    const id = url.searchParams.get("uploadId") ?? "";
    const call = `${request.method} ${["uploads", "partNumber", "uploadId"].find((name) => url.searchParams.has(name)) ?? ""}`;
    switch (call.trim()) {
      case "PUT":
        objects.set(key, body);
        await waited("PUT");
        return void response.writeHead(200, { ETag: etag(body) }).end();
      case "GET": {
        sending += 1;
        response.once("close", () => {
          sending -= 1;
        });
        await waited("GET");
        if (breakdown === "hangs up in the middle") return void breakOff(objects.get(key), response);
        if (breakdown === "hides what is missing" && !objects.has(key))
          return void response.writeHead(403).end(xml("Error", tag("Code", "AccessDenied")));
        return sendObject(objects.get(key), request, response);
      }
      case "DELETE":
        objects.delete(key);
        return void response.writeHead(204).end();
      case "POST uploads": {
        const uploadId = `upload-${uploads.size}-${Date.now()}`;
        uploads.set(uploadId, { key, parts: new Map() });
        return void response.end(xml("InitiateMultipartUploadResult", tag("UploadId", uploadId)));
      }
      case "PUT partNumber":
        uploads.get(id)?.parts.set(Number(url.searchParams.get("partNumber")), body);
        return void response.writeHead(200, { ETag: etag(body) }).end();
      case "POST uploadId": {
        if (failure !== undefined) return void response.end(failure);
        const { parts = new Map<number, Buffer>() } = uploads.get(id) ?? {};
        const sorted = [...parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
        // All but the last have 5 MiB at least, and one size, as Cloudflare R2 wants it.
        const sizes = sorted.slice(0, -1).map(({ length }) => length);
        if (sizes.some((length) => length < 5 * 1024 * 1024))
          return void response.writeHead(400).end(xml("Error", tag("Code", "EntityTooSmall")));
        if (new Set(sizes).size > 1)
          return void response.writeHead(400).end(xml("Error", tag("Code", "InvalidPart")));
        objects.set(key, Buffer.concat(sorted));
        uploads.delete(id);
        return void response.end(
          xml("CompleteMultipartUploadResult", tag("ETag", etag(body)) + tag("Key", key)),
        );
      }
      case "DELETE uploadId":
        uploads.delete(id);
        return void response.writeHead(204).end();
      case "GET uploads": {
        const listed = [...uploads].map(([uploadId, each]) =>
          tag("Upload", tag("Key", each.key) + tag("UploadId", uploadId)),
        );
        return void response.end(xml("ListMultipartUploadsResult", listed.join("")));
      }
      default:
        return void response.writeHead(501).end();
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    objects,
    uploads,
    env: {
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: BUCKET,
      S3_REGION: "eu-test-1",
      S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    },
    breakDown(how) {
      breakdown = how;
    },
    before(method, act) {
      waiting.set(method, act);
    },
    failCompletion(body) {
      failure = body;
    },
    loseLast() {
      objects.delete([...objects.keys()].at(-1) ?? "");
    },
    sending: () => sending,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export const tag = (name: string, content: string): string => `<${name}>${content}</${name}>`;
export const xml = (name: string, content: string): string => `<?xml version="1.0"?>${tag(name, content)}`;
const etag = (bytes: Buffer): string => `"${createHash("md5").update(bytes).digest("hex")}"`;

function sendObject(object: Buffer | undefined, request: IncomingMessage, response: ServerResponse): void {
  if (object === undefined) return void response.writeHead(404).end(xml("Error", tag("Code", "NoSuchKey")));
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
  if (start === undefined || end === undefined) return void response.end(object);
  response.writeHead(206, { "Content-Range": `bytes ${start}-${end}/${object.length}` });
  response.end(object.subarray(Number(start), Number(end) + 1));
}

function breakOff(object: Buffer = Buffer.alloc(2), response: ServerResponse): void {
  response.writeHead(200, { "Content-Length": object.length });
  response.write(object.subarray(0, object.length / 2), () => response.destroy());
}

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function isSigned({ method = "", headers }: IncomingMessage, url: URL, body: Buffer): boolean {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
      headers.authorization ?? "",
    );
  const [, access, day = "", region = "", names = "", signature] = given ?? [];
  if (access !== S3_KEYS.accessKeyId) return false;
  const claimed = String(headers["x-amz-content-sha256"]);
  if (claimed !== "UNSIGNED-PAYLOAD" && claimed !== sha256(body)) return false;
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&");
  const signed = names.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, url.pathname, query, signed.join(""), names, claimed].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(Buffer.from(canonical))].join("\n");
  const steps = [day, region, "s3", "aws4_request", text];
  const start: Buffer = Buffer.from(`AWS4${S3_KEYS.secretAccessKey}`);
  const made = steps.reduce((key: Buffer, step) => createHmac("sha256", key).update(step).digest(), start);
  return made.toString("hex") === signature;
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

function encode(text: string): string {
  const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, hex);
}
