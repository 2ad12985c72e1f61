// Runs a command of the data service's on its database: sets up what is missing, and reads `.env`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { join } from "node:path";
import { runScript } from "./run-script.mjs";
import { ROOT, setUp } from "./setup.mjs";

/**
 * @param {string} main the module, in `data-service/dist`; it gets the words of the command line
 * @param {number | undefined} failure the exit code of a set-up that fails, if it is not 1
 */
export function runDatabaseCommand(main, failure = undefined) {
  return runScript(async () => {
    setUp(["shared", "data-service"]);
    const { listenForSignals, loadSettings } = await import("./launch.mjs");
    loadSettings();
    const args = [join(ROOT, "data-service/dist", main), ...process.argv.slice(2)];
    const child = spawn(process.execPath, args, { stdio: "inherit" });
    const signals = listenForSignals([child]);
    // Whoever stops us knows nothing of it, and it has the database.
    signals.first.then(() => child.kill());
    const [code, signal] = await once(child, "close");
    signals.stop();
    // As a shell tells it: 1 has a meaning for some commands.
    return code ?? 128 + constants.signals[signal];
  }, failure);
}
