// Many uploads and downloads at once, whole and cut off, and what the processes hold of them meanwhile.
import { once } from "node:events";
import { get as httpGet, request as httpRequest } from "node:http";
import { filePart, MULTIPART, multipartBody, textPart, writableOrGone } from "../support/multipart.js";
import { residentBytes } from "../support/process-facts.js";

export interface Target {
  readonly appUrl: string;
  readonly headers: Readonly<Record<string, string>>;
}

const PIECE = Buffer.alloc(64 * 1024, 0xab);

/** The parts before and behind the bytes of a public file. */
function frame(): [head: Buffer, end: Buffer] {
  const body = multipartBody([
    textPart("isPublic", "true"),
    filePart("file", "load.bin", "a/b", "|"),
  ]).toString();
  const at = body.lastIndexOf("|");
  return [Buffer.from(body.slice(0, at)), Buffer.from(body.slice(at + 1))];
}

/** Begins a request for an upload; its body is to be written. */
export function openUpload({ appUrl, headers }: Target) {
  return httpRequest(`${appUrl}/api/svc_file?fields=id`, {
    method: "POST",
    agent: false,
    headers: { ...headers, "Content-Type": MULTIPART, "Transfer-Encoding": "chunked" },
  });
}

/** Sends a file of so many bytes, as fast as it is taken. @returns its id */
export async function uploadBytes(target: Target, bytes: number): Promise<string> {
  const request = openUpload(target);
  const answered = once(request, "response");
  const [head, end] = frame();
  request.write(head);
  for (let left = bytes; left > 0; left -= PIECE.length)
    if (!request.write(PIECE.subarray(0, Math.min(left, PIECE.length)))) await writableOrGone(request);
  request.end(end);
  const [answer] = await answered;
  let text = "";
  for await (const piece of answer) text += String(piece);
  if (answer.statusCode !== 201) throw new Error(`an upload was answered with ${answer.statusCode}: ${text}`);
  return JSON.parse(text).data[0].id;
}

/** Reads a file to its end. @returns how many bytes came */
export async function downloadBytes({ appUrl }: Target, id: string): Promise<number> {
  const [answer] = await once(httpGet(`${appUrl}/assets/${id}`, { agent: false }), "response");
  let length = 0;
  for await (const piece of answer) length += piece.length;
  return length;
}

/** Begins an upload and leaves when this much was taken. */
export async function abortUpload(target: Target, after: number): Promise<void> {
  const request = openUpload(target);
  request.on("error", () => undefined);
  request.write(frame()[0]);
  for (let left = after; left > 0; left -= PIECE.length)
    if (!request.destroyed && !request.write(PIECE)) await writableOrGone(request);
  request.destroy();
}

/** Begins a download and leaves when this much has come. */
export async function abortDownload({ appUrl }: Target, id: string, after: number): Promise<void> {
  const request = httpGet(`${appUrl}/assets/${id}`, { agent: false });
  request.on("error", () => undefined);
  const [answer] = await once(request, "response");
  answer.on("error", () => undefined);
  let length = 0;
  for await (const piece of answer) {
    length += piece.length;
    if (length >= after) break;
  }
  request.destroy();
}

/** Runs tasks, a number of them at once. */
export async function inParallel(
  count: number,
  atOnce: number,
  task: (at: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) await task(at);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** The most memory that processes had while something ran, beyond what they had before. In bytes, by name. */
export async function growthDuring(
  processes: Readonly<Record<string, number>>,
  run: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const names = Object.keys(processes);
  const look = () => Promise.all(names.map((name) => residentBytes(processes[name] ?? 0)));
  const before = await look();
  const most = [...before];
  const note = async (): Promise<void> => {
    for (const [at, bytes] of (await look()).entries()) most[at] = Math.max(most[at] ?? 0, bytes);
  };
  const timer = setInterval(() => void note(), 100);
  try {
    await run();
    await note();
  } finally {
    clearInterval(timer);
  }
  return Object.fromEntries(names.map((name, at) => [name, (most[at] ?? 0) - (before[at] ?? 0)]));
}
