// Follows what happens to the records of a table, also across breaks, and prints a line for each event. Plain Node.
import { setTimeout as delay } from "node:timers/promises";

const { PORTICO_URL = "http://127.0.0.1:3001", PORTICO_TOKEN, LAST_EVENT_ID } = process.env;
const [table] = process.argv.slice(2);
/** How long it waits before it comes back. */
const AGAIN_AFTER_MS = 1_000;

if (PORTICO_TOKEN === undefined || table === undefined) {
  console.error(
    "Set PORTICO_TOKEN to an API token, and name a table: node examples/service/follow.mjs tasks",
  );
  process.exit(1);
}

/** Behind which event it goes on. */
let lastEventId = LAST_EVENT_ID;

/**
 * What is to be done. After `ready` and `reset` that is to read the list, if you keep one. Keep the event's `id` with what
 * you make of it: a program that starts with that as LAST_EVENT_ID misses nothing.
 */
async function handle({ event, data }) {
  const { id, record, reason } = JSON.parse(data);
  console.log([event, id, record && JSON.stringify(record), reason].filter(Boolean).join(" "));
}

/** Server-sent events as they come: blocks of lines `name: value` with an empty line behind each. */
async function* eventsOf(body) {
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + piece).split("\n\n");
    text = blocks.pop();
    for (const block of blocks)
      yield Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
  }
}

async function follow() {
  const response = await fetch(new URL(`/${table}/changes`, PORTICO_URL), {
    headers: {
      Authorization: `Bearer ${PORTICO_TOKEN}`,
      ...(lastEventId && { "Last-Event-ID": lastEventId }),
    },
  });
  const type = response.headers.get("Content-Type");
  if (!response.ok || !type?.startsWith("text/event-stream")) {
    const { message } = await response.json().catch(() => {
      throw new Error(`${response.url} answered ${response.status}, not as Portico does`);
    });
    console.error(`Portico answered ${response.status}: ${message}`);
    // It will not answer otherwise the next time.
    if (response.status < 500 && response.status !== 429) process.exit(1);
    return;
  }
  for await (const told of eventsOf(response.body)) {
    if (told.event !== undefined) await handle(told);
    // Behind it only now: what could not be handled is told again.
    lastEventId = told.id ?? lastEventId;
  }
}

for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    if (lastEventId !== undefined) console.error(`LAST_EVENT_ID=${lastEventId}`);
    process.exit();
  });

for (;;) {
  await follow().catch(({ message }) => console.error(message));
  await delay(AGAIN_AFTER_MS);
}
