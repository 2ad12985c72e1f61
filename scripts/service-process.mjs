// One service as a child process: its messages, its log lines, its end.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { readableLogLine } from "./log-line.mjs";
import { ROOT } from "./setup.mjs";

/** A started service. `ready` and `ended` resolve to events `{ kind, … }` and never reject. */
export class ServiceProcess {
  /** All the service has told so far. */
  messages = [];
  #child;

  /**
   * @param {{ name: string, script: string, nodeOptions?: string[] }} service
   * @param {NodeJS.ProcessEnv} env
   */
  constructor({ name, script, nodeOptions = [] }, env) {
    this.#child = spawn(process.execPath, [...(env.NODE_OPTIONS ? [] : nodeOptions), script], {
      cwd: ROOT,
      env: { ...env, PORTICO_LAUNCHED: "1" },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
      // A group of its own: Ctrl-C then reaches only us, and we stop the services in order.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    printLines(this.#child.stdout, env);
    this.ready = this.#whenReady();
    this.ended = this.#whenEnded(name);
  }

  /** Lets it act; until then it only loads its code. @param {Record<string, string>} env what has become known since */
  begin(env) {
    this.#child.send({ type: "begin", env }, () => {});
  }

  /** Asks the service to stop, kills it when time is up, and resolves with its end and whether it was too late. */
  async stop(timeoutMs) {
    this.#askToStop();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.kill();
    }, timeoutMs);
    const end = await this.ended;
    clearTimeout(timer);
    return { ...end, isLate };
  }

  kill() {
    this.#child.kill("SIGKILL");
  }

  #askToStop() {
    if (process.platform !== "win32") this.#child.kill("SIGTERM");
    // No signal can be caught there: it would end the service amid what it writes. It stops when its channel closes.
    else if (this.#child.connected) this.#child.disconnect();
  }

  #whenReady() {
    return new Promise((resolve) => {
      this.#child.on("message", (message) => {
        this.messages.push(message);
        if (message.type === "ready") resolve({ kind: "ready", url: message.url });
      });
    });
  }

  #whenEnded(name) {
    return new Promise((resolve) => {
      const end = (code, signal) => {
        const problems = this.messages.flatMap(({ type, problems }) => (type === "refused" ? problems : []));
        resolve({ kind: "ended", name, code, signal, problems });
      };
      // After the last message and the last log line. "close" says the same, but not where it was we who disconnected.
      const all = ["exit", "disconnect"].map((event) => happened(this.#child, event));
      Promise.all([...all, happened(this.#child.stdout, "close")]).then(([exit]) => end(...exit));
      this.#child.once("error", () => end(1, null));
    });
  }
}

/** Never rejects, unlike Node's own. @returns what the event says */
function happened(emitter, event) {
  return new Promise((resolve) => {
    emitter.once(event, (...said) => resolve(said));
  });
}

/** Machines read JSON lines, people read a terminal. */
function printLines(stdout, env) {
  if (!process.stdout.isTTY || env.LOG_FORMAT === "json") {
    // What can't be written is lost. A pipe straight to it would end there, and the service wait for a reader of its lines.
    stdout.pipe(new Writable({ write: (lines, _, done) => process.stdout.write(lines, () => done()) }));
    return;
  }
  createInterface({ input: stdout }).on("line", (line) => process.stdout.write(`${readableLogLine(line)}\n`));
}
