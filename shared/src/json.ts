// JSON as a type, and the few checks that everybody who receives it needs.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** True for `{…}`, false for arrays and null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object; none of anything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** True for `[…]`; typed, unlike Array.isArray on a readonly union. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** Names the JSON kind of a value for a message: `a list`, `text`, `null` … */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  const kinds: Record<string, string> = {
    object: "an object",
    string: "text",
    number: "a number",
    boolean: "true or false",
  };
  return kinds[typeof value] ?? "nothing";
}

/** What is wrong with a body that is no object; null stands for none as well. */
export function noObject(body: Json): string {
  return body === null
    ? "is null or missing; send a JSON object"
    : `must be a JSON object, not ${kindOf(body)}`;
}

/** A number for a message. Beyond the safe integers, reading has rounded it, so what was sent is no longer known. */
function describeNumber(number: number): string {
  const size = Math.abs(number);
  if (size <= Number.MAX_SAFE_INTEGER) return String(number);
  return `a number beyond ±${Number.isFinite(number) ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE}`;
}

/** A value for a message: texts and numbers as they were sent, unless they are long. */
export function describeValue(value: Json): string {
  if (typeof value === "number") return describeNumber(value);
  if (typeof value !== "string") return kindOf(value);
  if (!value.isWellFormed()) return "text with half a character (an unpaired surrogate)";
  return value.length > 40 ? "this text" : JSON.stringify(value);
}

/**
 * Tells whether a value nests deeper than `limit`, without recursion, so that it can run before anything recursive.
 */
export function nestsDeeperThan(value: Json, limit: number): boolean {
  const stack: { value: Json; depth: number }[] = [{ value, depth: 1 }];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (typeof top.value !== "object" || top.value === null) continue;
    if (top.depth > limit) return true;
    for (const inner of Object.values(top.value)) stack.push({ value: inner, depth: top.depth + 1 });
  }
  return false;
}
