// `npm run schema -- pull|diff|apply|infer`: sets up what is missing, then compares tables with a schema file.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT, runScript, setUp } from "./setup.mjs";

await runScript(async () => {
  setUp(["shared", "data-service"]);
  const { loadSettings } = await import("./launch.mjs");
  loadSettings();
  const args = [join(ROOT, "data-service/dist/schema-main.js"), ...process.argv.slice(2)];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  return new Promise((resolve) => child.once("close", (code) => resolve(code ?? 1)));
});
