// How a strategy talks to its provider: with a time budget and a size limit, which the library lacks.
import https from "node:https";

/** What asks a provider; the development provider puts itself in its place. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Transport {
  readonly fetch: ProviderFetch;
  /** Ends all calls of this sign-in together. */
  readonly signal: AbortSignal;
  /** Gets every error that would otherwise be thrown where nobody can catch it. */
  fail(cause: unknown): void;
}

/** The provider answered with an error status, or not at all. */
export class ProviderUnavailable extends Error {}

interface RequestOptions {
  readonly host?: string | null;
  readonly port?: string | number | null;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

type Callback = (error: unknown, body?: string, response?: { readonly statusCode: number }) => void;

/** A token or a profile has a few kilobytes. */
const MAX_BYTES = 256 * 1024;
/** It may answer the next one: nobody was refused, and nothing is said of whom it was asked about. */
const TOO_MANY = 429;
/** What `fetch` frames by itself. */
const FRAMING = ["host", "content-length"];

/**
 * Replaces the one function of the `oauth` library that does I/O.
 * @param oauth2 the `_oauth2` of a strategy
 */
export function limitRequests(oauth2: object, transport: Transport): void {
  const execute = (library: unknown, options: RequestOptions, body: unknown, callback: Callback): void => {
    ask(transport, addressOf(library, options), options, body)
      .then(
        ({ status, text }) => {
          if (status >= 200 && status < 300) callback(null, text, { statusCode: status });
          else callback({ statusCode: status, data: text });
        },
        (cause: unknown) => transport.fail(new ProviderUnavailable("no answer", { cause })),
      )
      // A strategy that stumbles over an unexpected answer throws in here.
      .catch(transport.fail);
  };
  Object.assign(oauth2, { _executeRequest: execute });
}

function addressOf(library: unknown, { host, port, path }: RequestOptions): string {
  const scheme = library === https ? "https" : "http";
  // The library has taken the brackets off an IPv6 address.
  const name = host?.includes(":") ? `[${host}]` : host;
  return `${scheme}://${name}${port ? `:${port}` : ""}${path}`;
}

async function ask(
  { fetch, signal, fail }: Transport,
  url: string,
  { method = "GET", headers = {} }: RequestOptions,
  body: unknown,
): Promise<{ status: number; text: string }> {
  const lines = Object.entries(headers).filter(([name]) => !FRAMING.includes(name.toLowerCase()));
  const response = await fetch(url, {
    method,
    headers: Object.fromEntries(lines.map(([name, value]) => [name, String(value)])),
    ...(typeof body === "string" && body !== "" ? { body } : {}),
    // A provider does not redirect these calls, and the client secret must go nowhere else.
    redirect: "error",
    signal,
  });
  const text = await readText(response);
  if (response.status >= 500 || response.status === TOO_MANY)
    fail(new ProviderUnavailable(`the provider answered ${response.status}`));
  return { status: response.status, text };
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > MAX_BYTES) throw new Error("the provider's answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
