// Runs a command of the data service's on its database: sets up what is missing, and reads `.env`.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT, runScript, setUp } from "./setup.mjs";

/** @param {string} main the module, in `data-service/dist`; it gets the words of the command line */
export function runDatabaseCommand(main) {
  return runScript(async () => {
    setUp(["shared", "data-service"]);
    const { listenForSignals, loadSettings } = await import("./launch.mjs");
    loadSettings();
    const args = [join(ROOT, "data-service/dist", main), ...process.argv.slice(2)];
    const child = spawn(process.execPath, args, { stdio: "inherit" });
    const signals = listenForSignals([child]);
    // Whoever stops us knows nothing of it, and it has the database.
    signals.first.then(() => child.kill());
    const code = await new Promise((resolve) => child.once("close", resolve));
    signals.stop();
    return code ?? 1;
  });
}
