// Bytes as they come -> pieces of one size, as the stores of contents keep them.

/**
 * Bytes in pieces of one size, the last one shorter. Each piece is a separate buffer: the one before may still be being
 * sent.
 */
export async function* inPieces(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let piece = Buffer.allocUnsafe(size);
  let filled = 0;
  for await (const chunk of bytes) {
    let at = 0;
    while (at < chunk.length) {
      const taken = Math.min(size - filled, chunk.length - at);
      piece.set(chunk.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < size) continue;
      yield piece;
      piece = Buffer.allocUnsafe(size);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}
