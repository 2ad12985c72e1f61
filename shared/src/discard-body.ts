// Deals with the rest of a body that nobody wants any more.
import type { Request, Response } from "express";

/**
 * Reads on and throws away, so that a client that is still sending gets to read its answer; one that goes on for longer than
 * `lingerMs` after that is cut.
 */
export function discardBody(request: Request, response: Response, lingerMs: number): void {
  request.resume();
  response.once("finish", () => {
    if (request.readableEnded) return;
    const cut = setTimeout(() => request.socket.destroy(), lingerMs);
    request.once("close", () => clearTimeout(cut));
  });
}
