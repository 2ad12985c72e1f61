// Answers that wait for those before them on their connection (pipelining). Node forgets them when the connection closes, and
// whoever listens for their end, for instance to free a place in flight, would wait forever.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { beside } from "./beside.js";
import { LinkedSet } from "./linked-set.js";

type Queue = LinkedSet<ServerResponse>;

/** Closes such answers with their connection, as Node does with the one whose turn it is. */
export function closeQueuedAnswers(server: Server): void {
  const queues = beside<Socket, Queue>();
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (response.socket !== null) return;
    const queue = queues.get(socket) ?? closingWith(socket);
    queues.set(socket, queue);
    queue.add(response);
    // Its turn has come.
    response.once("socket", () => queue.delete(response));
  });
}

function closingWith(socket: Socket): Queue {
  const queue: Queue = new LinkedSet();
  socket.once("close", () => {
    for (const response of queue) {
      response.destroy();
      response.emit("close");
      // `send` has a file open for the answer and listens for this: the answer waits for a connection that it never got.
      response.emit("end");
    }
  });
  return queue;
}
