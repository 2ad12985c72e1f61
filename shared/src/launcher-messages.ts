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
 * The settings of this process. A launcher starts the services together, so that they load side by side, and lets each go on
 * when those that it needs are ready; without a launcher this returns at once.
 */
export async function settingsToBegin(): Promise<NodeJS.ProcessEnv> {
  if (!isLaunched() || process.send === undefined) return process.env;
  const { env } = await new Promise<Begin>((resolve) => {
    process.once("message", (message: Begin) => resolve(message));
  });
  return { ...process.env, ...env };
}

/** Tells the launcher. A launcher other than ours would not show it: then, and without one, `otherwise` is printed. */
export function tellLauncher(message: LauncherMessage, otherwise?: string): void {
  process.send?.(message);
  if (!isLaunched() && otherwise !== undefined) process.stderr.write(`${otherwise}\n`);
}

/** By `npm start`, which keeps a channel to its services. */
export function isLaunched(): boolean {
  return process.env.PORTICO_LAUNCHED === "1";
}
