// A whole content in memory: for pictures, which are small enough (image-work says how small).
import type { ContentStore } from "./content-store.js";

export async function contentBytes(
  store: Pick<ContentStore, "read">,
  key: string,
  size: number,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  if (size > 0) for await (const piece of store.read(key, { start: 0, end: size - 1 })) pieces.push(piece);
  return Buffer.concat(pieces);
}
