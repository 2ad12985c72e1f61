// Addresses -> patterns, for metrics.
import { describe, expect, it } from "@jest/globals";
import { routePattern } from "./route-pattern.js";

describe("routePattern", () => {
  it.each([
    ["/", "pages"],
    ["/orders/7", "pages"],
    ["/assets/64b000000000000000000001", "/assets/…"],
    ["/api", "/api"],
    ["/api/posts", "/api/{table}"],
    ["/api/posts/", "/api/{table}"],
    ["/api/posts/64b000000000000000000001", "/api/{table}/{id}"],
    ["/api/posts/64b000000000000000000001/x", "/api/{table}/{id}/{part}"],
    ["/api/a/b/c/d/e", "/api/…"],
    ["/api/me", "/api/me"],
    ["/api/me/sessions/1", "/api/me/…"],
    ["/api/auth/whatever", "/api/auth/…"],
    ["/api/.well-known/jwks.json", "/api/.well-known/…"],
    ["/api/constructor", "/api/{table}"],
  ])("%s is %s", (path, expected) => {
    expect(routePattern(path)).toBe(expected);
  });
});
