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

// Keep it with what you make of the events: a program that starts with it again misses nothing.
let lastEventId = LAST_EVENT_ID;

/** What is to be done. After `ready` and `reset` that is to read the list, if you keep one. */
function handle(event, { id, record }) {
  console.log([event, id, record && JSON.stringify(record)].filter(Boolean).join(" "));
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
  if (!response.ok) {
    const { message } = await response.json();
    console.error(`Portico answered ${response.status}: ${message}`);
    // It will not answer otherwise the next time.
    if (response.status < 500 && response.status !== 429) process.exit(1);
    return;
  }
  for await (const { event, data, id } of eventsOf(response.body)) {
    if (event !== undefined) handle(event, JSON.parse(data));
    lastEventId = id ?? lastEventId;
  }
}

for (;;) {
  await follow().catch(({ message }) => console.error(message));
  await delay(AGAIN_AFTER_MS);
}
