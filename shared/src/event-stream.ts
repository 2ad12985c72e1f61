// Answers without an end of their own: event streams (WHATWG HTML, section 9.2), open for as long as somebody listens.
import type { Response } from "express";

/** Has such an answer begun? */
export function isEventStream(response: Response): boolean {
  return response.headersSent && isEventStreamType(response.getHeader("Content-Type"));
}

/** @param contentType the header of an answer */
export function isEventStreamType(contentType: unknown): boolean {
  return typeof contentType === "string" && contentType.startsWith("text/event-stream");
}
