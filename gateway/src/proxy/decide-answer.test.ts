import { describe, expect, it } from "@jest/globals";
import { type AnswerHead, decideAnswer } from "./decide-answer.js";

const REFUSED: AnswerHead = {
  statusCode: 401,
  headers: { "www-authenticate": 'Bearer error="invalid_token"' },
};
const STREAM: AnswerHead = {
  statusCode: 200,
  headers: { "content-type": "text/event-stream; charset=utf-8" },
};

describe("an answer of the data service", () => {
  it("that believes the token no more is met with another one, while there is one to be had", () => {
    expect(decideAnswer(REFUSED, { canRenew: true })).toBe("renew");
    expect(decideAnswer(REFUSED, { canRenew: false })).toBe("pass");
  });

  it.each<[string, AnswerHead]>([
    ["asks for a token", { statusCode: 401, headers: { "www-authenticate": "Bearer" } }],
    ["says nothing of tokens", { statusCode: 401, headers: {} }],
    ["forbids", { ...REFUSED, statusCode: 403 }],
    ["succeeds", { statusCode: 200, headers: { "content-type": "application/json" } }],
  ])("that %s is passed on", (_what, answer) => {
    expect(decideAnswer(answer, { canRenew: true })).toBe("pass");
  });

  it("that is a stream of events is known as one", () => {
    expect(decideAnswer(STREAM, { canRenew: true })).toBe("stream");
  });
});
