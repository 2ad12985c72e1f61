// What a log says about an error: what it is and where it happened, never what somebody has stored.

/** An error as it stands in a line of the log. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  readonly codeName?: string;
  readonly cause?: LoggedError;
}

/** Causes are logged down to this depth: an error may be its own cause. */
const MOST_CAUSES = 5;

/**
 * The parts of an error that may be logged. Its other members may be whole documents: a driver's error carries what it was to
 * write.
 * @returns only the type of something that is not an error
 */
export function loggedError(error: unknown, causes = MOST_CAUSES): LoggedError {
  if (!(error instanceof Error))
    return { type: typeof error, message: "Something that is not an error was thrown." };
  const message = withoutDocuments(error);
  return {
    type: error.constructor.name,
    message,
    stack: [`${error.name}: ${message}`, ...framesOf(error)].join("\n"),
    ...codesOf(error),
    ...(error.cause === undefined || causes === 0 ? {} : { cause: loggedError(error.cause, causes - 1) }),
  };
}

/** A stack begins with the message that the error had when it was made. */
function framesOf({ stack = "" }: Error): string[] {
  return stack.split("\n").filter((line) => /^ +at /.test(line));
}

function codesOf(error: Error): Pick<LoggedError, "code" | "codeName"> {
  const code = "code" in error ? error.code : undefined;
  const codeName = "codeName" in error ? error.codeName : undefined;
  return {
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(typeof codeName === "string" ? { codeName } : {}),
  };
}

/**
 * Databases number their errors, and quote keys and documents in their texts: `… index: email_1 dup key: { email: "…"
 * }`.
 */
function withoutDocuments(error: Error): string {
  const { message } = error;
  const quoted = message.indexOf("{");
  const isNumbered = "code" in error && typeof error.code === "number";
  return isNumbered && quoted >= 0 ? `${message.slice(0, quoted)}{…}` : message;
}
