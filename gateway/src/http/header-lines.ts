// A request's header, line by line. `headers` merges or drops repeated lines; `headersDistinct` keeps them, but builds a list
// for every header of the request.
import type { IncomingMessage } from "node:http";

/** The values of a header, one for each line. @param name in lower case */
export function headerLines({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">, name: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const found = rawHeaders[at] ?? "";
    if (found.length === name.length && found.toLowerCase() === name) lines.push(rawHeaders[at + 1] ?? "");
  }
  return lines;
}
