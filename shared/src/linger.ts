// Closing a connection with an answer that its client gets to read, though it is still sending.
import type { IncomingMessage } from "node:http";

/** A client whose request was refused may keep sending for this long (see also discard-body). */
export const LINGER_MS = 10_000;

/**
 * Node closes the connection with an answer that says so. A client that is still sending, and was refused early, would then
 * lose the answer to a reset; so what it sends is read to its end first (RFC 9112, section 9.6).
 */
export function lingerBeforeClosing(request: IncomingMessage): void {
  const { socket } = request;
  // What Node calls when the answer is out.
  socket.destroySoon = () => {
    const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(cut));
    if (request.complete) socket.end();
    else request.once("end", () => socket.end()).resume();
  };
}
