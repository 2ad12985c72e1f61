// `npm run schema -- pull|diff|apply|infer`: compares tables with a schema file.
import { runDatabaseCommand } from "./database-command.mjs";

// As diff(1): 1 is a difference.
await runDatabaseCommand("schema-main.js", process.argv.includes("diff") ? 2 : undefined);
