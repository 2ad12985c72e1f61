// One call to this server and its answer, measured. Signing in travels in cookies that no script can read.

/** An answer longer than this is counted to its end, but only its beginning is kept. */
const KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Answers `{ reached: false }` when nobody answered, and otherwise
 * `{ reached: true, ok, status, statusText, headers, text, json, bytes, complete, milliseconds }`.
 */
export async function call(method, address, { body, signal } = {}) {
  const begun = performance.now();
  try {
    const response = await fetch(address, {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    const { text, bytes, complete } = await readBody(response);
    return {
      reached: true,
      ok: response.ok,
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
      text,
      json: complete ? parsed(text) : undefined,
      bytes,
      complete,
      milliseconds: performance.now() - begun,
    };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return { reached: false };
  }
}

/** The API's own words for what went wrong, as a list. */
export function problemsOf(answer) {
  const message = answer.json?.message ?? answer.json?.error?.message;
  if (Array.isArray(message) && message.length > 0) return message.map(String);
  if (typeof message === "string" && message !== "") return [message];
  return [`The server answered ${answer.status} ${answer.statusText}`.trim()];
}

async function readBody(response) {
  if (response.body === null) return { text: "", bytes: 0, complete: true };
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (bytes < KEPT_BYTES) text += decoder.decode(value, { stream: true });
    bytes += value.byteLength;
  }
  return { text, bytes, complete: bytes < KEPT_BYTES };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
