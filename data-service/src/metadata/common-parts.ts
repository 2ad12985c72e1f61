// What all operations of the document share: the error body, the refusals, the parameters of the query language, and references to
// parts by their names. Pure.
import { ERROR_CODES, type ErrorCode } from "@portico/shared/error-codes";
import {
  headers,
  inHeader,
  inQuery,
  LIST_OF_TEXT,
  object,
  type Part,
  type RefusalStatus,
  TEXT,
  TIME,
  WHOLE_NUMBER,
} from "@portico/shared/operation";
import { standardLimit } from "../query/syntax/paging.js";

/** A schema of the document, by its name. */
export function ref(name: string): Part {
  return { $ref: `#/components/schemas/${name}` };
}

/** A parameter of the document, by its name. */
export function parameter(name: string): Part {
  return { $ref: `#/components/parameters/${name}` };
}

/**
 * A parameter whose text is JSON. With `content` instead, most generators give it the type of its object, and write it into the
 * address in ways of their own, which leave out null and empty lists: a DELETE would delete more than was asked for. With a
 * `contentMediaType`, Swagger UI asks for a file to be chosen.
 */
export function jsonParameter(name: string, schema: Part, description: string, example: Part = {}): Part {
  const text = inQuery(name, { ...TEXT, contentSchema: schema }, description);
  return { ...text, example: JSON.stringify(example) };
}

const CODES = Object.entries(ERROR_CODES).map(([code, { status, text }]) => ({ code, status, text }));

/** The body of every refusal, from either service (docs/api.md, section 2). */
const ERROR: Part = {
  type: "object",
  properties: {
    success: { const: false },
    statusCode: WHOLE_NUMBER,
    message: {
      anyOf: [TEXT, LIST_OF_TEXT],
      description: "A list where a body has violations, each beginning with the field's name.",
    },
    error: {
      type: "object",
      properties: {
        code: { enum: CODES.map(({ code }) => code) },
        message: TEXT,
        details: { type: "object" },
        timestamp: TIME,
        path: TEXT,
        method: TEXT,
        correlationId: { ...TEXT, description: "Also in the header X-Correlation-ID and in the logs." },
      },
      required: ["code", "message", "timestamp", "path", "method", "correlationId"],
    },
  },
  required: ["success", "statusCode", "message", "error"],
};

const META = object({
  totalCount: { ...WHOLE_NUMBER, description: "Whatever the filter says." },
  filterCount: { ...WHOLE_NUMBER, description: "That match the filter, on all pages." },
  aggregate: { type: "object", additionalProperties: { type: "object" } },
});

export const COMMON_SCHEMAS: Readonly<Record<string, Part>> = { Error: ERROR, Meta: META };

/** How many records to show at once. @param maxLimit QUERY_MAX_LIMIT, undefined = none */
export function limitSchema(maxLimit: number | undefined): Part {
  return maxLimit === undefined
    ? { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
    : { type: "integer", minimum: 1, maximum: maxLimit };
}

/** Which page of them to show. */
export const PAGE: Part = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

/** Of a list, or of a file. */
export const FORMAT: Part = { type: "string", enum: ["json", "csv", "ndjson"] };
/**
 * The types of files stand here alone. Among the contents of the answer they would make each list, in generated clients, one of
 * records or text.
 */
export const FORMAT_WORDS =
  "`csv` and `ndjson`: a file (`text/csv`, `application/x-ndjson`) with all records that match.";

/** @param maxLimit QUERY_MAX_LIMIT, undefined = none */
export function commonParameters(maxLimit: number | undefined): Readonly<Record<string, Part>> {
  const limit = { ...limitSchema(maxLimit), default: standardLimit(maxLimit) };
  const words = maxLimit === undefined ? "How many; 0 = all." : "How many.";
  return { ...OTHER_PARAMETERS, limit: inQuery("limit", limit, words) };
}

const OTHER_PARAMETERS: Readonly<Record<string, Part>> = {
  fields: {
    ...inQuery(
      "fields",
      TEXT,
      "Names separated by commas: `*`, `title`, `author.name`, `-body`, `_count(comments)`.",
    ),
    example: "*",
  },
  page: inQuery("page", { ...PAGE, default: 1 }, "Which page."),
  meta: inQuery(
    "meta",
    { type: "string", enum: ["*", "totalCount", "filterCount", "totalCount,filterCount"] },
    "Counts to answer beside the records.",
  ),
  deep: jsonParameter("deep", { type: "object" }, "What to load of related records, as JSON."),
  format: inQuery("format", FORMAT, FORMAT_WORDS),
  deleted: inQuery(
    "deleted",
    { type: "string", enum: ["with", "only"] },
    "Also records that are deleted, or these alone: those that one may delete.",
  ),
  IfMatch: inHeader("If-Match", "ETags, one of which the record must still have: else 412."),
  IfNoneMatch: inHeader("If-None-Match", "ETags of answers that you have: 304 if it would be the same."),
  IdempotencyKey: inHeader("Idempotency-Key", "Sent again with the same key, it makes nothing twice."),
  explain: inQuery("explain", { type: "boolean" }, "Answer how the query runs instead of what it finds."),
};

const NAMES: Readonly<Record<RefusalStatus, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  412: "PreconditionFailed",
  413: "ContentTooLarge",
  415: "UnsupportedMediaType",
  416: "RangeNotSatisfiable",
  422: "UnprocessableContent",
  429: "TooManyRequests",
  500: "InternalServerError",
  502: "BadGateway",
  503: "ServiceUnavailable",
  504: "GatewayTimeout",
};

/** The name of a refusal among the document's responses (RFC 9110's). */
export function refusalName(status: RefusalStatus): string {
  return NAMES[status];
}

const HEADERS: Readonly<Partial<Record<RefusalStatus, string>>> = {
  401: "WWW-Authenticate",
  405: "Allow",
  416: "Content-Range",
  429: "Retry-After",
  503: "Retry-After",
};

/** The response object of a refusal, with its codes. */
export function refusal(status: RefusalStatus): Part {
  const codes = CODES.filter((each) => each.status === status);
  const header = HEADERS[status];
  return {
    description: codes.map(({ code, text }) => `\`${code}\`: ${text}`).join(" "),
    ...(header === undefined ? {} : { headers: headers(header) }),
    content: {
      "application/json": {
        schema: ref("Error"),
        examples: Object.fromEntries(codes.map(({ code }) => [code, { value: errorExample(code) }])),
      },
    },
  };
}

function errorExample(code: ErrorCode | string): Part {
  const { status, text } = CODES.find((each) => each.code === code) ?? { status: 500, text: "" };
  const about = { timestamp: "2026-05-31T12:00:00.000Z", path: "/api/posts", method: "GET" };
  return {
    success: false,
    statusCode: status,
    message: text,
    error: { code, message: text, ...about, correlationId: "8b0ad7a1-6f0d-4f2c-9d5e-2f3c1f6f7a10" },
  };
}
