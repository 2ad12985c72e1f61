// Folders as a tree, as far as the caller may see them. Pure.
import { isObject, type Json, type JsonObject } from "../json.js";

/**
 * Folders inside folders by `children`, each level by order and name. What lies in a folder that the caller can't see
 * stands at the top; so does, of a circle, whichever comes first.
 */
export function folderTree(folders: readonly JsonObject[]): JsonObject[] {
  return nested(folders, (folder, children) => [{ ...folder, children: children() }]);
}

/** The same order in one list, each with how deep it lies. */
export function flatFolders(folders: readonly JsonObject[]): JsonObject[] {
  return nested(folders, (folder, children, depth) => [{ ...folder, depth }, ...children()]);
}

type Place = (folder: JsonObject, children: () => JsonObject[], depth: number) => JsonObject[];

function nested(folders: readonly JsonObject[], place: Place): JsonObject[] {
  const ids = new Set(folders.map(({ id }) => id));
  const byParent = new Map<Json, JsonObject[]>();
  for (const folder of folders.toSorted(bySiblingOrder)) {
    const parent = parentOf(folder);
    const key = ids.has(parent) ? parent : null;
    byParent.set(key, [...(byParent.get(key) ?? []), folder]);
  }
  const placed = new Set<Json>();
  const level = (parent: Json, depth: number): JsonObject[] =>
    (byParent.get(parent) ?? [])
      .filter(({ id }) => !placed.has(id ?? null))
      .flatMap((folder) => {
        const id = folder.id ?? null;
        placed.add(id);
        return place(folder, () => level(id, depth + 1), depth);
      });
  const top = level(null, 0);
  const left = folders.filter(({ id }) => !placed.has(id ?? null));
  return [...top, ...left.flatMap((folder) => level(parentOf(folder), 0))];
}

function parentOf({ parent = null }: JsonObject): Json {
  return isObject(parent) ? (parent.id ?? null) : null;
}

function bySiblingOrder(a: JsonObject, b: JsonObject): number {
  const [first, second] = [Number(a.order ?? 0), Number(b.order ?? 0)];
  if (first !== second) return first - second;
  return String(a.name) < String(b.name) ? -1 : 1;
}
