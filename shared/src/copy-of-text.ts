// A text that keeps no other in memory.

/** A part of a text keeps all of it: a token the header line that it came in, which has thirty kilobytes if its sender likes. */
export function copyOfText(text: string): string {
  return Buffer.from(text).toString();
}
