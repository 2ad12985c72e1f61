// Files in tests: forms to send, pictures and sounds to make, and a look at what the database keeps of them.
import type { MongoClient } from "mongodb";
import sharp from "sharp";
import type { Answer, Api } from "./api.js";

/** A form with one file and text parts. */
export function fileForm(
  bytes: Uint8Array | string,
  filename: string,
  parts: Readonly<Record<string, string>> = {},
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  const content = typeof bytes === "string" ? bytes : new Uint8Array(bytes);
  form.append("file", new Blob([content]), filename);
  return form;
}

/** Sends a file. */
export function upload(
  api: Api,
  bytes: Uint8Array | string,
  filename: string,
  parts: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return api.send("POST", "/svc_file", { body: fileForm(bytes, filename, parts) });
}

/** Sends a file that must be taken. @returns its record */
export async function uploaded(
  api: Api,
  bytes: Uint8Array | string,
  filename: string,
  parts: Readonly<Record<string, string>> = {},
): Promise<Answer["body"]> {
  const { status, body } = await upload(api, bytes, filename, parts);
  if (status !== 201) throw new Error(`the upload was answered with ${status}: ${JSON.stringify(body)}`);
  return body.data[0];
}

/** A picture of one colour. */
export function picture(
  width: number,
  height: number,
  format: "png" | "jpeg" | "webp" | "avif" | "gif" = "png",
): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: "#336699" } })
    .toFormat(format)
    .toBuffer();
}

/** A second of silence, as WAV. */
export function sound(): Buffer {
  const [samples, head] = [8_000, Buffer.alloc(44)];
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  // PCM, one channel, a byte for each sample.
  for (const [at, value] of [1, 1, samples, 0, samples, 0].entries()) head.writeUInt16LE(value, 20 + 2 * at);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples, 40);
  return Buffer.concat([head, Buffer.alloc(samples, 128)]);
}

/** How much of files lies in the database. */
export interface Kept {
  readonly records: number;
  readonly contents: number;
  readonly chunks: number;
  readonly pending: number;
  readonly variants: number;
}

export const NOTHING_KEPT: Kept = { records: 0, contents: 0, chunks: 0, pending: 0, variants: 0 };

export async function keptIn(client: MongoClient): Promise<Kept> {
  const count = (name: string): Promise<number> => client.db().collection(name).countDocuments({});
  const [records, contents, chunks, pending, variants] = await Promise.all(
    ["svc_file", "_content.files", "_content.chunks", "_content_pending", "_content_variants"].map(count),
  );
  return {
    records: records ?? 0,
    contents: contents ?? 0,
    chunks: chunks ?? 0,
    pending: pending ?? 0,
    variants: variants ?? 0,
  };
}
