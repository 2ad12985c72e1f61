// Describes the gateway's own routes: sign-in with cookies, providers, the page of the API. Pure. It is in shared because the
// data service writes the document; a test compares it with the gateway's routes.
import { PROVIDERS } from "./oauth.js";
import {
  AT_GATEWAY,
  answer,
  dataAnswer,
  FLAG,
  inPath,
  inQuery,
  type Operation,
  object,
  PAGE_CONDITIONS,
  PAGE_VERSION,
  redirect,
  TEXT,
  WHOLE_NUMBER,
} from "./operation.js";

const SIGN_IN = "Sign-in";
const PROVIDER = inPath(
  "provider",
  { enum: [...PROVIDERS] },
  "One that `GET /auth/providers` names; others are 404.",
);
const PREFIX = inQuery(
  "cookieBridgePrefix",
  { type: "string", default: "/api" },
  "Where the app that shows the page forwards the API from.",
);

/** E-mail and password, and how long to stay. */
export const CREDENTIALS = {
  schema: object(
    { email: TEXT, password: { type: "string", maxLength: 1024, format: "password" }, remember: FLAG },
    ["email", "password"],
  ),
  example: { email: "ann@example.com", password: "correct horse battery", remember: true },
};

const TIMES = {
  expTime: { type: "integer", description: "When the access token expires, in epoch milliseconds." },
  refreshExpTime: WHOLE_NUMBER,
  loginProvider: { type: ["string", "null"] },
};

export const GATEWAY_OPERATIONS: readonly Operation[] = [
  {
    method: "post",
    path: "/login",
    id: "login",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "Sign in with cookies",
    description: "For browsers: the tokens go into HttpOnly cookies, which later calls send by themselves.",
    body: CREDENTIALS,
    answers: { 200: answer(200, "Signed in; the cookies are set.", TIMES) },
    refusals: [400, 401, 403, 413, 415, 429, 500, 502, 503, 504],
  },
  {
    method: "post",
    path: "/logout",
    id: "logout",
    tag: SIGN_IN,
    for: "anyone",
    takesReadOnly: true,
    summary: "End the session of the cookies, or of a Bearer token",
    description: "Idempotent: the cookies are cleared, whatever they held. An invalid Bearer token is a 401.",
    answers: { 200: answer(200, "Signed out.") },
    refusals: [400, 401, 403, 413, 415, 429, 500, 502, 503, 504],
  },
  {
    method: "get",
    path: "/auth/providers",
    id: "getProviders",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "The providers one can sign in with",
    answers: {
      200: dataAnswer(200, "In a fixed order.", object({ provider: { enum: [...PROVIDERS] } }, ["provider"])),
    },
    refusals: AT_GATEWAY,
  },
  {
    method: "get",
    path: "/auth/{provider}",
    id: "startOAuth",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "Sign in with a provider",
    description:
      "An address to navigate to, not to fetch: the browser goes to the provider and comes back signed in.",
    parameters: [
      PROVIDER,
      { ...inQuery("redirect", { type: "string", format: "uri" }, "Where to come back to."), required: true },
      PREFIX,
    ],
    answers: { 302: redirect("To the provider.") },
    refusals: [400, 401, 404, 429, 500, 502, 503, 504],
  },
  {
    method: "get",
    path: "/auth/{provider}/callback",
    id: "finishOAuth",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "Where the provider sends the browser back to",
    parameters: [
      PROVIDER,
      inQuery("state", TEXT, "As given to the provider."),
      inQuery("code", TEXT, "Granted by the provider."),
      inQuery("error", TEXT, "Why the provider refused."),
    ],
    answers: { 302: redirect("To the cookie bridge, with a code or an error.") },
    refusals: [400, 401, 404, 429, 500, 502, 503, 504],
  },
  {
    method: "get",
    path: "/auth/set-cookies",
    id: "setCookies",
    tag: SIGN_IN,
    for: "anyone",
    ignoresCredentials: true,
    summary: "The cookie bridge: a code becomes the session cookies",
    parameters: [
      inQuery("code", TEXT, "Of the callback; works once, for a minute."),
      inQuery("error", TEXT, "Instead of a code: handed on to the page."),
      inQuery("redirect", { type: "string", format: "uri" }, "The page the sign-in began on."),
    ],
    answers: { 302: redirect("To the page the sign-in began on.") },
    refusals: [400, 401, 429, 500, 502, 503, 504],
  },
  {
    method: "post",
    path: "/auth/{provider}/link",
    id: "linkProvider",
    tag: "Me",
    for: "session",
    summary: "Connect a provider to one's account",
    parameters: [PROVIDER],
    body: {
      schema: object({ redirect: { type: "string", format: "uri" }, cookieBridgePrefix: TEXT }, ["redirect"]),
      example: { redirect: "https://app.example.com/settings" },
    },
    answers: { 200: answer(200, "Where to send the browser.", { url: { type: "string", format: "uri" } }) },
    refusals: [400, 401, 403, 404, 413, 415, 429, 500, 502, 503, 504],
  },
  {
    method: "get",
    path: "/docs",
    id: "showDocs",
    tag: "About the API",
    for: "anyone",
    ignoresCredentials: true,
    summary: "This document as a page to read and to try",
    parameters: PAGE_CONDITIONS,
    answers: {
      200: { description: "The page.", headers: PAGE_VERSION, content: { "text/html": { schema: TEXT } } },
      304: { description: "The copy you have is still current.", headers: PAGE_VERSION },
      308: redirect("To the address without a slash at its end."),
    },
    refusals: [...AT_GATEWAY, 412],
  },
  {
    method: "get",
    path: "/docs/{file}",
    id: "getDocsFile",
    tag: "About the API",
    for: "anyone",
    ignoresCredentials: true,
    summary: "A file of that page",
    parameters: [inPath("file", TEXT, "A script or a style sheet."), ...PAGE_CONDITIONS],
    answers: {
      200: {
        description: "The file.",
        headers: PAGE_VERSION,
        content: { "text/javascript": { schema: TEXT }, "text/css": { schema: TEXT } },
      },
      304: { description: "The copy you have is still current.", headers: PAGE_VERSION },
    },
    refusals: [...AT_GATEWAY, 404, 412],
  },
];
