// The one table of error codes: what each means and which HTTP status it carries (contract, section 2).

/** Every code a client can meet, with its HTTP status and the text used when the thrower has nothing better. */
export const ERROR_CODES = {
  BAD_REQUEST: { status: 400, text: "The request is not valid." },
  VALIDATION_ERROR: { status: 400, text: "The body is not valid." },
  UNAUTHORIZED: { status: 401, text: "Sign in first." },
  TOKEN_EXPIRED: { status: 401, text: "The access token has expired." },
  INVALID_TOKEN: { status: 401, text: "The token is not valid." },
  INVALID_CREDENTIALS: { status: 401, text: "E-mail or password is wrong." },
  FORBIDDEN: { status: 403, text: "You may not do this." },
  NOT_FOUND: { status: 404, text: "Not found." },
  METHOD_NOT_ALLOWED: { status: 405, text: "This method is not allowed here." },
  DUPLICATE_RESOURCE: { status: 409, text: "A record with this value exists already." },
  CONFLICT: { status: 409, text: "The request conflicts with the present state." },
  DESTRUCTIVE_CHANGE: { status: 409, text: "This change would lose data." },
  PRECONDITION_FAILED: { status: 412, text: "The record has changed meanwhile." },
  PAYLOAD_TOO_LARGE: { status: 413, text: "The body is too large." },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, text: "Send the body as application/json in UTF-8." },
  RANGE_NOT_SATISFIABLE: { status: 416, text: "The range lies outside the file." },
  SCHEMA_ERROR: { status: 422, text: "The table definition is not valid." },
  TOO_MANY_REQUESTS: { status: 429, text: "Too many requests; try again later." },
  INTERNAL_ERROR: { status: 500, text: "Something went wrong on our side." },
  BAD_GATEWAY: { status: 502, text: "The data service can not be reached." },
  SERVICE_UNAVAILABLE: { status: 503, text: "The service is not available right now." },
  QUERY_TIMEOUT: { status: 504, text: "The query took too long." },
} as const satisfies Record<string, { status: number; text: string }>;

/** A code of the table above. */
export type ErrorCode = keyof typeof ERROR_CODES;
