// A proxy in front of a database that knows where one command ends and the next begins, so that a test can lose the very
// one it is about, or its answer.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from "node:net";
import { BSON } from "mongodb";

/**
 * What becomes of a command: it is passed on, it never arrives, it is done and nobody hears of it, it is done and the other
 * members of a set have not confirmed it in time, as the answer says, or the answer is that the server has ended it by itself:
 * after it was done, or before. Where a command or its answer is lost its connection is as well, and the driver gives up what
 * waits for another one; where it is answered with an error, nothing else comes to harm.
 */
export type Fate = "pass" | "lost" | "answer lost" | "unconfirmed" | "interrupted" | "not begun";

export interface CommandProxy {
  /** The database's address, through the proxy. */
  readonly mongodbUrl: string;
  /** Asked for each command, which waits for the answer. @param command to look for names and values in it */
  decide(fate: (command: string) => Fate | Promise<Fate>): void;
  /** Whether connections are refused, and those that are there broken. */
  setAway(isAway: boolean): void;
  close(): Promise<void>;
}

/** Tells commands by what they do to which collection, as that stands at the beginning of their document. */
export function isCommand(what: string, collection: string): (command: string) => boolean {
  const length = String.fromCharCode(collection.length + 1);
  return (command) => command.includes(`\u0002${what}\u0000${length}\u0000\u0000\u0000${collection}\0`);
}

/** Tells changes of the documents of a collection. */
export function isWriteOf(collection: string): (command: string) => boolean {
  const writes = [isCommand("findAndModify", collection), isCommand("update", collection)];
  return (command) => writes.some((is) => is(command));
}

/** Tells reads of a collection. */
export function isReadOf(collection: string): (command: string) => boolean {
  const reads = [isCommand("find", collection), isCommand("aggregate", collection)];
  return (command) => reads.some((is) => is(command));
}

/** Tells commands of one kind after the first of another kind, with which it may be the same. */
export function afterWrites(
  isWrite: (command: string) => boolean,
  isWanted: (command: string) => boolean,
): (command: string) => boolean {
  let isWritten = false;
  return (command) => {
    isWritten ||= isWrite(command);
    return isWritten && isWanted(command);
  };
}

/** Tells the command of a kind that comes after so many others of it: of what is done again and again, that it is. */
export function nth(count: number, isWanted: (command: string) => boolean): (command: string) => boolean {
  let seen = 0;
  return (command) => {
    if (!isWanted(command)) return false;
    seen += 1;
    return seen === count;
  };
}

/** Something that is under way, and stands still. */
export interface Stopped<Answer> {
  readonly answer: Promise<Answer>;
  /** Lets it go on. */
  readonly goOn: () => void;
}

/**
 * Sends something that stops at the first command of which `when` says so; with it, all others of which it does. Resolves
 * when it stands still; what comes later passes.
 */
export async function stopAt<Answer>(
  { decide }: Pick<CommandProxy, "decide">,
  when: (command: string) => boolean,
  send: () => Promise<Answer>,
): Promise<Stopped<Answer>> {
  let goOn = (): void => undefined;
  const passed = new Promise<Fate>((resolve) => {
    goOn = () => resolve("pass");
  });
  let answer: Promise<Answer> | undefined;
  await new Promise<void>((reached) => {
    decide((command) => {
      if (!when(command)) return "pass";
      reached();
      return passed;
    });
    answer = send();
  });
  decide(() => "pass");
  if (answer === undefined) throw new Error("nothing was sent");
  return { answer, goOn };
}

/** Lets what stands still go on, until it stops at a command of which `when` says so. */
export function goingOn<Answer>(
  proxy: Pick<CommandProxy, "decide">,
  when: (command: string) => boolean,
  { goOn, answer }: Stopped<Answer>,
): Promise<Stopped<Answer>> {
  return stopAt(proxy, when, () => {
    goOn();
    return answer;
  });
}

/** Listens on loopback. @param mongodbUrl of one server, asked directly */
export async function startCommandProxy(mongodbUrl: string): Promise<CommandProxy> {
  const [, host = "", rest = ""] = /^mongodb:\/\/([^/]+)(\/.*)$/.exec(mongodbUrl) ?? [];
  const open = new Set<Socket>();
  let fateOf: (command: string) => Fate | Promise<Fate> = () => "pass";
  let isAway = false;
  const server = createServer((client) => {
    if (isAway) return void client.destroy();
    open.add(client);
    const upstream = connect(addressOf(host));
    const cut = (): void => {
      open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", cut).on("close", cut);
    let isAnswerLost = false;
    let told: (answer: Buffer) => Buffer = asItIs;
    upstream.on("data", (piece: Buffer) => {
      if (isAnswerLost) return cut();
      client.write(told(piece));
      told = asItIs;
    });
    let before = Promise.resolve();
    eachMessage(client, (message) => {
      before = before.then(async () => {
        const fate = await fateOf(message.toString("latin1"));
        if (fate === "lost") return cut();
        if (fate === "not begun") return void client.write(answerTo(message, INTERRUPTED));
        isAnswerLost ||= fate === "answer lost";
        told = TOLD[fate] ?? asItIs;
        upstream.write(message);
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const breakAll = (): void => {
    for (const each of open) each.destroy();
  };
  return {
    mongodbUrl: `mongodb://127.0.0.1:${port}${rest}`,
    decide: (fate) => {
      fateOf = fate;
    },
    setAway: (now) => {
      isAway = now;
      if (now) breakAll();
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      breakAll();
      await closed;
    },
  };
}

const HEAD_BYTES = 21;
const OP_MSG = 2013;

/** The other members have not confirmed a write. */
const UNCONFIRMED = { writeConcernError: { code: 64, errmsg: "waiting for replication timed out" } };
/** A code after which the driver does not ask again. */
const INTERRUPTED = { ok: 0, code: 175, codeName: "QueryPlanKilled", errmsg: "collection dropped" };

const asItIs = (answer: Buffer): Buffer => answer;
const TOLD: Partial<Record<Fate, (answer: Buffer) => Buffer>> = {
  unconfirmed: (answer) => saying(answer, UNCONFIRMED),
  interrupted: (answer) => saying(answer, INTERRUPTED),
};

/** An answer, which comes in one piece, that says this as well. */
function saying(answer: Buffer, more: object): Buffer {
  const body = BSON.deserialize(answer.subarray(HEAD_BYTES), { promoteValues: false });
  const told = Buffer.concat([answer.subarray(0, HEAD_BYTES), BSON.serialize({ ...body, ...more })]);
  told.writeInt32LE(told.length, 0);
  return told;
}

/** An answer that the server never gave. */
function answerTo(command: Buffer, says: object): Buffer {
  const body = BSON.serialize(says);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeInt32LE(HEAD_BYTES + body.length, 0);
  // Which command it answers, by the number that each brings behind its length.
  head.writeInt32LE(command.readInt32LE(4), 8);
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, body]);
}

function addressOf(host: string): NetConnectOpts {
  const [name = "", port] = decodeURIComponent(host).split(":");
  return port === undefined ? { path: name } : { host: name, port: Number(port) };
}

/** Every message of MongoDB's protocol begins with its length. */
function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let left = Buffer.alloc(0);
  socket.on("data", (piece: Buffer) => {
    left = Buffer.concat([left, piece]);
    while (left.length >= 4 && left.length >= left.readInt32LE(0)) {
      const length = left.readInt32LE(0);
      take(left.subarray(0, length));
      left = left.subarray(length);
    }
  });
}
