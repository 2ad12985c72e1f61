// The address as people type it <-> the address as it is sent. Knows nothing of the page.

/** Parameters begin at `&` only where a name and `=` follow, so that `"salt & pepper"` stays whole. */
const NEXT_PARAMETER = /&(?=[^&={}"\s]+=)/;

/**
 * `/posts\n  ?filter={"views":1}` -> `{ path: "/api/posts", parameters: [["filter", "{\"views\":1}"]] }`.
 * Throws an Error in words fit to be shown.
 * @param origin of this server, which may stand before the path
 */
export function parseAddress(typed, origin = "") {
  const lines = typed.split(/\r?\n/).map((part) => part.trim());
  const line = withoutOrigin(lines.join(""), origin);
  if (line === "") throw new Error("Type an address first, for example /api/posts.");
  if (/^[a-z][a-z0-9+.-]*:|^\/\/|\\/i.test(line)) {
    throw new Error("Only addresses of this server can be run here. Begin with /api/.");
  }
  const start = line.indexOf("?");
  const typedPath = start < 0 ? line : line.slice(0, start);
  const query = start < 0 ? "" : line.slice(start + 1);
  return {
    path: apiPath(typedPath),
    parameters: query.split(NEXT_PARAMETER).filter(Boolean).map(parseParameter),
  };
}

/** The address with everything encoded, ready to be fetched. */
export function encodeAddress({ path, parameters }) {
  const query = parameters
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");
  return query === "" ? path : `${path}?${query}`;
}

/** Addresses that are copied from elsewhere are whole. Only a path may follow, or another server would be named. */
function withoutOrigin(line, origin) {
  const rest = line.slice(origin.length);
  const isOwn = line.slice(0, origin.length).toLowerCase() === origin && rest.startsWith("/");
  return isOwn ? rest : line;
}

function apiPath(typedPath) {
  const path = typedPath.startsWith("/") ? typedPath : `/${typedPath}`;
  const full = path === "/api" || path.startsWith("/api/") ? path : `/api${path}`;
  if (/[{}]/.test(full)) throw new Error("Put an id in place of {id} first.");
  return full.split("/").map(decoded).map(encodeURIComponent).join("/");
}

function parseParameter(text) {
  const equals = text.indexOf("=");
  return equals < 0 ? [decoded(text), ""] : [decoded(text.slice(0, equals)), decoded(text.slice(equals + 1))];
}

/** Addresses pasted from elsewhere are encoded already; a bare `%` stays a percent sign. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
