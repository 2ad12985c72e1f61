// Starts Directus without its question for newer versions: `start.mjs bootstrap` makes the database, `start.mjs start` serves.
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const directus = realpathSync(new URL("node_modules/directus/cli.js", import.meta.url));
process.once("disconnect", () => process.exit(0));
await import(pathToFileURL(createRequire(directus).resolve("@directus/api/cli/run.js")));
