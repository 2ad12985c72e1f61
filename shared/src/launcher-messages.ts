// What a service tells the launcher that started it; without a launcher the same facts are printed.

/** One message over the launcher's channel. */
export type LauncherMessage =
  | { type: "ready"; url: string }
  | { type: "store"; description: string }
  | { type: "first-admin"; email: string; password: string }
  | { type: "refused"; problems: readonly string[] };

/** What the launcher tells a service: the settings that were not known when the process was started. */
interface Begin {
  readonly type: "begin";
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The settings of this process. A launcher starts services at the same time, so that they load side by side, and lets
 * each act when those that it needs are there; without a launcher it is time at once.
 */
export async function settingsToBegin(): Promise<NodeJS.ProcessEnv> {
  if (process.env.PORTICO_LAUNCHED !== "1" || process.send === undefined) return process.env;
  const { env } = await new Promise<Begin>((resolve) => {
    process.once("message", (message: Begin) => resolve(message));
  });
  return { ...process.env, ...env };
}

/** Tells the launcher, or prints `otherwise` when nobody started us. */
export function tellLauncher(message: LauncherMessage, otherwise?: string): void {
  if (process.send !== undefined) process.send(message);
  else if (otherwise !== undefined) process.stderr.write(`${otherwise}\n`);
}
