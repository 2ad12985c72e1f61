// One operation of the API as the OpenAPI document describes it, with shorthands for writing such descriptions. Pure.
import type { ERROR_CODES } from "./error-codes.js";

/** A piece of an OpenAPI document or of a JSON Schema. */
export interface Part {
  readonly [key: string]: Json;
}
type Json = null | boolean | number | string | readonly Json[] | Part;

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
  readonly parameters?: readonly Part[];
  /** A media type object. */
  readonly body?: Part;
  /** Of the body: `application/json` unless others are named. */
  readonly bodyTypes?: readonly string[];
  readonly isBodyOptional?: true;
  /** Response objects by status. */
  readonly answers: Readonly<Record<number, Part>>;
  readonly refusals: readonly RefusalStatus[];
}

/** What every call that reaches the data service can meet: see docs/api.md, section 2. */
export const FORWARDED = [400, 401, 413, 415, 429, 500, 502, 503, 504] as const;
/** What the gateway says when it answers by itself. */
export const AT_GATEWAY = [400, 500] as const;

/** A required member of a path. */
export function inPath(name: string, schema: Part, description: string): Part {
  return { name, in: "path", required: true, schema, description };
}

/** A parameter of the address. */
export function inQuery(name: string, schema: Part, description: string): Part {
  return { name, in: "query", schema, description };
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

/** An answer with keys beside `statusCode` and `message`. */
export function answer(status: number, description: string, keys: Readonly<Record<string, Part>> = {}): Part {
  const properties = { statusCode: { const: status }, message: { const: "Success" }, ...keys };
  const required = ["statusCode", "message", ...Object.keys(keys).filter((key) => key !== "meta")];
  return json(description, { type: "object", properties, required });
}

/** An answer whose `data` is a list. */
export function dataAnswer(status: number, description: string, item: Part, meta?: Part): Part {
  const data = { data: { type: "array", items: item } };
  return answer(status, description, meta === undefined ? data : { ...data, meta });
}

/** An answer in JSON. */
export function json(description: string, schema: Part): Part {
  return { description, content: { "application/json": { schema } } };
}

/** A redirect. */
export function redirect(description: string): Part {
  return { description, headers: { Location: { schema: { type: "string" } } } };
}

export const TEXT: Part = { type: "string" };
export const TEXT_OR_NULL: Part = { type: ["string", "null"] };
export const FLAG: Part = { type: "boolean" };
export const WHOLE_NUMBER: Part = { type: "integer" };
export const TIME: Part = { type: "string", format: "date-time" };
export const TIME_OR_NULL: Part = { type: ["string", "null"], format: "date-time" };
export const OBJECT_ID: Part = { type: "string", pattern: "^[0-9a-f]{24}$" };
