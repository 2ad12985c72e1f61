// `npm run example:spa` and `npm run example:ssr`: Portico and one example, until Ctrl-C.
import { fileURLToPath } from "node:url";
import { launch, loadSettings, SERVICES } from "../scripts/launch.mjs";
import { runScript, SetupError } from "../scripts/run-script.mjs";
import { setUp } from "../scripts/setup.mjs";

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const SSR_PORT = process.env.SSR_PORT ?? "4000";

/** What each example adds to `npm start`: settings, and services that start after the gateway. */
const EXAMPLES = {
  spa: { env: { STATIC_DIR: here("spa/") }, services: [] },
  ssr: {
    // All that an app on another origin needs: its name with the prefix of its proxy, and trust in what it says of its
    // clients' addresses.
    env: { ALLOWED_ORIGINS: `http://chat.localhost:${SSR_PORT}/portal`, TRUST_PROXY: "loopback", SSR_PORT },
    services: [{ name: "ssr example", script: here("ssr/server.mjs") }],
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
