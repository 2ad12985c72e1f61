// What the address of a picture asks for.
import { describe, expect, it } from "@jest/globals";
import { readAssetParameters, variantName } from "./image-parameters.js";

describe("readAssetParameters", () => {
  it("asks for nothing by itself", () => {
    expect(readAssetParameters("")).toEqual({ download: false, transform: undefined });
    expect(readAssetParameters("download=true&v=17")).toEqual({ download: true, transform: undefined });
  });

  it("reads a transformation, with cover where nothing else is said", () => {
    expect(readAssetParameters("width=4000&format=webp&quality=1").transform).toEqual({
      width: 4_000,
      height: undefined,
      fit: "cover",
      format: "webp",
      quality: 1,
    });
  });

  it.each([
    ["width=0", "width: must be a whole number from 1 to 4000"],
    ["height=4001", "height: must be a whole number from 1 to 4000"],
    ["height=1e3", "height: must be a whole number from 1 to 4000"],
    ["quality=101", "quality: must be a whole number from 1 to 100"],
    ["width=1&width=1", "width: must be given once"],
    ["fit=crop", "fit: must be one of cover, contain, inside, outside, fill"],
    ["format=svg", "format: must be one of jpeg, png, webp, avif"],
    ["download=1", "download: must be one of true, false"],
  ])("refuses %s", (search, message) => {
    expect(() => readAssetParameters(search)).toThrow(message);
  });
});

describe("variantName", () => {
  it("tells transformations apart", () => {
    const names = [
      "width=1",
      "height=1",
      "width=1&height=1",
      "width=1&fit=fill",
      "width=1&format=png",
      "quality=1",
    ];
    const made = names.map((search) => readAssetParameters(search).transform);
    expect(new Set(made.map((each) => each && variantName(each))).size).toBe(names.length);
  });
});
