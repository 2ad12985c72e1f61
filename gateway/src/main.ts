// Starts the gateway from the environment. The only file here that acts when it is imported.
import { runService } from "@portico/shared/run-service";
import { readConfig } from "./config.js";
import { startGateway } from "./start-gateway.js";

await runService(() => startGateway(readConfig(process.env)));
