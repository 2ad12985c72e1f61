// The tree of folders is built whatever their parents are: missing, circular or very many.
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { flatFolders, folderTree } from "./folder-tree.js";

const folder = (id: string, parent: string | null, order = 0): JsonObject => ({
  id,
  name: id,
  order,
  parent: parent === null ? null : { id: parent },
});
const depths = (folders: readonly JsonObject[]) => flatFolders(folders).map(({ id, depth }) => [id, depth]);

describe("folders", () => {
  it("nest, each level by order and then by name", () => {
    const [top] = folderTree([
      folder("b", "top"),
      folder("a", "top"),
      folder("first", "top", -1),
      folder("top", null),
    ]);
    expect(top).toMatchObject({
      id: "top",
      children: [{ id: "first" }, { id: "a" }, { id: "b", children: [] }],
    });
  });

  it("go by code points, as every list does, and stay as they came where names are the same", () => {
    const names = ["😀", "～", "z", "é", "Z"];
    const same = { ...folder("second z", null), name: "z" };
    const ids = flatFolders([...names.map((name) => folder(name, null)), same]).map(({ id }) => id);
    expect(ids).toEqual(["Z", "z", "second z", "é", "～", "😀"]);
  });

  it("stand at the top when their parent is not among them", () => {
    expect(depths([folder("child", "hidden"), folder("grandchild", "child")])).toEqual([
      ["child", 0],
      ["grandchild", 1],
    ]);
  });

  it("of a circle are each there once", () => {
    expect(
      depths([folder("a", "b"), folder("b", "a"), folder("self", "self")])
        .map(([id]) => id)
        .toSorted(),
    ).toEqual([...["a", "b", "self"]]);
  });

  it("may be many in one folder: looking at each for each would take hours", () => {
    const many = Array.from({ length: 200_000 }, (_, at) => folder(`f${at}`, "top"));
    const [top] = folderTree([folder("top", null), ...many]);
    expect(top?.children).toHaveLength(200_000);
  });

  it("may lie one in another very deep; a hundred levels are nested, and the last one says so", () => {
    const chain = Array.from({ length: 20_000 }, (_, at) => folder(`f${at}`, at === 0 ? null : `f${at - 1}`));
    expect(depths(chain).at(-1)).toEqual(["f19999", 19_999]);
    const text = JSON.stringify(folderTree([...chain, folder("z", null)]));
    expect(text.match(/"children"/g)).toHaveLength(101);
    expect(text).toContain(
      '"id":"f99","name":"f99","order":0,"parent":{"id":"f98"},"children":[],"deeper":true}',
    );
    expect(text).toMatch(/\{"id":"z"[^{]*"children":\[\]\}\]$/);
  });
});
