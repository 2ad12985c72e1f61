// Checked path and query of an API call -> the path asked of the data service. Pure.

/** The upstream's path, made of checked parts only: it can not name another host. */
export interface Target {
  /** Without `/api` and without the query: `/posts`. */
  readonly path: string;
  /** With its `?`, byte for byte as the client wrote it; empty when there is none. */
  readonly query: string;
}

const API = /^\/api(?<path>\/[^?#\\]+)(?<query>\?[^#]*)?$/;

/**
 * @param url as `checkRequestLine` left it
 * @returns undefined for anything that is not below `/api/`
 */
export function readTarget(url: string): Target | undefined {
  const parts = API.exec(url)?.groups;
  const path = parts?.path;
  if (path === undefined || path.startsWith("//")) return undefined;
  return { path, query: parts?.query ?? "" };
}
