// Stands before the engine and calls itself `mongos`, the router of a sharded cluster. It knows no shards: it passes
// everything on, but notes `shardCollection` and answers it. A real cluster can't run where these tests do, nor can an old
// server, which it may call itself instead.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from "node:net";
import { BSON, type Document } from "mongodb";

export interface RouterProxy {
  readonly port: number;
  /** Every `shardCollection` so far. */
  readonly sharded: readonly Document[];
  /**
   * What a command is answered from now on. If nothing is said, `shardCollection` is answered that it is done, and any other
   * by the engine.
   */
  answer(document: Document | undefined, command?: string): void;
  close(): Promise<void>;
}

/** https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/ */
const [OP_REPLY, OP_MSG] = [1, 2013];
const HEADER_BYTES = 16;
/** Behind the header: of an OP_MSG flags and the kind of its one section, of an OP_REPLY flags, cursor and two numbers. */
const BEFORE_DOCUMENT: Readonly<Record<number, number>> = { [OP_MSG]: 5, [OP_REPLY]: 20 };

/** Listens on loopback. @param target the engine @param claims what it says of itself instead, in answer to `hello` */
export async function startRouterProxy(
  target: NetConnectOpts,
  claims: Document = { msg: "isdbgrid" },
): Promise<RouterProxy> {
  const sharded: Document[] = [];
  const answers = new Map<string, Document>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.once("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
    eachMessage(client, (message) => {
      const document = documentOf(message);
      const [command = ""] = Object.keys(document ?? {});
      if (document !== undefined && command === "shardCollection") sharded.push(document);
      const answer = answers.get(command) ?? (command === "shardCollection" ? { ok: 1 } : undefined);
      if (answer === undefined) upstream.write(message);
      else client.write(replyTo(message, answer));
    });
    eachMessage(upstream, (message) => client.write(claiming(claims, message)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sharded,
    answer: (document, command = "shardCollection") => {
      if (document === undefined) answers.delete(command);
      else answers.set(command, document);
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function eachMessage(socket: Socket, tell: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (piece: Buffer) => {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= HEADER_BYTES && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      tell(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  });
}

/** The bytes before the document of a message that has one. */
function headOf(message: Buffer): Buffer | undefined {
  const before = BEFORE_DOCUMENT[message.readInt32LE(12)];
  return before === undefined ? undefined : message.subarray(0, HEADER_BYTES + before);
}

function documentOf(message: Buffer): Document | undefined {
  const head = headOf(message);
  if (head === undefined) return undefined;
  const length = message.readInt32LE(head.length);
  return BSON.deserialize(message.subarray(head.length, head.length + length), { promoteValues: false });
}

/** An answer to `hello` with what is claimed; any other message as it is. */
function claiming(claims: Document, message: Buffer): Buffer {
  const [head, document] = [headOf(message), documentOf(message)];
  if (head === undefined || document?.maxWireVersion === undefined) return message;
  return joined(head, { ...document, ...claims });
}

function replyTo(message: Buffer, document: Document): Buffer {
  const head = Buffer.alloc(HEADER_BYTES + 5);
  head.writeInt32LE(message.readInt32LE(4), 8);
  head.writeInt32LE(OP_MSG, 12);
  return joined(head, document);
}

function joined(head: Buffer, document: Document): Buffer {
  const message = Buffer.concat([head, BSON.serialize(document)]);
  message.writeInt32LE(message.length, 0);
  return message;
}
