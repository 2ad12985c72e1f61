// `npm run admin -- [e-mail]`: gives a root admin a new password.
import { runDatabaseCommand } from "./database-command.mjs";

await runDatabaseCommand("admin-main.js");
