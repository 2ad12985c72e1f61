// Answers that wait for those before them on their connection (pipelining). Node runs their requests all the same, as many as
// come: each may hold a place in flight, and its answer, until its turn comes. When the connection closes Node forgets them, and
// whoever listens for their end, for instance to free that place, would wait forever.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { beside } from "./beside.js";
import { noteNoneFollows } from "./last-answer.js";
import { LinkedSet } from "./linked-set.js";

/** So many may wait on one connection. No browser sends a second request before its first is answered. */
const MOST_QUEUED = 32;

type Queue = LinkedSet<ServerResponse>;

/** Closes such answers with their connection, as Node does with the one whose turn it is, and a connection with too many. */
export function limitQueuedAnswers(server: Server): void {
  const queues = beside<Socket, Queue>();
  const note = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    if (response.socket !== null) return;
    const queue = queues.get(socket) ?? closingWith(socket);
    queues.set(socket, queue);
    queue.add(response);
    // Its turn has come.
    response.once("socket", () => queue.delete(response));
    if (queue.size > MOST_QUEUED) cut(socket);
  };
  server.prependListener("request", note).prependListener("checkExpectation", note);
}

/** What has been read of it already may be a thousand requests more. */
function cut(socket: Socket): void {
  noteNoneFollows(socket);
  socket.destroy();
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
