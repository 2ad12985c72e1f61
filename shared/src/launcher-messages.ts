// What a service tells the launcher that started it; without a launcher the same facts are printed.

/** One message over the launcher's channel. */
export type LauncherMessage =
  | { type: "ready"; url: string }
  | { type: "store"; description: string }
  | { type: "first-admin"; email: string; password: string }
  | { type: "refused"; problems: readonly string[] };

/** Tells the launcher, or prints `otherwise` when nobody started us. */
export function tellLauncher(message: LauncherMessage, otherwise?: string): void {
  if (process.send !== undefined) process.send(message);
  else if (otherwise !== undefined) process.stderr.write(`${otherwise}\n`);
}
