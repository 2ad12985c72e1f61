// Starts the data service from the environment. As every entry point does, it acts when it is imported.
import { runService } from "@portico/shared/run-service";
import { readConfig } from "./config.js";
import { openAddress } from "./mongo/open-address.js";

await runService(async () => {
  const config = readConfig(process.env);
  // An embedded engine opens on a thread of its own, while this one loads all the other code.
  const opening = openAddress(config.mongodbUrl);
  // Whoever waits for it reports what went wrong; until then nobody needs to know.
  opening.catch(() => {});
  const { startDataService } = await import("./start-data-service.js");
  return startDataService(config, opening);
});
