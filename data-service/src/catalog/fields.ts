// In which field a member is stored, and free names for new fields.
import type { TableDefinition } from "./definition.js";

/** @throws Error when the definition has no such member */
export function fieldOf(table: TableDefinition, id: string): string {
  const field = table.storage.fields[id];
  if (field === undefined) throw new Error(`table "${table.name}" has no storage for member ${id}`);
  return field;
}

/** The wanted name, or that name followed by the first free number. */
export function freeField(wish: string, taken: ReadonlySet<string>): string {
  let field = wish;
  for (let count = 2; taken.has(field); count += 1) field = `${wish}_${count}`;
  return field;
}
