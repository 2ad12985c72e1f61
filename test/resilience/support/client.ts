// A client that tells how each request ended: with an answer, a broken one, none, or not at all.
import { Agent, request as httpRequest, type OutgoingHttpHeaders } from "node:http";

/** What is wrong where there is no whole answer. `broken`: its head came, its end did not. */
export type NoAnswer = "broken" | "none" | "hang";

export interface Outcome {
  /** The status of a whole answer. */
  readonly ended: number | NoAnswer;
  /** Its text; empty without a whole answer. */
  readonly text: string;
  /** It is what the contract promises: JSON, and for a refusal the error body with this status. */
  readonly isJson: boolean;
  readonly ms: number;
  /** `performance.now()` at the end. */
  readonly at: number;
}

export interface Ask {
  readonly body?: string | Buffer;
  readonly headers?: OutgoingHttpHeaders;
}

/** After this long without an end, a request counts as hanging. The long form holds services to the bar. */
export const HANG_MS = process.env.PORTICO_RESILIENCE === "long" ? 5_000 : 20_000;

export class Client {
  readonly #base: string;
  readonly #headers: OutgoingHttpHeaders;
  readonly #hangMs: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  constructor(base: string, headers: OutgoingHttpHeaders = {}, hangMs = HANG_MS) {
    this.#base = base;
    this.#headers = headers;
    this.#hangMs = hangMs;
  }

  /** Never rejects. */
  ask(method: string, path: string, { body, headers }: Ask = {}): Promise<Outcome> {
    const began = performance.now();
    return new Promise((resolve) => {
      const finish = (ended: Outcome["ended"], text = "", type = ""): void => {
        clearTimeout(late);
        const at = performance.now();
        resolve({ ended, text, isJson: isAnswer(ended, text, type), ms: at - began, at });
      };
      const request = httpRequest(this.#base + path, {
        method,
        agent: this.#agent,
        headers: { ...this.#headers, ...(body === undefined ? {} : lengthOf(body)), ...headers },
      });
      const late = setTimeout(() => {
        finish("hang");
        request.destroy();
      }, this.#hangMs);
      request.once("error", () => finish("none"));
      request.once("response", (answer) => {
        const pieces: Buffer[] = [];
        answer.on("data", (piece: Buffer) => pieces.push(piece));
        answer.once("error", () => {});
        answer.once("close", () => {
          const status = answer.complete ? (answer.statusCode ?? 0) : "broken";
          finish(status, Buffer.concat(pieces).toString(), answer.headers["content-type"]);
        });
      });
      request.end(body);
    });
  }

  post(path: string, value: unknown): Promise<Outcome> {
    return this.ask("POST", path, {
      body: JSON.stringify(value),
      headers: { "Content-Type": "application/json" },
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function lengthOf(body: string | Buffer): OutgoingHttpHeaders {
  return { "Content-Length": Buffer.byteLength(body) };
}

function isAnswer(status: Outcome["ended"], text: string, type: string): boolean {
  if (typeof status !== "number" || !type.startsWith("application/json")) return false;
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null) return false;
    return status < 400 || ("success" in body && body.success === false && hasStatus(body, status));
  } catch {
    return false;
  }
}

function hasStatus(body: object, status: number): boolean {
  return "statusCode" in body && body.statusCode === status && "error" in body;
}
