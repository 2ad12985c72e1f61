// Which bodies a route takes (contract 3.3).
import { describe, expect, it } from "@jest/globals";
import { isAcceptedBody } from "./media-type.js";

describe("isAcceptedBody", () => {
  it.each<[string | undefined, boolean, boolean, boolean]>([
    ["application/json", true, true, true],
    ["application/json; charset=utf-8", true, true, true],
    ["APPLICATION/JSON", true, true, true],
    ["application/merge-patch+json", true, true, true],
    ["multipart/form-data; boundary=x", false, true, false],
    ["text/csv; charset=utf-8", false, false, true],
    ["application/x-ndjson", false, false, true],
    ["text/csvx", false, false, false],
    ["application/jsonp", false, false, false],
    ["text/x+json", false, false, false],
    ["text/plain; application/json", false, false, false],
    ["text/plain", false, false, false],
    ["application/x-www-form-urlencoded", false, false, false],
    ["", false, false, false],
    [undefined, false, false, false],
  ])("%p: %p on most routes, %p where files go up, %p where records do", (contentType, ...expected) => {
    const headers = {
      "content-length": "2",
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    };
    const kinds = ["json", "upload", "import"] as const;
    expect(kinds.map((kind) => isAcceptedBody(headers, kind))).toEqual(expected);
  });

  it("asks no type of a request without a body, and one of a chunked body", () => {
    expect(isAcceptedBody({}, "json")).toBe(true);
    expect(isAcceptedBody({ "content-length": "0", "content-type": "text/plain" }, "json")).toBe(true);
    expect(isAcceptedBody({ "transfer-encoding": "chunked", "content-type": "text/plain" }, "json")).toBe(
      false,
    );
  });
});
