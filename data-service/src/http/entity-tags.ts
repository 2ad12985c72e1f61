// The members of If-Match, a list of entity tags (RFC 9110, sections 5.6.1 and 8.8.3). Pure.

/** As they are written, also what is no tag. A comma in quotes parts nothing, and an empty member counts for nothing. */
export function tagsIn(header: string): readonly string[] {
  const members = header.match(/(?:"[^"]*"?|[^,"])+/g) ?? [];
  return members.map((each) => each.trim()).filter((each) => each !== "");
}
