// How long a text of a query is.

/** Counts characters as people do: one outside the Basic Multilingual Plane, as an emoji, is one, not two. */
export function isLonger(text: string, most: number): boolean {
  return text.length > most && (text.length > 2 * most || [...text].length > most);
}
