// `npm run schema -- pull|diff|apply|infer`: compares tables with a schema file.
import { runDatabaseCommand } from "./database-command.mjs";

const command = process.argv.slice(2).find((word) => word !== "--");
// As diff(1): 1 is a difference.
await runDatabaseCommand("schema-main.js", command === "diff" ? 2 : undefined);
