// What is remembered of Cookie headers is what would be read of them anew.
import { describe, expect, it } from "@jest/globals";
import express from "express";
import supertest from "supertest";
import { findSessionCookies, sessionCookiesOf } from "./request-cookies.js";

const app = express()
  .use(findSessionCookies())
  .use((request, response) => {
    response.json(sessionCookiesOf(request));
  });

const read = async (header: string): Promise<unknown> =>
  (await supertest(app).get("/").set("Cookie", header)).body;

describe("the session cookies of a request", () => {
  it.each<[string, unknown]>([
    [
      "accessToken=a; refreshToken=r",
      { kind: "present", spelling: "plain", accessToken: "a", refreshToken: "r" },
    ],
    [
      "accessToken=a; accessToken=b",
      { kind: "unusable", named: [{ accessToken: "a" }, { accessToken: "b" }] },
    ],
    ["refreshToken=j:1", { kind: "unusable", named: [{ refreshToken: "j:1" }] }],
    ["theme=dark", { kind: "none" }],
  ])("are the same each time %s comes", async (header, expected) => {
    expect([await read(header), await read(header)]).toEqual([expected, expected]);
  });

  it("are those of its own header", async () => {
    await read("accessToken=a");
    expect(await read("accessToken=b")).toMatchObject({ accessToken: "b" });
    expect((await supertest(app).get("/")).body).toEqual({ kind: "none" });
  });
});
