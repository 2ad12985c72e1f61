// Runs the engine as a process of its own, so that several data services can share one (the test run does).
import { openEmbeddedEngine } from "./engine.js";
import { EngineError } from "./engine-error.js";

const directory = process.argv[2];
if (directory === undefined) {
  process.stderr.write("usage: engine-main.js <directory>\n");
  process.exit(2);
}
await serve(directory).catch((error: unknown) => {
  process.stderr.write(`${error instanceof EngineError ? error.message : String(error)}\n`);
  process.exit(1);
});

/** Opens the engine, prints its address as one JSON line, closes it on a signal or when the starter is gone. */
async function serve(path: string): Promise<void> {
  const engine = await openEmbeddedEngine(path);
  const stop = (): void => {
    engine.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  whenStarterIsGone(stop);
  process.stdout.write(`${JSON.stringify({ uri: engine.uri })}\n`);
}

/** With an IPC channel that one tells; without, standard input does, by ending. */
function whenStarterIsGone(stop: () => void): void {
  if (process.send !== undefined) {
    process.once("disconnect", stop);
    return;
  }
  process.stdin.once("end", stop);
  process.stdin.once("error", stop);
  process.stdin.resume();
}
