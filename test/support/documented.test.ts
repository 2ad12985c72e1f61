// The check itself: what it takes for documented, and what not.
import { describe, expect, it } from "@jest/globals";
import { answersIn, undocumented } from "./documented.js";
import { startStack } from "./stack.js";

const seen = (method: string, path: string, status: number): string[] =>
  undocumented("gateway", [{ method, path, status }]);

describe("answers", () => {
  it.each([
    ["GET", "/api/posts", 200],
    ["HEAD", "/api/posts/", 200],
    ["GET", "/api/posts", 404],
    ["QUERY", "/api/posts", 400],
    ["POST", "/api/posts", 409],
    ["DELETE", "/api/posts/1", 403],
    ["OPTIONS", "/api/posts", 204],
    ["HEAD", "/api/auth/google", 405],
    ["PATCH", "/api/svc_table/1", 202],
    ["GET", "/api/auth/google", 302],
    ["PUT", "/api/posts", 405],
    ["GET", "/api/posts/1/2/3", 404],
    ["GET", "/", 200],
  ])("of %s %s with %i are documented", (...answer) => expect(seen(...answer)).toEqual([]));

  it.each([
    ["GET", "/api/posts", 201, "GET /any_table answered 201"],
    ["GET", "/api/posts/1", 204, "GET /any_table/{id} answered 204"],
    ["PATCH", "/api/posts/1", 202, "PATCH /any_table/{id} answered 202"],
    ["PUT", "/api/posts", 200, "PUT /api/posts answered 200 and is no operation"],
    ["GET", "/api/a/b/c", 500, "GET /api/a/b/c answered 500 and is no operation"],
    ["DELETE", "/api/me", 200, "DELETE /api/me answered 200 and is no operation"],
    ["GET", "/api/auth/google", 303, "GET /auth/{provider} answered 303"],
  ])("of %s %s with %i are not", (method, path, status, problem) =>
    expect(seen(method, path, status)).toEqual([problem]),
  );

  it("are judged by what the service itself serves: /login is the gateway's", () => {
    const answer = { method: "GET", path: "/docs", status: 308 };
    expect(undocumented("gateway", [{ ...answer, path: "/api/docs" }])).toEqual([]);
    expect(undocumented("data-service", [answer])).toEqual(["GET /any_table answered 308"]);
  });

  it("are read from the log, those that were cut off left out", () => {
    const line = (message: string): string =>
      JSON.stringify({ method: "GET", path: "/x", status: 200, ms: 1, message });
    const log = [line("request"), line("request cut off"), "no JSON", ""].join("\n");
    expect(answersIn(log)).toEqual([{ method: "GET", path: "/x", status: 200 }]);
  });

  it("of a real system are all in its logs", async () => {
    const stack = await startStack();
    await fetch(`${stack.appUrl}/api/posts`);
    await stack.stop();
    const answer = { method: "GET", status: 404 };
    expect(answersIn(stack.gateway.log())).toEqual([{ ...answer, path: "/api/posts" }]);
    expect(answersIn(stack.dataService.log())).toEqual([{ ...answer, path: "/posts" }]);
  });
});
