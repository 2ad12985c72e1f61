// Runs the services as one program: has them act in order, passes signals on, ends with the first that ends.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { banner, firstAdmin } from "./banner.mjs";
import { SetupError } from "./run-script.mjs";
import { ServiceProcess } from "./service-process.mjs";
import { PARENT, ROOT } from "./setup.mjs";

/** In order of start; stopped the other way round. */
export const SERVICES = [
  // Its address is told to the next, so that another port needs one variable only.
  {
    name: "data service",
    script: join(ROOT, "data-service/dist/main.js"),
    urlVariable: "DATA_SERVICE_URL",
    // Half of Node's default for young objects: 9 MiB less while nobody asks, for a tenth more processor time in lists.
    // Not where NODE_OPTIONS says something.
    nodeOptions: ["--max-semi-space-size=8"],
    // The gateway hands on the client's address. Nobody else is to be believed who comes by DATA_SERVICE_HOST.
    settings: { TRUST_PROXY: ["loopback", ...ownAddresses()].join(",") },
  },
  { name: "gateway", script: join(ROOT, "gateway/dist/main.js") },
];

/** From where the gateway comes when DATA_SERVICE_HOST is an address of this machine in a network. */
function ownAddresses() {
  const all = Object.values(networkInterfaces()).flat();
  return all.filter(({ scopeid = 0 }) => scopeid === 0).map(({ address }) => address);
}

/** The services give requests in flight 30 s; then a moment to let go of the database. */
const STOP_TIMEOUT_MS = 35_000;
/** The last to stop gets this part of it at least, however long the others took. */
const LAST_SHARE = 1 / 7;
/** How often to look whether npm is still there. */
const PARENT_CHECK_MS = 1_000;
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Reads `.env`, when there is one, into the environment; what is set already wins.
 * @param {string} file another one than the project's
 */
export function loadSettings(file = join(ROOT, ".env")) {
  if (!existsSync(file)) return;
  try {
    process.loadEnvFile(file);
  } catch (error) {
    throw new SetupError(`${file} can't be read (${error.code ?? error.message}).`);
  }
}

/**
 * @typedef {{ name: string, script: string, nodeOptions?: string[], urlVariable?: string, settings?: Record<string, string> }} Service
 *
 * Runs services until one ends or a signal comes. A second signal kills at once. All load their code at the same time;
 * each acts when the one before it is ready and has told its address.
 * @param {{ services: Service[], env: NodeJS.ProcessEnv, stopTimeoutMs?: number }} options
 * @returns {Promise<number>} the exit code: 0 for a clean stop, else that of the first service that failed
 */
export async function launch({ services, env, stopTimeoutMs = STOP_TIMEOUT_MS }) {
  // While all was installed and built, which nothing interrupts.
  if (isOrphan()) return 1;
  outliveFullDisk();
  const childEnv = await withAddress(env);
  const running = [];
  const signals = listenForSignals(running);
  const addresses = {};
  try {
    for (const service of services) {
      running.push(new ServiceProcess(service, { ...childEnv, ...service.settings }));
    }
    const firstEnd = () => Promise.race([signals.first, ...running.map(({ ended }) => ended)]);
    for (const [at, started] of running.entries()) {
      started.begin(addresses);
      const event = await Promise.race([started.ready, firstEnd()]);
      if (event.kind !== "ready") {
        const code = await finish(event, running, stopTimeoutMs);
        process.stdout.write(firstAdmin(toldBy(running)));
        return code;
      }
      const { urlVariable } = services[at];
      if (urlVariable !== undefined) addresses[urlVariable] = childEnv[urlVariable] || event.url;
    }
    process.stdout.write(banner(childEnv, toldBy(running)));
    return await finish(await firstEnd(), running, stopTimeoutMs);
  } finally {
    signals.stop();
  }
}

function toldBy(running) {
  return running.flatMap(({ messages }) => messages);
}

/** Lines that can't be written are lost. Where their reader has gone, nobody sees what runs here any more, and it ends. */
function outliveFullDisk() {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error) => {
      if (error.code === "EPIPE") throw error;
    });
}

/**
 * Cookies are tied to the address, so another port must be part of it: one variable shall be enough. For 0 a free port is
 * chosen here, because the gateway needs to know its address before it has one.
 */
async function withAddress(env) {
  const chosen = env.PORT === "0" && !env.APP_URL ? String(await freePort()) : env.PORT;
  if (env.APP_URL || !isPort(chosen)) return { ...env };
  return { ...env, PORT: chosen, APP_URL: `http://localhost:${Number(chosen)}` };
}

/** The gateway refuses any other by its name; an address made of one would be refused first. */
function isPort(text = "") {
  return /^\d+$/.test(text) && Number(text) > 0 && Number(text) <= 65_535;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await once(server.close(), "close");
  return port;
}

async function finish(event, running, stopTimeoutMs) {
  if (event.kind === "ended") explainEnd(event);
  const deadline = Date.now() + stopTimeoutMs;
  const ends = [];
  for (const service of running.toReversed()) {
    const left = deadline - Date.now();
    const end = await service.stop(Math.max(left, stopTimeoutMs * LAST_SHARE));
    if (!isClean(end) && end.name !== event.name) explainEnd(end);
    ends.push(end);
  }
  if (event.kind === "ended") return event.code ?? 1;
  return ends.every(isClean) ? 0 : 1;
}

/** One that is still loading its code does not handle the signal yet, and dies of it as it should. */
function isClean({ code, signal }) {
  return code === 0 || signal === "SIGTERM";
}

function explainEnd({ name, code, signal, problems, isLate }) {
  if (isLate) process.stderr.write(`The ${name} did not stop in time and was killed.\n`);
  else if (problems.length > 0) for (const problem of problems) process.stderr.write(`${problem}\n`);
  else process.stderr.write(`The ${name} ended (${signal ?? `exit code ${code}`}).\n`);
}

/**
 * Until `stop`, a signal to this process, or the end of npm, only fulfils `first`; the next signal kills what is running.
 * @param {{ kill(): void }[]} running
 */
export function listenForSignals(running) {
  let count = 0;
  let onFirst;
  const first = new Promise((resolve) => {
    onFirst = () => resolve({ kind: "signal" });
  });
  const onSignal = () => {
    count += 1;
    if (count === 1) onFirst();
    else for (const service of running) service.kill();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  const parentCheck = watchNpm(onFirst);
  return {
    first,
    stop: () => {
      clearInterval(parentCheck);
      for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    },
  };
}

/** npm that is told to stop ends its shell and not us: the change of parent is all we get to see. */
function watchNpm(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  return setInterval(() => isOrphan() && onGone(), PARENT_CHECK_MS);
}

function isOrphan() {
  return process.env.npm_lifecycle_event !== undefined && process.ppid !== PARENT;
}
