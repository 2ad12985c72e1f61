// `npm run data -- import|export`: files of records, to and from a running service.
import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { basename, extname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { loadSettings } from "./launch.mjs";
import { readWords } from "./read-words.mjs";
import { replaceFile } from "./replace-file.mjs";
import { runScript, SetupError, WrongCall } from "./run-script.mjs";
import { notPortico, serviceUrl } from "./running-service.mjs";

const USAGE = `usage: npm run data -- <command>
  import [table] <file> [--dry-run] [--from=LINE]
                        makes records of a .csv or .ndjson file; the table is the name of the file unless it is named
  export <table> [file] [--format=csv|ndjson] [--fields=F] [--filter=JSON] [--sort=-S] [--limit=N] [--deleted]
                        writes records into a file, or to standard output (npm writes there, too, unless it is told
                        not to: npm run --silent data -- …); with --deleted those that are deleted and kept (softDelete)
                        as well, and the links to such records, of whichever table
The service is APP_URL (http://localhost:3000). Who you are: PORTICO_TOKEN, an API token, or PORTICO_EMAIL and
PORTICO_PASSWORD; else ADMIN_EMAIL and ADMIN_PASSWORD. All of these may stand in .env.
Exit code: 0 when every line was taken, 1 when some were refused or something failed, 2 for a wrong call.`;

const TYPES = { csv: "text/csv", ndjson: "application/x-ndjson" };
const LINE_FEED = 0x0a;
/** How often progress is shown: on a terminal, and in a log. */
const PROGRESS_MS = { terminal: 250, log: 5_000 };

/** What each command takes. */
const OPTIONS = {
  import: { "dry-run": { type: "boolean" }, from: { type: "string" } },
  export: {
    ...Object.fromEntries(
      ["format", "fields", "filter", "sort", "limit"].map((name) => [name, { type: "string" }]),
    ),
    deleted: { type: "boolean" },
  },
};

await runScript(async () => {
  loadSettings();
  try {
    const call = readCall();
    // Refuses an address that is none before any file is opened.
    serviceUrl();
    return await (call.command === "import" ? importFile(call) : exportTable(call));
  } catch (error) {
    if (!(error instanceof WrongCall)) throw error;
    process.stderr.write(`${error.message}\n${USAGE}\n`);
    return 2;
  }
});

/** @throws WrongCall when the words make no sense */
function readCall() {
  const { values, positionals } = readWords({ ...OPTIONS.import, ...OPTIONS.export });
  const [command, ...names] = positionals;
  if (command === undefined) throw new WrongCall("Say what to do: import or export.");
  if (!Object.hasOwn(OPTIONS, command)) throw new WrongCall(`"${command}" is neither import nor export.`);
  if (names.length === 0)
    throw new WrongCall(command === "import" ? "Name the file to import." : "Name the table to export.");
  if (names.length > 2) throw new WrongCall(`"${names[2]}" is one word too many.`);
  const foreign = Object.keys(values).find((name) => !Object.hasOwn(OPTIONS[command], name));
  if (foreign !== undefined) throw new WrongCall(`${command} takes no --${foreign}.`);
  return command === "import" ? importCall(names, values) : exportCall(names, values);
}

function importCall(names, { "dry-run": dryRun, from }) {
  const file = names.at(-1);
  const format = formatOf(file);
  if (format === undefined) throw new WrongCall(`${file} must end in .csv or .ndjson.`);
  const table = names.length === 2 ? names[0] : basename(file, extname(file));
  return { command: "import", table, file, format, query: { dryRun: dryRun ? "true" : undefined, from } };
}

function exportCall([table, file], { format: named, deleted, ...query }) {
  const format = named ?? (file === undefined ? "csv" : formatOf(file));
  if (format === undefined)
    throw new WrongCall(`${file} must end in .csv or .ndjson, unless --format says what it is.`);
  if (!Object.hasOwn(TYPES, format)) throw new WrongCall(`--format is csv or ndjson, not "${format}".`);
  return {
    command: "export",
    table,
    file,
    query: { ...query, format, deleted: deleted ? "with" : undefined },
  };
}

/** By the ending of the file; undefined for any other. */
function formatOf(file) {
  const ending = extname(file).slice(1).toLowerCase();
  return Object.hasOwn(TYPES, ending) ? ending : undefined;
}

async function importFile({ table, file, format, query }) {
  await access(file).catch((error) => {
    throw new SetupError(`${file} can't be read (${error.code}).`);
  });
  const authorization = await signIn();
  const progress = showProgress("sent");
  const body = Readable.toWeb(createReadStream(file).on("data", progress.count));
  const headers = { ...authorization, "Content-Type": TYPES[format] };
  const address = `/${encodeURIComponent(table)}/import`;
  const answer = await ask(address, query, { method: "POST", headers, body, duplex: "half" }).catch(
    (error) => {
      progress.stop();
      throw new SetupError(`The import was cut off: ${reason(error)}.${whatStays(table, query)}`);
    },
  );
  progress.stop();
  const result = await bodyOf(answer);
  if (answer.ok) {
    const { imported, checked, dryRun } = result.data[0];
    process.stderr.write(
      dryRun ? `${checked} records would be imported.\n` : `${imported} records imported.\n`,
    );
    return 0;
  }
  explain(result, table);
  return 1;
}

/** Of what was cut off: megabytes may be under way still, so that a number of now would soon be wrong. */
function whatStays(table, { dryRun }) {
  if (dryRun) return "";
  return ` Whole batches of what was sent are kept, and it may still go on: count the records of "${table}" when their number stands still.`;
}

/** Tells each refused line, what is there nevertheless, and how to go on. */
function explain({ message, error: { details } }, table) {
  for (const line of [message].flat()) process.stderr.write(`${line}\n`);
  if (details?.imported !== undefined) process.stderr.write(`${howFar(details, table)}\n`);
}

function howFar({ imported, dryRun, next, rejected, uncertain }, table) {
  if (dryRun) return "Nothing was imported: this was a dry run.";
  // Of this call only: the table may have had records before.
  const there =
    imported === 0
      ? "This call has imported nothing"
      : `This call has imported ${imported} records into "${table}"`;
  if (uncertain) {
    const sure = imported === 0 ? "" : `${there}. `;
    return `${sure}Whether the records from line ${next} on were written is not known: look before you go on.`;
  }
  // What ended it was no line: a session, the database, the disk.
  if (rejected === undefined) return `${there}; when the above allows it, go on with --from=${next}`;
  return `${there}. Put the lines right and go on with --from=${next}`;
}

async function exportTable({ file, ...call }) {
  if (file === undefined) return receive(call, () => process.stdout);
  return replaceFile(file, (handle) => receive(call, () => handle.createWriteStream()));
}

/** @param {() => import("node:stream").Writable} into opened when records come @returns the exit code */
async function receive({ table, query }, into) {
  const headers = await signIn();
  const answer = await ask(`/${encodeURIComponent(table)}`, query, { headers });
  if (!answer.ok) {
    explain(await bodyOf(answer), table);
    return 1;
  }
  if (!isOfType(answer, TYPES[query.format]))
    throw notPortico(serviceUrl(), answer.status, await textOf(answer));
  const progress = showProgress("received");
  const source = Readable.fromWeb(answer.body).on("data", progress.count);
  const target = into();
  try {
    await pipeline(source, target, { end: target !== process.stdout });
  } catch (error) {
    throw new SetupError(`The export was cut off: ${reason(error)}.`);
  } finally {
    progress.stop();
  }
  return 0;
}

async function signIn() {
  const { PORTICO_TOKEN, PORTICO_EMAIL, PORTICO_PASSWORD, ADMIN_EMAIL, ADMIN_PASSWORD } = process.env;
  if (PORTICO_TOKEN) return { Authorization: `Bearer ${PORTICO_TOKEN}` };
  const [email, password] = PORTICO_EMAIL
    ? [PORTICO_EMAIL, PORTICO_PASSWORD]
    : [ADMIN_EMAIL || "admin@example.com", ADMIN_PASSWORD];
  if (!password) {
    throw new SetupError("Set PORTICO_TOKEN to an API token, or PORTICO_EMAIL and PORTICO_PASSWORD.");
  }
  const headers = { "Content-Type": "application/json" };
  const answer = await ask(
    "/auth/login",
    {},
    { method: "POST", headers, body: JSON.stringify({ email, password }) },
  );
  const { accessToken, message } = await bodyOf(answer);
  if (accessToken === undefined) throw new SetupError(`Signing in as ${email} was refused: ${message}`);
  return { Authorization: `Bearer ${accessToken}` };
}

async function ask(path, query, init) {
  const base = serviceUrl();
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  try {
    return await fetch(`${base}/api${path}${search}`, { redirect: "manual", ...init });
  } catch (error) {
    if (init.duplex !== undefined) throw error;
    throw new SetupError(`${base} can't be reached (${reason(error)}); APP_URL says where the service is.`);
  }
}

/** What Portico says; another program's answer is refused. */
async function bodyOf(answer) {
  const text = await textOf(answer);
  const body = readJson(text);
  const isOurs = body?.statusCode === answer.status && (answer.ok || body.error?.code !== undefined);
  if (isOurs) return body;
  throw notPortico(serviceUrl(), answer.status, text);
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf(answer) {
  return answer.text().catch((error) => `(cut off: ${reason(error)})`);
}

function isOfType({ headers }, type) {
  return headers.get("content-type")?.split(";", 1)[0].trim().toLowerCase() === type;
}

function reason(error) {
  return error.cause?.code ?? error.code ?? error.cause?.message ?? error.message;
}

/** Lines and bytes so far, and how fast, on standard error. */
function showProgress(word) {
  const began = performance.now();
  let [bytes, lines] = [0, 0];
  const isTerminal = process.stderr.isTTY === true;
  const show = (end) => {
    const seconds = (performance.now() - began) / 1000;
    const rate = Math.round(lines / Math.max(seconds, 0.001));
    const text = `${word} ${lines} lines, ${(bytes / 1024 / 1024).toFixed(1)} MiB, ${rate} lines/s`;
    process.stderr.write(isTerminal ? `\r${text}\x1b[K${end}` : `${text}\n`);
  };
  const timer = setInterval(show, isTerminal ? PROGRESS_MS.terminal : PROGRESS_MS.log, "");
  return {
    count(chunk) {
      bytes += chunk.length;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1;
    },
    stop() {
      clearInterval(timer);
      show("\n");
    },
  };
}
