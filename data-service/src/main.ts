// Starts the data service from the environment. As every entry point does, it acts when it is imported.
import { runService } from "@portico/shared/run-service";
import { readConfig } from "./config.js";
import { openAddress } from "./mongo/open-address.js";
import { within } from "./within.js";

/** Its engine waits for the commands that the start has begun. */
const MOST_TO_CLOSE_MS = 30_000;

await runService(async (whenStopped) => {
  const config = readConfig(process.env);
  // An embedded engine opens on a thread of its own, while this one loads all the other code.
  const opening = openAddress(config.mongodbUrl);
  // Whoever waits for it reports what went wrong; until then nobody needs to know.
  opening.catch(() => {});
  // A process that ends while its engine runs is aborted by it.
  whenStopped(async () => {
    // One that was not opened has nothing to close.
    const closed = opening.then(
      ({ close }) => close(),
      () => {},
    );
    if (!(await within(MOST_TO_CLOSE_MS, closed))) throw new Error("The database was not closed in time.");
  });
  const { startDataService } = await import("./start-data-service.js");
  return startDataService(config, opening);
});
