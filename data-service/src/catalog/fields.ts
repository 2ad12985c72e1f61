// Names of fields inside documents.

/** The wish, or the wish with the first free number behind it. */
export function freeField(wish: string, taken: ReadonlySet<string>): string {
  let field = wish;
  for (let count = 2; taken.has(field); count += 1) field = `${wish}_${count}`;
  return field;
}
