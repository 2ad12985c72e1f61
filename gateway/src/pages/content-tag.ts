// The ETag of a page: a hash of its content.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/**
 * Size and time, of which tags are made otherwise, are the same in two builds with fixed times: names with a hash are of one
 * length. A browser would stay with the one that it has.
 * @returns undefined for what can't be read
 */
export async function contentTag(path: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(path)) hash.update(piece);
  } catch {
    return undefined;
  }
  return `"${hash.digest("base64url")}"`;
}
