// Answers without an end of their own: event streams (WHATWG HTML, section 9.2), open for as long as somebody listens.
import type { Response } from "express";

/** Has such an answer begun? */
export function isEventStream(response: Response): boolean {
  if (!response.headersSent) return false;
  return String(response.getHeader("Content-Type") ?? "").startsWith("text/event-stream");
}
