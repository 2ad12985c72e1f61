// Sends bytes as they are and returns what comes back, for requests no HTTP client would write.
import { connect, type Socket } from "node:net";

/** Opens a connection to `http://host:port`. */
export function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Sends the bytes, and resolves with everything received until the peer is quiet or gone. */
export async function sendRaw(url: string, bytes: string | Buffer, quietMs = 150): Promise<string> {
  const socket = await openSocket(url);
  let received = "";
  return new Promise((resolve) => {
    let timer = setTimeout(done, 3_000);
    function done(): void {
      clearTimeout(timer);
      socket.destroy();
      resolve(received);
    }
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      clearTimeout(timer);
      timer = setTimeout(done, quietMs);
    });
    socket.once("end", done);
    socket.once("close", done);
    socket.on("error", () => {});
    socket.write(bytes);
  });
}

/** The status codes of all answers in what was received. */
export function statuses(received: string): readonly number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
