// Ends an answer that is not whole.
import type { ServerResponse } from "node:http";

/**
 * Breaks the connection, so that nobody takes the answer for whole. In HTTP/1.0 an answer without a length ends where its
 * connection does: only a reset tells that this is not its end.
 */
export function breakOff(response: ServerResponse): void {
  const { httpVersion, socket } = response.req;
  if (httpVersion === "1.0") socket.resetAndDestroy();
  else response.destroy();
}
