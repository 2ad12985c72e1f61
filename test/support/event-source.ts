// A client of server-sent events that keeps what it was told, and comes back where it was.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";

export interface Told {
  readonly event: string;
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into events of every shape
  readonly data: any;
}

export interface EventSource {
  /** Everything told so far, except comments. */
  readonly told: readonly Told[];
  /** Where to go on: the id of the last event, or of the last sign of life. */
  readonly lastEventId: string;
  /** Resolves with the first `count` events, of these kinds if some are named. */
  first(count: number, ...events: string[]): Promise<readonly Told[]>;
  /** Resolves when the stream has ended, whoever ended it. */
  ended(): Promise<void>;
  close(): void;
}

/** The events that tell of records. */
export const CHANGES = ["created", "updated", "deleted", "entered", "left"];

/** Opens a stream; resolves with its first event, which is `ready` or `reset`. */
export async function openEvents(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  lastEventId?: string,
): Promise<EventSource> {
  const source = (await holdEvents(url, headers, lastEventId)).read();
  await source.first(1);
  return source;
}

/** A stream of which nothing is read before `read`. */
export interface HeldEvents {
  read(): EventSource;
  /** How many bytes have come: of a stream that nobody reads, the first ones only. */
  come(): number;
  /** Where the client listens. */
  readonly port: number | undefined;
}

export async function holdEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
  lastEventId?: string,
): Promise<HeldEvents> {
  const from = lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId };
  const request = get(url, { headers: { Accept: "text/event-stream", ...headers, ...from }, agent: false });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  // A stream that is cut off is an end like any other.
  request.on("error", () => undefined);
  if (answer.statusCode !== 200) {
    request.destroy();
    throw new Error(`${url} answered ${answer.statusCode}`);
  }
  return {
    read: () => listenTo(answer, () => request.destroy(), lastEventId ?? ""),
    come: () => answer.socket.bytesRead,
    port: answer.socket.localPort,
  };
}

function listenTo(answer: IncomingMessage, close: () => void, lastEventId: string): EventSource {
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  let at = lastEventId;
  let isOver = false;
  const wake = (): void => {
    for (const look of waiting) look();
  };
  read(answer, (event) => {
    at = event.id;
    if (event.event === "") return;
    told.push(event);
    wake();
  }).finally(() => {
    isOver = true;
    wake();
  });
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isThere() && !isOver) return;
        waiting.delete(look);
        if (isThere()) resolve();
        else reject(new Error(`the stream ended after ${JSON.stringify(told)}`));
      };
      waiting.add(look);
      look();
    });
  return {
    told,
    get lastEventId() {
      return at;
    },
    async first(count, ...events) {
      const wanted = () => told.filter(({ event }) => events.length === 0 || events.includes(event));
      await until(() => wanted().length >= count);
      return wanted().slice(0, count);
    },
    ended: () => until(() => isOver),
    close,
  };
}

/** Reads events until the connection ends, however that happens. An event without an end is thrown away. */
async function read(answer: IncomingMessage, tell: (event: Told) => void): Promise<void> {
  let [event, id, data, isAny] = ["", "", "", false];
  try {
    for await (const line of createInterface(answer)) {
      const [, field, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
      if (field === "event") event = value;
      if (field === "id") [id, isAny] = [value, true];
      if (field === "data") [data, isAny] = [value, true];
      if (line !== "" || !isAny) continue;
      tell({ event, id, data: data === "" ? null : JSON.parse(data) });
      [event, data, isAny] = ["", "", false];
    }
  } catch {
    // Cut off.
  }
}
