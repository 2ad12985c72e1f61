// A JSON log line -> one short line for a terminal; anything else stays as it is.

/** What goes wrong is looked for in the logs of both services, and by what its client was told. */
const TRACED = ["warn", "error", "fatal"];

/** `12:03:04 info  GET /posts 200 3.1 ms` */
export function readableLogLine(line) {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { time, level, service, message, event, method, path, status, ms, err, correlationId } = entry;
  const isRequest = method !== undefined && message === "request";
  const parts = [
    clockTime(time),
    String(level ?? "").padEnd(5),
    String(service ?? "").padEnd(12),
    isRequest ? undefined : message,
    event,
    method,
    path,
    status,
    ms === undefined ? undefined : `${ms} ms`,
    TRACED.includes(level) && correlationId !== undefined ? `[${correlationId}]` : undefined,
    err?.stack ?? err?.message,
  ];
  return parts.filter((part) => part !== undefined && part !== "").join(" ");
}

function parse(line) {
  try {
    const entry = JSON.parse(line);
    return typeof entry === "object" && entry !== null ? entry : undefined;
  } catch {
    return undefined;
  }
}

function clockTime(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date.toLocaleTimeString("en-GB");
}
