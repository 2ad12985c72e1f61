// Cookie header -> name and value pairs, byte for byte, duplicates and all. Pure.

/** One pair as it stands in the header; nothing is unquoted, decoded or merged. */
export interface CookiePair {
  readonly name: string;
  readonly value: string;
}

/** Only space and tab are trimmed: other blanks in a name are how a planted cookie poses as ours. */
export function cookiePairs(header: string | undefined): readonly CookiePair[] {
  return (header ?? "").split(";").flatMap((part) => {
    const pair = trimBlanks(part);
    const equals = pair.indexOf("=");
    return equals === -1 ? [] : [{ name: pair.slice(0, equals), value: pair.slice(equals + 1) }];
  });
}

/** Not a regular expression: on a header full of blanks its time would grow with their square. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
