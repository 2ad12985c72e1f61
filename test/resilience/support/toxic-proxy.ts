// A TCP proxy that spoils what passes through it, for all its connections at once, until told otherwise.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";

/** What happens to every piece of bytes, in both directions. */
export type Toxic =
  | { readonly kind: "none" }
  /** Each piece comes this much later. */
  | { readonly kind: "latency"; readonly ms: number }
  | { readonly kind: "bandwidth"; readonly bytesPerSecond: number }
  /** Pieces of a few bytes, each an own packet. */
  | { readonly kind: "slicer"; readonly bytes: number }
  /** A reset in the middle: after so many bytes of answers on a connection. */
  | { readonly kind: "reset"; readonly afterBytes: number }
  /** The same with a clean end. */
  | { readonly kind: "limit"; readonly afterBytes: number }
  /** Nothing passes; the connection ends after this long. */
  | { readonly kind: "timeout"; readonly ms: number }
  /** The end of a connection comes this much later. */
  | { readonly kind: "slowClose"; readonly ms: number };

export interface ToxicProxy {
  readonly port: number;
  /** Connections from clients that are open now. */
  readonly open: () => number;
  /** From the next piece of bytes on. */
  set(toxic: Toxic): void;
  close(): Promise<void>;
}

/** Listens on loopback. @param target asked for each connection @param port else any that is free */
export async function startToxicProxy(target: () => NetConnectOpts, port = 0): Promise<ToxicProxy> {
  let toxic: Toxic = { kind: "none" };
  const clients = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    const upstream = connect({ ...target(), allowHalfOpen: true });
    const spoil = (): Toxic => toxic;
    void pass(client, upstream, spoil, false);
    void pass(upstream, client, spoil, true);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    open: () => clients.size,
    set: (next) => {
      toxic = next;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const client of clients) client.destroy();
      await closed;
    },
  };
}

/** Moves bytes until one side ends, then ends the other alike. @param isAnswer from the upstream to the client */
async function pass(from: Socket, to: Socket, spoil: () => Toxic, isAnswer: boolean): Promise<void> {
  let passed = 0;
  to.on("error", () => from.destroy());
  try {
    for await (const piece of from as AsyncIterable<Buffer>) {
      const toxic = spoil();
      if (toxic.kind === "timeout") {
        await pause(toxic.ms);
        break;
      }
      const limit = isAnswer && "afterBytes" in toxic ? toxic.afterBytes - passed : Number.POSITIVE_INFINITY;
      const bytes = piece.subarray(0, Math.max(0, limit));
      for (const part of partsOf(bytes, toxic)) {
        await pause(delayOf(part, toxic));
        if (to.destroyed) return;
        if (!to.write(part)) await drained(to);
      }
      passed += bytes.length;
      if (piece.length > bytes.length) {
        if (toxic.kind === "reset") return void [from, to].map((socket) => socket.resetAndDestroy());
        break;
      }
    }
    const toxic = spoil();
    if (toxic.kind === "slowClose") await pause(toxic.ms);
    to.end();
    if (toxic.kind !== "none" && toxic.kind !== "slowClose") from.destroy();
  } catch {
    to.destroy();
  }
}

function partsOf(piece: Buffer, toxic: Toxic): readonly Buffer[] {
  const size = toxic.kind === "slicer" ? toxic.bytes : toxic.kind === "bandwidth" ? 1_024 : piece.length;
  const parts: Buffer[] = [];
  for (let at = 0; at < piece.length; at += size) parts.push(piece.subarray(at, at + size));
  return parts;
}

function delayOf(part: Buffer, toxic: Toxic): number {
  if (toxic.kind === "latency") return toxic.ms;
  return toxic.kind === "bandwidth" ? (part.length / toxic.bytesPerSecond) * 1_000 : 0;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => (ms > 0 ? setTimeout(resolve, ms) : setImmediate(resolve)));
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      socket.off("drain", go).off("close", go);
      resolve();
    };
    socket.on("drain", go).on("close", go);
  });
}
