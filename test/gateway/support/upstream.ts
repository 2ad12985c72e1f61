// Stands in for the data service: records what arrives, echoes it, and misbehaves on demand.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A request as it arrived, byte for byte. */
export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export type Behaviour = (arrived: Arrived, response: ServerResponse, request: IncomingMessage) => void;

export interface Upstream {
  readonly url: string;
  /** Completed requests, oldest first. */
  readonly arrived: readonly Arrived[];
  /** Requests whose head arrived, completed or not. */
  readonly heads: readonly string[];
  readonly connections: ReadonlySet<Socket>;
  /** Connections ever taken. */
  connectionCount(): number;
  /** Answers `GET /path` in this way; the body has been read. */
  on(line: string, behaviour: Behaviour): void;
  /** Answers at once, before any of the body is read. */
  onHead(line: string, behaviour: (request: IncomingMessage, response: ServerResponse) => void): void;
  last(): Arrived;
  forget(): void;
  close(): Promise<void>;
}

/** Starts it on a free port. */
export async function startUpstream(): Promise<Upstream> {
  const arrived: Arrived[] = [];
  const heads: string[] = [];
  const connections = new Set<Socket>();
  const behaviours = new Map<string, Behaviour>();
  const headBehaviours = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  let connectionCount = 0;

  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    const { method = "", url = "" } = request;
    // The data service puts it on every answer.
    response.setHeader("X-Correlation-ID", request.headers["x-correlation-id"] ?? "none");
    heads.push(`${method} ${url}`);
    const line = `${method} ${url.split("?")[0]}`;
    const early = headBehaviours.get(line);
    if (early !== undefined) return early(request, response);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const { headers, rawHeaders } = request;
      const whole: Arrived = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
      arrived.push(whole);
      (behaviours.get(line) ?? echo)(whole, response, request);
    });
  });
  server.on("connection", (socket) => {
    connectionCount++;
    connections.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    heads,
    connections,
    connectionCount: () => connectionCount,
    on: (line, behaviour) => void behaviours.set(line, behaviour),
    onHead: (line, behaviour) => void headBehaviours.set(line, behaviour),
    last() {
      const last = arrived.at(-1);
      if (last === undefined) throw new Error("nothing has arrived");
      return last;
    },
    forget() {
      arrived.length = 0;
      heads.length = 0;
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

const echo: Behaviour = ({ method, url, headers, body }, response) => {
  const text = JSON.stringify({ method, url, headers, body: body.toString("latin1") });
  response.writeHead(200, { "Content-Type": "application/json" }).end(text);
};

/** Answers with JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Behaviour {
  return (_arrived, response) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

/** Answers as a load balancer does that has something to say itself. */
export function html(status: number): Behaviour {
  return foreign(status, "text/html", `<h1>${status}</h1>`);
}

/** As one that says it in JSON, by chance with a word of ours. */
export function foreignJson(status: number): Behaviour {
  const body = '{"message":"no upstream at 10.0.3.7","error":{"code":"INVALID_TOKEN"}}';
  return foreign(status, "application/json", body);
}

function foreign(status: number, type: string, body: string): Behaviour {
  return (_arrived, response) => {
    response.removeHeader("X-Correlation-ID");
    response.writeHead(status, { "Content-Type": type }).end(body);
  };
}
