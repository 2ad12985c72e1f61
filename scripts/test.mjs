// `npm test`: sets up what is missing, finds a browser, runs every test; arguments go to jest.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { requireBrowser } from "./browser.mjs";
import { runScript } from "./run-script.mjs";
import { ROOT, setUp } from "./setup.mjs";

await runScript(async () => {
  setUp(["shared", "data-service", "gateway", "test"]);
  const browser = requireBrowser();
  return runJest(process.argv.slice(2), { ...process.env, ...browser });
});

function runJest(args, env) {
  const folder = join(ROOT, "test");
  const flags = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"];
  const jest = [join(folder, "node_modules/jest/bin/jest.js"), "--config", join(folder, "jest.config.mjs")];
  const child = spawn(process.execPath, [...flags, ...jest, ...args], { cwd: folder, env, stdio: "inherit" });
  // Ctrl-C reaches jest too, which then stops what the tests started; we only wait for it.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.once("close", (code) => resolve(code ?? 1)));
}
