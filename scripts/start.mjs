// `npm start`: sets up what is missing, then runs both services until Ctrl-C.
import { runScript, WrongCall } from "./run-script.mjs";
import { setUp } from "./setup.mjs";

await runScript(async () => {
  if (process.argv.length > 2)
    throw new WrongCall(
      'npm start takes no words: settings are environment variables or .env (README, "Settings"), such as PORT=4000 npm start',
    );
  setUp(["shared", "data-service", "gateway"]);
  const { launch, loadSettings, SERVICES } = await import("./launch.mjs");
  loadSettings();
  return launch({ services: SERVICES, env: process.env });
});
