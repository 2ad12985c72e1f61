// Folders as a tree, as far as the caller may see them. Pure. There may be very many, side by side or deeply nested.
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import { getOrMake } from "../get-or-make.js";

/** Levels of the nested form: whoever reads it may well use recursion. */
const MOST_LEVELS = 100;

/**
 * Folders inside folders by `children`, each level by order and name. A folder inside one that the caller can't see is put
 * at the top, and so is the first folder of a circle. A folder on the last level that has others inside gets `deeper: true`
 * instead.
 */
export function folderTree(folders: readonly JsonObject[]): JsonObject[] {
  const top: JsonObject[] = [];
  /** Where the folders of each level are put at present. */
  const open = [top];
  const placed = inOrder(folders);
  for (const [at, { folder, depth }] of placed.entries()) {
    const hasInner = (placed[at + 1]?.depth ?? 0) > depth;
    const isCut = hasInner && depth === MOST_LEVELS - 1;
    const children: JsonObject[] = [];
    if (depth < MOST_LEVELS) open[depth]?.push({ ...folder, children, ...(isCut ? { deeper: true } : {}) });
    open[depth + 1] = children;
  }
  return top;
}

/** The same order in one list, each with its depth. */
export function flatFolders(folders: readonly JsonObject[]): JsonObject[] {
  return inOrder(folders).map(({ folder, depth }) => ({ ...folder, depth }));
}

interface Placed {
  readonly folder: JsonObject;
  readonly depth: number;
}

/** Each folder once, right before those inside it. */
function inOrder(folders: readonly JsonObject[]): Placed[] {
  const inside = byParent(folders);
  const seen = new Set<Json>();
  const order: Placed[] = [];
  const place = (top: readonly JsonObject[]): void => {
    const open = atDepth(0, top);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { folder, depth } = next;
      const id = folder.id ?? null;
      if (seen.has(id)) continue;
      seen.add(id);
      order.push(next);
      for (const each of atDepth(depth + 1, inside.get(id) ?? [])) open.push(each);
    }
  };
  place(inside.get(null) ?? []);
  // The rest are in circles.
  for (const folder of folders) if (!seen.has(folder.id ?? null)) place([folder]);
  return order;
}

/** The last one first, as a stack needs them. */
function atDepth(depth: number, folders: readonly JsonObject[]): Placed[] {
  return folders.map((folder) => ({ folder, depth })).reverse();
}

/** Siblings in their order. @returns by the id of their parent; null for those whose parent is not among the folders */
function byParent(folders: readonly JsonObject[]): Map<Json, JsonObject[]> {
  const ids = new Set(folders.map(({ id }) => id));
  const siblings = new Map<Json, JsonObject[]>();
  for (const { folder } of folders.map(siblingOf).toSorted(bySiblingOrder)) {
    const parent = parentOf(folder);
    getOrMake(siblings, ids.has(parent) ? parent : null, () => []).push(folder);
  }
  return siblings;
}

function parentOf({ parent = null }: JsonObject): Json {
  return isObject(parent) ? (parent.id ?? null) : null;
}

interface Sibling {
  readonly folder: JsonObject;
  readonly order: number;
  /**
   * In UTF-8, which sorts by code point as MongoDB does; JavaScript strings sort by UTF-16 units, which differs beyond
   * U+FFFF.
   */
  readonly name: Buffer;
}

function siblingOf(folder: JsonObject): Sibling {
  return { folder, order: Number(folder.order ?? 0), name: Buffer.from(String(folder.name)) };
}

function bySiblingOrder(a: Sibling, b: Sibling): number {
  return a.order === b.order ? Buffer.compare(a.name, b.name) : a.order - b.order;
}
