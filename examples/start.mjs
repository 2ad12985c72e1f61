// `npm run example:spa` and `npm run example:ssr`: Portico and one example, until Ctrl-C.
import { launch, loadSettings, SERVICES } from "../scripts/launch.mjs";
import { runScript, SetupError, setUp } from "../scripts/setup.mjs";

const SSR_PORT = process.env.SSR_PORT ?? "4000";

/** What each example adds to `npm start`: settings, and services that start after the gateway. */
const EXAMPLES = {
  spa: { env: { STATIC_DIR: new URL("spa/", import.meta.url).pathname }, services: [] },
  ssr: {
    // The one setting that an app on another origin needs.
    env: { ALLOWED_ORIGINS: `http://chat.localhost:${SSR_PORT}`, SSR_PORT },
    services: [{ name: "ssr example", script: new URL("ssr/server.mjs", import.meta.url).pathname }],
  },
};

await runScript(async () => {
  const name = process.argv[2];
  if (name !== "spa" && name !== "ssr") throw new SetupError("Say which example: spa or ssr.");
  setUp(["shared", "data-service", "gateway"]);
  loadSettings();
  const { env, services } = EXAMPLES[name];
  return launch({ services: [...SERVICES, ...services], env: { ...process.env, ...env } });
});
