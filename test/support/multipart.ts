// Multipart bodies byte by byte, for uploads that no client would send.
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from "node:http";

export const BOUNDARY = "portico-test-boundary";
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

export interface Part {
  /** Lines of the part's head. */
  readonly head: readonly string[];
  readonly content: Uint8Array | string;
}

/** A part with a file; `"` and line ends of names are escaped as browsers do. */
export function filePart(name: string, filename: string, type: string, content: Uint8Array | string): Part {
  const escaped = filename.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  return {
    head: [`Content-Disposition: form-data; name="${name}"; filename="${escaped}"`, `Content-Type: ${type}`],
    content,
  };
}

export function textPart(name: string, content: string): Part {
  return { head: [`Content-Disposition: form-data; name="${name}"`], content };
}

export function multipartBody(parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(({ head, content }) => [
    Buffer.from(`--${BOUNDARY}\r\n${head.join("\r\n")}\r\n\r\n`),
    Buffer.from(content as Uint8Array),
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a body as it is, all at once or in pieces (then chunked); on a connection of its own. */
export function sendBody(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer | AsyncIterable<Buffer>,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const length = Buffer.isBuffer(body) ? { "Content-Length": String(body.length) } : {};
    const request = httpRequest(
      url,
      { method, agent: false, headers: { ...headers, ...length } },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on("data", (piece: Buffer) => pieces.push(piece));
        answer.once("error", reject);
        answer.once("end", () => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) });
          request.destroy();
        });
      },
    );
    request.once("error", reject);
    if (Buffer.isBuffer(body)) request.end(body);
    else void pour(body, request);
  });
}

/** Stops when the other side has had enough. */
async function pour(body: AsyncIterable<Buffer>, request: ClientRequest): Promise<void> {
  for await (const piece of body) {
    if (request.destroyed) return;
    if (!request.write(piece)) await writableOrGone(request);
  }
  request.end();
}

/** Resolves when more can be written, or never will be. */
export function writableOrGone(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      request.off("drain", go).off("close", go);
      resolve();
    };
    request.on("drain", go).on("close", go);
    if (request.closed) go();
  });
}
