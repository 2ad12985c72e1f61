// Starts the gateway from the environment. As every entry point does, it acts when it is imported.
import { settingsToBegin } from "@portico/shared/launcher-messages";
import { runService } from "@portico/shared/run-service";
import { readConfig } from "./config.js";
import { startGateway } from "./start-gateway.js";

await runService(async () => startGateway(readConfig(await settingsToBegin())));
