// `sort` text -> keys. Knows the grammar of 4.3, but no tables.
import type { Json } from "@portico/shared/json";
import { LIMITS } from "../limits.js";
import { type Path, refuse } from "../refuse.js";
import { textsOf } from "./texts.js";

export type SortSyntax =
  | {
      readonly kind: "path";
      readonly segments: readonly string[];
      readonly descending: boolean;
      readonly text: string;
    }
  | { readonly kind: "count"; readonly relation: string; readonly descending: boolean; readonly text: string }
  | {
      readonly kind: "max" | "min";
      readonly relation: string;
      readonly field: string;
      readonly descending: boolean;
      readonly text: string;
    };

const PATH = /^[A-Za-z_]\w*(?:\.\w+)*$/;
const COUNT = /^_count\((\w+)\)$/;
const EXTREME = /^_(max|min)\((\w+)\.(\w+)\)$/;

/**
 * Parses `-publishedAt,author.name,_count(comments)`.
 * @throws AppError 400 for empty keys and anything outside the grammar
 */
export function parseSort(given: Json, path: Path): SortSyntax[] {
  const keys = textsOf(given, "keys", path);
  if (keys.length > LIMITS.sortKeys) throw refuse(path, `has more than ${LIMITS.sortKeys} keys`);
  return keys.map((key) => parseKey(key.trim(), path));
}

function parseKey(text: string, path: Path): SortSyntax {
  const descending = text.startsWith("-");
  const key = descending ? text.slice(1) : text;
  if (PATH.test(key)) return { kind: "path", segments: key.split("."), descending, text: key };
  const count = COUNT.exec(key)?.[1];
  if (count !== undefined) return { kind: "count", relation: count, descending, text: key };
  const extreme = EXTREME.exec(key);
  const [, kind, relation, field] = extreme ?? [];
  if (relation !== undefined && field !== undefined) {
    return { kind: kind === "max" ? "max" : "min", relation, field, descending, text: key };
  }
  if (text === "") throw refuse(path, "has an empty key");
  throw refuse(
    path,
    `"${text.slice(0, 64)}" is not a sort key; write name, -name, relation.name, _count(relation), _max(relation.field) or _min(relation.field)`,
  );
}
