// Ports for services that must know their address before they start.
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Where the systems we run on take the ports of outgoing connections from begins above this (Linux at 32,768,
 * others at 49,152): a port of theirs can be taken between being found free and being listened on, or while
 * a test has its service stopped. From 11,000, because browsers refuse some below.
 */
const FIRST = 11_000;
const LAST = 31_999;
/** Workers of a run have ranges of their own, so none finds free what another is about to use. */
const SHARE = 1_500;
const SHARES = Math.floor((LAST + 1 - FIRST) / SHARE);

const share = Number(process.env.JEST_WORKER_ID ?? 0) % SHARES;
let given = Math.floor(Math.random() * SHARE);

/** A port of loopback on which nobody listens; this process doesn't get it again until all others were given. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < SHARE; tried++) {
    given = (given + 1) % SHARE;
    const port = FIRST + share * SHARE + given;
    if (await isFree(port)) return port;
  }
  throw new Error(`no port is free from ${FIRST + share * SHARE} on`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  await once(server.close(), "close");
  return true;
}
