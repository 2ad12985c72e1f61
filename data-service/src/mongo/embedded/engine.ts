// Opens a directory with MongoDB's own server code on a thread of this process (docs/embedded-engine.md).
import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { makeFolder } from "@portico/shared/make-folder";
import { isFileError, unlessGone } from "../../file-error.js";
import { requireRoomToOpen } from "./disk-room.js";
import { EngineError } from "./engine-error.js";
import { setParameters } from "./engine-parameters.js";
import { chooseSocketFolder, removeStaleSockets } from "./engine-sockets.js";
import type { EngineWorkerData, EngineWorkerMessage } from "./engine-worker.js";
import { decideLibrary, preparePatchedLibraries, runningSystem } from "./glibc.js";

export interface EmbeddedEngine {
  /** A `mongodb://` address that any driver of this user on this machine can connect to. */
  uri: string;
  /** Waits for commands in flight, then leaves the directory cleanly closed. */
  close(): Promise<void>;
}

/** Where patched libraries are kept: beside the code or, if that is read-only, beside the data. */
const CODE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/portico", import.meta.url));
const OTHER_FOLDER = "set DATA_DIR to a folder of yours";

/**
 * Serves a directory (made when missing) off this thread's event loop. The engine dies with the process, so a killed process
 * leaves nothing behind that would hold the directory. One engine at a time per process.
 * @throws EngineError with one clear sentence
 */
export async function openEmbeddedEngine(directory: string): Promise<EmbeddedEngine> {
  const path = resolve(directory);
  await prepareDirectory(path);
  await requireRoomToOpen(path);
  const library = await prepareLibrary(path);
  const sockets = await chooseSocketFolder();
  await removeStaleSockets(sockets, Date.now());
  const worker = startWorker({ directory: path }, { ...library, TMPDIR: sockets });
  const first = await nextMessage(worker);
  if (first.type === "open") return served(path, { uri: first.uri, close: closeOnce(worker) });
  await worker.terminate();
  throw first.type === "open-failed" ? openFailure(path, first.reason) : loadFailure(first);
}

/** The engine with its parameters, or none: one that has others would fail at some queries. */
async function served(path: string, engine: EmbeddedEngine): Promise<EmbeddedEngine> {
  try {
    await setParameters(engine.uri);
    return engine;
  } catch (error) {
    await engine.close();
    throw openFailure(path, String(error));
  }
}

/**
 * The variables that make the package load the right library. They apply to every napi package, hence never to this process
 * itself.
 */
async function prepareLibrary(path: string): Promise<Readonly<Record<string, string>>> {
  const choice = decideLibrary(runningSystem());
  if (choice.kind === "refuse") throw new EngineError(choice.reason);
  if (choice.kind === "as-shipped") return {};
  return { NAPI_RS_NATIVE_LIBRARY_PATH: await patchedLibrary(path) };
}

async function patchedLibrary(path: string): Promise<string> {
  try {
    return await preparePatchedLibraries(CODE_CACHE);
  } catch (error) {
    if (!isFileError(error)) throw error;
  }
  const beside = join(dirname(path), ".engine-cache");
  return preparePatchedLibraries(beside).catch((error: unknown) => {
    if (!isFileError(error)) throw error;
    throw new EngineError(folderProblem(beside, error.code), { remedy: OTHER_FOLDER, cause: error });
  });
}

/** The engine aborts the whole process when it may not write its files, so that is checked first. */
async function prepareDirectory(path: string): Promise<void> {
  try {
    await makeFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    const names = await readdir(path);
    const mode = constants.R_OK | constants.W_OK;
    await Promise.all(names.map((name) => access(join(path, name), mode).catch(unlessGone)));
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw new EngineError(folderProblem(path, error.code), { remedy: OTHER_FOLDER, cause: error });
  }
}

function folderProblem(path: string, code: string | undefined): string {
  const isNoFolder = code === "EEXIST" || code === "ENOTDIR";
  return isNoFolder ? `${path} isn't a folder` : `The folder ${path} can't be written (${code})`;
}

function startWorker(workerData: EngineWorkerData, variables: Readonly<Record<string, string>>): Worker {
  return new Worker(new URL("./engine-worker.js", import.meta.url), {
    workerData,
    env: { ...process.env, ...variables },
    // Flags of this process (a test runner's, a debugger's) are not meant for the engine.
    execArgv: [],
  });
}

/**
 * The next message of the thread; if the thread ends, that counts as a failure to load. Between two such waits nobody
 * listens for errors, so an engine that breaks while serving ends the process, as it should.
 */
function nextMessage(worker: Worker): Promise<EngineWorkerMessage> {
  return new Promise((resolve) => {
    const onError = (error: Error): void => settle({ type: "load-failed", reason: error.message });
    const onExit = (code: number): void =>
      settle({ type: "load-failed", reason: `its thread ended with code ${code}` });
    const settle = (message: EngineWorkerMessage): void => {
      // One by one: a Worker listens to itself, and removeAllListeners would make it deaf.
      worker.off("message", settle).off("error", onError).off("exit", onExit);
      resolve(message);
    };
    worker.on("message", settle).on("error", onError).on("exit", onExit);
  });
}

function closeOnce(worker: Worker): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= closeWorker(worker);
    return closing;
  };
}

async function closeWorker(worker: Worker): Promise<void> {
  const answer = nextMessage(worker);
  worker.postMessage("close");
  const message = await answer;
  await worker.terminate();
  if (message.type !== "closed")
    throw new Error(`The embedded engine didn't close: ${JSON.stringify(message)}`);
}

function openFailure(path: string, reason: string): EngineError {
  const cause = new Error(reason);
  if (reason.includes("DBPathInUse")) {
    const remedy = `stop that process, ${OTHER_FOLDER}`;
    return new EngineError(
      `The folder ${path} is in use by another process, probably a Portico that is running`,
      { remedy, cause, isInUse: true },
    );
  }
  if (reason.includes("only one embedded MongoDB runtime")) {
    return new EngineError(`This process has an embedded engine open already, and can't open ${path} too`, {
      cause,
    });
  }
  return new EngineError(`The embedded engine can't open ${path} (${oneLine(reason)})`, { cause });
}

function loadFailure(message: EngineWorkerMessage): EngineError {
  const reason = "reason" in message ? message.reason : message.type;
  return new EngineError(`The embedded engine's library can't be loaded (${oneLine(reason)})`, {
    cause: new Error(reason),
  });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replace(/\.$/, "");
}
