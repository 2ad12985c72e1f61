// `npm run schema -- pull|diff|apply|infer`: compares tables with a schema file.
import { runDatabaseCommand } from "./database-command.mjs";

await runDatabaseCommand("schema-main.js");
