// Makes a thread give way to others when processors are short.
import { getPriority, setPriority } from "node:os";

/**
 * Applies to the calling thread and to those that it starts. Does nothing except on Linux, the only system with such a
 * setting for a single thread.
 * @param niceness as for nice(2), 0 to 19
 */
export function giveWay(niceness: number): void {
  if (process.platform === "linux" && getPriority() < niceness) setPriority(niceness);
}
