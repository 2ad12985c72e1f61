// One operation of the API as the OpenAPI document describes it, with shorthands for writing such descriptions. Pure.
import type { ERROR_CODES } from "./error-codes.js";
import type { JsonObject } from "./json.js";

/** A piece of an OpenAPI document or of a JSON Schema. */
export type Part = JsonObject;

/** Who may use an operation: `session` is a signed-in user without an API token. */
export type Audience = "anyone" | "user" | "session" | "root";

/** A status with which an operation can refuse. */
export type RefusalStatus = (typeof ERROR_CODES)[keyof typeof ERROR_CODES]["status"];

export interface Operation {
  readonly method: "get" | "post" | "patch" | "delete";
  /** Below `/api`, with parameters in braces: `/me/sessions/{id}`. */
  readonly path: string;
  /** Unique in the document; generated clients name their functions after it. */
  readonly id: string;
  /** The heading it stands under. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly for: Audience;
  /** Looks at no credential at all. */
  readonly ignoresCredentials?: true;
  /** Changes nothing, whatever its method. */
  readonly isSafe?: true;
  /** A read-only API token may call it: what it changes needs no right of the token's. */
  readonly takesReadOnly?: true;
  readonly parameters?: readonly Part[];
  /** A media type object, of JSON. */
  readonly body?: Part;
  /** Media type objects by type, where a body is not JSON alone. */
  readonly bodies?: Readonly<Record<string, Part>>;
  readonly isBodyOptional?: true;
  /** Response objects by status. */
  readonly answers: Readonly<Record<number, Part>>;
  readonly refusals: readonly RefusalStatus[];
}

/** What every call that reaches the data service can meet: see docs/api.md, section 2. */
export const FORWARDED = [400, 401, 413, 415, 429, 500, 502, 503, 504] as const;
/** What the gateway says when it answers by itself; 503 with more requests than it can handle. */
export const AT_GATEWAY = [400, 500, 503] as const;

/** A required member of a path. */
export function inPath(name: string, schema: Part, description: string): Part {
  return { name, in: "path", required: true, schema, description };
}

/** A parameter of the address. */
export function inQuery(name: string, schema: Part, description: string): Part {
  return { name, in: "query", schema, description };
}

/** A header of the request. */
export function inHeader(name: string, description: string): Part {
  return { name, in: "header", schema: TEXT, description };
}

/** An object with these keys and no others; `required` are those that must be there. */
export function object(properties: Readonly<Record<string, Part>>, required: readonly string[] = []): Part {
  return {
    type: "object",
    properties,
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
  };
}

/** An answer with keys beside `statusCode` and `message`. @param optional keys that may be missing */
export function answer(
  status: number,
  description: string,
  keys: Readonly<Record<string, Part>> = {},
  optional: Readonly<Record<string, Part>> = {},
): Part {
  const needed = { statusCode: { const: status }, message: { const: "Success" }, ...keys };
  return json(description, {
    type: "object",
    properties: { ...needed, ...optional },
    required: Object.keys(needed),
  });
}

/** An answer whose `data` is a list. @param meta what may stand beside it */
export function dataAnswer(status: number, description: string, item: Part, meta?: Part): Part {
  const data = { data: { type: "array", items: item } };
  return answer(status, description, data, meta === undefined ? {} : { meta });
}

/** An answer in JSON. */
export function json(description: string, schema: Part): Part {
  return { description, content: { "application/json": { schema } } };
}

/** Headers of an answer, each with text. */
export function headers(...names: readonly string[]): Part {
  return Object.fromEntries(names.map((name) => [name, { schema: TEXT }]));
}

/** A redirect. */
export function redirect(description: string): Part {
  return { description, headers: headers("Location") };
}

export const TEXT: Part = { type: "string" };
export const LIST_OF_TEXT: Part = { type: "array", items: TEXT };
export const TEXT_OR_NULL: Part = { type: ["string", "null"] };
export const FLAG: Part = { type: "boolean" };
export const WHOLE_NUMBER: Part = { type: "integer" };
export const TIME: Part = { type: "string", format: "date-time" };
export const TIME_OR_NULL: Part = { type: ["string", "null"], format: "date-time" };
export const OBJECT_ID: Part = { type: "string", pattern: "^[0-9a-f]{24}$" };
/** An `OBJECT_ID` as a client may write it. */
export const GIVEN_ID: Part = { type: "string", pattern: "^[0-9a-fA-F]{24}$" };

/** Which version of a page is wanted. Pages have no times: an older build is another one, too. */
export const PAGE_CONDITIONS: readonly Part[] = [
  inHeader("If-None-Match", "ETags of what is there: 304 when it is still one of these."),
  inHeader("If-Match", "ETags, one of which it must still have: else 412."),
];
/** The version of a page that was answered. */
export const PAGE_VERSION: Part = headers("ETag");

/** Which version of a file is wanted. */
export const FILE_CONDITIONS: readonly Part[] = [
  ...PAGE_CONDITIONS,
  inHeader("If-Modified-Since", "A time: 304 when it has not changed since."),
  inHeader("If-Unmodified-Since", "A time since which it must not have changed: else 412."),
];
/** The version of a file that was answered. */
export const FILE_VERSION: Part = headers("ETag", "Last-Modified");
