import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "../json.js";
import { flatFolders, folderTree } from "./folder-tree.js";

const folder = (id: string, parent: string | null, order = 0): JsonObject => ({
  ...{ id, name: id, order, parent: parent === null ? null : { id: parent } },
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
});
