// `npm run admin -- [e-mail]`: gives a root admin a new password, or forgets signing keys whose secret is lost.
import { runDatabaseCommand } from "./database-command.mjs";

await runDatabaseCommand("admin-main.js");
