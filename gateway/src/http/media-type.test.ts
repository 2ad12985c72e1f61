import { describe, expect, it } from "@jest/globals";
import { isAcceptedBody } from "./media-type.js";

describe("isAcceptedBody", () => {
  it.each<[string | undefined, boolean, boolean]>([
    ["application/json", true, true],
    ["application/json; charset=utf-8", true, true],
    ["APPLICATION/JSON", true, true],
    ["multipart/form-data; boundary=x", false, true],
    ["application/jsonp", false, false],
    ["text/plain; application/json", false, false],
    ["text/plain", false, false],
    ["application/x-www-form-urlencoded", false, false],
    ["", false, false],
    [undefined, false, false],
  ])("%p: %p on most routes, %p where files go up", (contentType, elsewhere, uploads) => {
    const headers = {
      "content-length": "2",
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    };
    expect([isAcceptedBody(headers, false), isAcceptedBody(headers, true)]).toEqual([elsewhere, uploads]);
  });

  it("asks no type of a request without a body, and one of a chunked body", () => {
    expect(isAcceptedBody({}, false)).toBe(true);
    expect(isAcceptedBody({ "content-length": "0", "content-type": "text/plain" }, false)).toBe(true);
    expect(isAcceptedBody({ "transfer-encoding": "chunked", "content-type": "text/plain" }, false)).toBe(
      false,
    );
  });
});
