// Errors as the log tells them.
import { describe, expect, it } from "@jest/globals";
import { AppError } from "./app-error.js";
import { loggedError } from "./logged-error.js";

/** As the driver makes them. */
class ServerError extends Error {
  readonly code = 11_000;
  readonly codeName = "DuplicateKey";
  readonly writeErrors = [{ op: { email: "ann@example.com" } }];
  readonly errInfo = { consideredValue: "ann@example.com" };
}

const TEXT =
  'E11000 duplicate key error collection: db.users index: email_1 dup key: { email: "ann@example.com" }';

describe("an error in the log", () => {
  it("says what it is, where it happened and what caused it", () => {
    const cause = Object.assign(new TypeError("no such thing"), { code: "ECONNREFUSED" });
    expect(loggedError(new AppError("INTERNAL_ERROR", { message: "It failed.", cause }))).toEqual({
      type: "AppError",
      message: "It failed.",
      code: "INTERNAL_ERROR",
      stack: expect.stringContaining("logged-error.test"),
      cause: {
        type: "TypeError",
        message: "no such thing",
        code: "ECONNREFUSED",
        stack: expect.stringMatching(/^TypeError: no such thing\n/),
      },
    });
  });

  it("has nothing of what a database quotes of documents, neither in members nor in texts, as a cause too", () => {
    const logged = loggedError(new AppError("CONFLICT", { cause: new ServerError(TEXT) }));
    expect(logged.cause).toMatchObject({ type: "ServerError", code: 11_000, codeName: "DuplicateKey" });
    expect(logged.cause?.message).toMatch(/index: email_1 dup key: \{…\}$/);
    expect(JSON.stringify(logged)).not.toContain("ann@example.com");
  });

  it("tells braces of errors that no database has numbered", () => {
    expect(loggedError(new SyntaxError("Unexpected token }")).message).toBe("Unexpected token }");
  });

  it("ends where errors cause each other", () => {
    const error = new Error("first");
    error.cause = new Error("second", { cause: error });
    expect(JSON.stringify(loggedError(error)).match(/"message":"first"/g)).toHaveLength(3);
  });

  it("says of what is no error that it is none", () => {
    expect(loggedError({ email: "ann@example.com" })).toEqual({
      type: "object",
      message: "Something that is not an error was thrown.",
    });
  });
});
