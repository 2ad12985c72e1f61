// `npm start`: sets up what is missing, then runs both services until Ctrl-C.
import { runScript, setUp } from "./setup.mjs";

await runScript(async () => {
  setUp(["shared", "data-service", "gateway"]);
  const { launch, loadSettings, SERVICES } = await import("./launch.mjs");
  loadSettings();
  return launch({ services: SERVICES, env: process.env });
});
