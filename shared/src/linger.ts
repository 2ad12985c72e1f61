// Closes a connection so that a client that is still sending gets to read its answer.
import type { IncomingMessage } from "node:http";

/** A client whose request was refused may keep sending for this long (see also discard-body). */
export const LINGER_MS = 10_000;

/**
 * After an answer with `Connection: close`, Node closes the connection at once. A client that was refused early and is still
 * sending would lose the answer to a reset, so what it sends is read to its end first (RFC 9112, section 9.6).
 */
export function lingerBeforeClosing(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls this when the answer has been sent.
  socket.destroySoon = () => {
    const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(cut));
    if (request.complete) socket.end();
    else request.once("end", () => socket.end()).resume();
  };
}
