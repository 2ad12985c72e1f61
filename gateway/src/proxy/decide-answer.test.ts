// What becomes of an answer of the data service.
import { describe, expect, it } from "@jest/globals";
import { ENDED_MEANWHILE } from "@portico/shared/bearer-token";
import { foreignError } from "../upstream/upstream-error.js";
import { type AnswerHead, decideAnswer } from "./decide-answer.js";

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const OWN = { ...JSON_TYPE, "x-correlation-id": "c" };
const REFUSED: AnswerHead = {
  statusCode: 401,
  headers: { ...OWN, "www-authenticate": 'Bearer error="invalid_token"' },
};
const STREAM: AnswerHead = {
  statusCode: 200,
  headers: { "content-type": "text/event-stream; charset=utf-8" },
};

const said = (challenge: string): AnswerHead => ({
  statusCode: 401,
  headers: { ...OWN, "www-authenticate": challenge },
});

describe("an answer of the data service", () => {
  it("that believes the token no more is met with another one, while there is one to be had", () => {
    expect(decideAnswer(REFUSED, { canRenew: true })).toBe("renew");
    expect(decideAnswer(REFUSED, { canRenew: false })).toBe("pass");
  });

  it.each<[string, AnswerHead]>([
    ["asks for a token", { statusCode: 401, headers: { ...OWN, "www-authenticate": "Bearer" } }],
    ["says nothing of tokens", { statusCode: 401, headers: OWN }],
    ["forbids", { ...REFUSED, statusCode: 403 }],
    ["ends the request as its session has ended meanwhile", said(ENDED_MEANWHILE["WWW-Authenticate"])],
    ["speaks of a token in other words", said('Bearer realm="mesh", error="invalid_token"')],
    ["succeeds", { statusCode: 200, headers: JSON_TYPE }],
    ["is a file", { statusCode: 200, headers: { "content-type": "text/html" } }],
  ])("that %s is passed on", (_what, answer) => {
    expect(decideAnswer(answer, { canRenew: true })).toBe("pass");
  });

  it("that is a stream of events is known as one", () => {
    expect(decideAnswer(STREAM, { canRenew: true })).toBe("stream");
  });

  it.each<[number, Record<string, string>, string, Record<string, string> | undefined]>([
    [503, { "content-type": "text/html", "retry-after": "7" }, "SERVICE_UNAVAILABLE", { "Retry-After": "7" }],
    [503, { "retry-after": "tomorrow" }, "SERVICE_UNAVAILABLE", { "Retry-After": "1" }],
    [429, { "content-type": "text/plain" }, "SERVICE_UNAVAILABLE", { "Retry-After": "1" }],
    [504, { "content-type": "text/html" }, "QUERY_TIMEOUT", undefined],
    [404, { "content-type": "text/html" }, "BAD_GATEWAY", undefined],
    [401, { "www-authenticate": 'Bearer error="invalid_token"' }, "BAD_GATEWAY", undefined],
    [401, { ...JSON_TYPE, "www-authenticate": 'Bearer error="invalid_token"' }, "BAD_GATEWAY", undefined],
    [502, JSON_TYPE, "BAD_GATEWAY", undefined],
  ])("of something in between with %p and %j is not passed on, but %s", (statusCode, headers, code, told) => {
    const answer = { statusCode, headers };
    expect(decideAnswer(answer, { canRenew: true })).toBe("refuse");
    const error = foreignError(statusCode, headers["retry-after"]);
    expect(error).toMatchObject({ code, ...(told === undefined ? {} : { headers: told }) });
  });
});
