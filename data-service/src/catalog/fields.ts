// Chooses a free name for a stored field.

/** The wanted name, or that name followed by the first free number. */
export function freeField(wish: string, taken: ReadonlySet<string>): string {
  let field = wish;
  for (let count = 2; taken.has(field); count += 1) field = `${wish}_${count}`;
  return field;
}
