// The routes of tokens and keys (auth/routes, auth/api-token-routes, auth/key-routes), described. Pure.
import { CREDENTIALS } from "@portico/shared/gateway-operations";
import {
  answer,
  dataAnswer,
  FLAG,
  FORWARDED,
  inPath,
  json,
  OBJECT_ID,
  type Operation,
  object,
  type Part,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  WHOLE_NUMBER,
} from "@portico/shared/operation";

const SIGN_IN = "Sign-in";
const API_TOKENS = "API tokens";

const TOKENS: Readonly<Record<string, Part>> = {
  accessToken: TEXT,
  refreshToken: TEXT,
  expTime: WHOLE_NUMBER,
  refreshExpTime: WHOLE_NUMBER,
  loginProvider: TEXT_OR_NULL,
};
const REFRESH_TOKEN = { schema: object({ refreshToken: TEXT }, ["refreshToken"]) };
const API_TOKEN: Readonly<Record<string, Part>> = {
  id: OBJECT_ID,
  name: TEXT,
  readOnly: FLAG,
  origin: {
    ...TEXT_OR_NULL,
    description:
      "That of the session it was made in; null where no browser asked, and from earlier versions.",
  },
  createdAt: TIME,
  expiresAt: { ...TEXT, description: 'A time, or "never".' },
  lastUsedAt: TIME_OR_NULL,
};
const KEYS = ["id", "name", "readOnly", "origin", "createdAt", "expiresAt", "lastUsedAt"];
const ID = inPath("id", TEXT, "The token's id.");

export const AUTH_OPERATIONS: readonly Operation[] = [
  {
    method: "post",
    path: "/auth/login",
    id: "getTokens",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "Sign in with tokens",
    description: "For programs: no cookies are set. Send the access token as `Authorization: Bearer …`.",
    body: CREDENTIALS,
    answers: { 200: answer(200, "The tokens; times are epoch milliseconds.", TOKENS) },
    refusals: FORWARDED,
  },
  {
    method: "post",
    path: "/auth/refresh-token",
    id: "refreshTokens",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "The next pair of tokens",
    body: REFRESH_TOKEN,
    answers: { 200: answer(200, "The tokens.", TOKENS) },
    refusals: FORWARDED,
  },
  {
    method: "post",
    path: "/auth/logout",
    id: "endTokens",
    tag: SIGN_IN,
    for: "anyone",
    takesReadOnly: true,
    isBodyOptional: true,
    summary: "End the session of a refresh token, or of the Bearer token",
    body: REFRESH_TOKEN,
    answers: { 200: answer(200, "The session is gone.") },
    // Where a gateway names the page that asks, and the session was made for another one.
    refusals: [...FORWARDED, 403],
  },
  {
    method: "get",
    path: "/.well-known/jwks.json",
    id: "getKeys",
    tag: SIGN_IN,
    for: "anyone",
    summary: "The public keys of access tokens",
    answers: {
      200: json("A JSON Web Key Set (RFC 7517).", {
        type: "object",
        properties: { keys: { type: "array", items: { type: "object" } } },
        required: ["keys"],
      }),
    },
    refusals: FORWARDED,
  },
  {
    method: "post",
    path: "/auth/keys/rotate",
    id: "rotateKeys",
    tag: SIGN_IN,
    for: "root",
    summary: "A new key to sign access tokens with",
    answers: {
      200: answer(200, "Published at once; it signs from then on.", { kid: TEXT, activeFrom: TIME }),
    },
    refusals: [...FORWARDED, 403],
  },
  {
    method: "get",
    path: "/auth/api-tokens",
    id: "getApiTokens",
    tag: API_TOKENS,
    for: "session",
    summary: "One's own API tokens",
    answers: { 200: dataAnswer(200, "Without their text.", object(API_TOKEN, KEYS)) },
    refusals: [...FORWARDED, 403],
  },
  {
    method: "post",
    path: "/auth/api-tokens",
    id: "makeApiToken",
    tag: API_TOKENS,
    for: "session",
    summary: "Make an API token",
    body: {
      schema: object(
        {
          name: { type: "string", minLength: 1, maxLength: 100 },
          expiresAt: API_TOKEN.expiresAt ?? TEXT,
          readOnly: FLAG,
        },
        ["name", "expiresAt"],
      ),
      example: { name: "nightly report", expiresAt: "never", readOnly: true },
    },
    answers: {
      201: {
        ...dataAnswer(
          201,
          "`token` is shown this once.",
          object({ ...API_TOKEN, token: TEXT }, [...KEYS, "token"]),
        ),
        headers: { Location: { schema: TEXT } },
      },
    },
    refusals: [...FORWARDED, 403, 409],
  },
  {
    method: "get",
    path: "/auth/api-tokens/{id}",
    id: "getApiToken",
    tag: API_TOKENS,
    for: "session",
    summary: "One API token",
    parameters: [ID],
    answers: { 200: dataAnswer(200, "Without its text.", object(API_TOKEN, KEYS)) },
    refusals: [...FORWARDED, 403, 404],
  },
  {
    method: "delete",
    path: "/auth/api-tokens/{id}",
    id: "revokeApiToken",
    tag: API_TOKENS,
    for: "session",
    summary: "Revoke an API token",
    parameters: [ID],
    answers: { 200: answer(200, "It no longer works.") },
    refusals: [...FORWARDED, 403, 404],
  },
];
